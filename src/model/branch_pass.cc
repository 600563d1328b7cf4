#include "src/model/branch_pass.h"

#include <algorithm>
#include <utility>

#include "src/model/flops.h"
#include "src/model/language_head.h"

namespace sightline::model {

std::int64_t branch_row_bytes(const TransformerConfig& config) {
  const std::int64_t states = config.parallel_residual ? 4 : 3;  // hidden, its norm, what is added to it
  const std::int64_t heads = 2 * (config.query_heads + config.kv_heads) * config.head_width;
  std::int64_t turns = 0;
  for (const Rope& rope : config.ropes) turns += rope.width;
  return (states * config.width + heads + turns) * std::int64_t{sizeof(float)};
}

struct BranchPass::Rows {
  explicit Rows(const Trunk& trunk, Progress* progress) : of(trunk) {
    options.threads = trunk.threads;
    options.progress = progress;
  }

  // Rows [begin, end) of a branch. With `known` they look at the whole pass's keys, otherwise at their own and, in
  // causal models, at those before them.
  PassSequence& add(Trunk& trunk, const PlannedBranch& branch, std::int64_t begin, std::int64_t end, bool known) {
    for (const KnockOut& knock_out : branch.knock_outs) {
      knock_outs.push_back(knock_out);
      knock_outs.back().sequence = static_cast<int>(sequences.size());
    }
    const std::span<const std::int32_t> ids =
        std::span(trunk.ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    PassSequence& text = sequences.emplace_back(PassSequence{ids, {}, begin});
    text.ropes = &trunk.ropes;
    if (known) {
      text.known = &*trunk.keys;
    } else if (trunk.config().causal) {
      text.shared = &*trunk.keys;
    }
    return text;
  }

  void begin(PassMemory& memory) {
    options.knock_outs = knock_outs;
    pass = std::make_unique<Pass>(of.config(), sequences, options, memory);
    layers = std::make_unique<LayerPass>(of.model->weights, *pass);
  }

  // Pairs that the queries see in a layer.
  double pairs(int layer) const {
    double sum = 0;
    for (const PassSequence& text : sequences) {
      sum += visible_pairs(of.config(), layer, text.query_begin(), text.query_end(), of.tokens());
    }
    return sum;
  }

  const Trunk& of;
  ForwardOptions options;
  std::vector<PassSequence> sequences;
  std::vector<KnockOut> knock_outs;
  std::unique_ptr<Pass> pass;
  std::unique_ptr<LayerPass> layers;
};

BranchPass::BranchPass(Trunk& trunk, std::span<const PlannedBranch> branches, PassMemory& memory,
                       LayerProgress& progress, double& done)
    : trunk_(trunk),
      branches_(branches),
      memory_(memory),
      progress_(progress),
      done_(done),
      held_{0, trunk.tokens()},
      row_begin_(branches.size()) {
  for (std::size_t b = 0; b < branches.size(); ++b) {
    if (is_visible(b)) order_.push_back(b);
  }
  std::ranges::stable_sort(order_, {}, [&](std::size_t b) { return branches_[b].plan.layer; });
  number_rows();
  hidden_.resize(static_cast<std::size_t>(rows_held_ * width()));
}

BranchPass::~BranchPass() = default;

void BranchPass::run() {
  const auto layers = static_cast<int>(trunk_.config().layers);
  for (int layer = 0; layer < layers; ++layer) {
    run_joined(layer);
    if (is_last(layer)) {
      held_ = trunk_.asked_rows();
      number_rows();
      if (trunk_.config().final_norm) normalise_joined();
    }
    std::size_t end = joined_;
    while (end < order_.size() && branches_[order_[end]].plan.layer == layer) ++end;
    if (end > joined_) join(layer, end);
    progress_.add(std::ssize(branches_));
  }
}

PositionRange BranchPass::rows_of(std::size_t b) const {
  return {std::max(held_.begin, branches_[b].plan.first_row), held_.end};
}

std::span<float> BranchPass::hidden_of(std::size_t b) {
  const PositionRange rows = rows_of(b);
  return std::span(hidden_).subspan(static_cast<std::size_t>(row_begin_[b] * width()),
                                    static_cast<std::size_t>((rows.end - rows.begin) * width()));
}

std::int64_t BranchPass::joined_rows() const {
  return joined_ < order_.size() ? row_begin_[order_[joined_]] : rows_held_;
}

void BranchPass::number_rows() {
  rows_held_ = 0;
  for (const std::size_t b : order_) {
    row_begin_[b] = rows_held_;
    rows_held_ += rows_of(b).end - rows_of(b).begin;
  }
}

void BranchPass::begin_rows(int layer) {
  rows_ = std::make_unique<Rows>(trunk_, progress_.hook());
  for (std::size_t i = 0; i < joined_; ++i) {
    const PlannedBranch& branch = branches_[order_[i]];
    PassSequence& text = rows_->add(trunk_, branch, branch.plan.first_row, trunk_.tokens(), false);
    if (is_last(layer)) text.queries = trunk_.asked_rows();
  }
  rows_->begin(memory_);
  rows_->pass->same_as = same_rows(layer);
}

// Pass::same_as: rows that the layer below, in which their branches joined, has left as they are in the whole pass.
std::vector<std::int64_t> BranchPass::same_rows(int layer) const {
  std::vector<std::int64_t> same, first(static_cast<std::size_t>(trunk_.tokens()), -1);
  for (std::size_t i = 0; i < joined_; ++i) {
    const BranchPlan& plan = branches_[order_[i]].plan;
    for (std::int64_t row = plan.first_row; row < trunk_.tokens(); ++row) {
      const auto at = std::ssize(same);
      const bool own = plan.layer + 1 < layer || std::ranges::binary_search(plan.rows, row);
      std::int64_t& of_whole = first[static_cast<std::size_t>(row)];
      if (!own && of_whole < 0) of_whole = at;
      same.push_back(own ? at : of_whole);
    }
  }
  return same;
}

// All rows of those that joined in a layer below. In the last layer rows that nobody asks for end with their keys.
void BranchPass::run_joined(int layer) {
  if (joined_ == 0) return;
  if (rows_ == nullptr || (is_last(layer) && trunk_.asked_rows() != held_)) begin_rows(layer);
  const TransformerConfig& config = trunk_.config();
  const auto projected = static_cast<double>(rows_->pass->projected_rows()),
             queries = static_cast<double>(rows_->pass->query_rows());
  rows_->layers->run(layer, std::span(hidden_).first(static_cast<std::size_t>(joined_rows() * width())));
  rows_->pass->same_as.clear();
  done_ += projected * (query_flops(config) + key_value_flops(config)) +
           queries * (attention_output_flops(config) + feed_forward_flops(config)) +
           rows_->pairs(layer) * pair_flops(config);
}

void BranchPass::normalise_joined() {
  if (joined_ == 0) return;
  const auto values = static_cast<std::size_t>(joined_rows() * width());
  normalise_rows(*rows_->pass, trunk_.model->weights.final_norm, std::span(hidden_).first(values));
}

// In the lowest layer that a branch cuts its rows have the whole pass's input, and its keys and values.
void BranchPass::join(int layer, std::size_t end) {
  const TransformerConfig& config = trunk_.config();
  Rows cut(trunk_, progress_.hook());
  std::vector<float> hidden;
  for (std::size_t i = joined_; i < end; ++i) {
    const std::vector<std::int64_t>& rows = branches_[order_[i]].plan.rows;
    for (std::size_t from = 0, to = 0; from < rows.size(); from = to) {
      while (to < rows.size() && rows[to] - rows[from] == static_cast<std::int64_t>(to - from)) ++to;
      const auto count = static_cast<std::int64_t>(to - from);
      cut.add(trunk_, branches_[order_[i]], rows[from], rows[from] + count, true);
      const std::span<const float> input = trunk_.rows(layer, rows[from], count);
      hidden.insert(hidden.end(), input.begin(), input.end());
    }
  }
  cut.begin(memory_);
  cut.layers->run(layer, hidden);
  if (is_last(layer) && config.final_norm) {
    normalise_rows(*cut.pass, trunk_.model->weights.final_norm, hidden);
  }
  const bool fused = trunk_.model->weights.layer(layer, config).attention.layout != HeadLayout::separate;
  done_ +=
      static_cast<double>(cut.pass->rows()) * (layer_linear_flops(config) - (fused ? 0 : key_value_flops(config))) +
      cut.pairs(layer) * pair_flops(config);
  const float* from = hidden.data();
  for (; joined_ < end; ++joined_) {
    join_with(order_[joined_], layer, from);
    from += std::ssize(branches_[order_[joined_]].plan.rows) * width();
  }
  rows_.reset();
}

// The branch's rows after its lowest layer: the whole pass's, but for those that it cuts.
void BranchPass::join_with(std::size_t b, int layer, const float* cut) {
  const PositionRange rows = rows_of(b);
  const std::span<float> hidden = hidden_of(b);
  std::ranges::copy(trunk_.rows(layer + 1, rows.begin, rows.end - rows.begin), hidden.begin());
  for (const std::int64_t row : branches_[b].plan.rows) {
    std::copy_n(cut, width(), hidden.begin() + (row - rows.begin) * width());
    cut += width();
  }
}

// The logit rows that may differ from the whole pass's.
std::vector<std::int64_t> BranchPass::logit_rows_of(std::size_t b) const {
  const BranchPlan& plan = branches_[b].plan;
  std::vector<std::int64_t> rows;
  if (is_last(plan.layer)) {
    std::ranges::copy_if(plan.rows, std::back_inserter(rows),
                         [&](std::int64_t row) { return trunk_.logit_rows.has(row); });
    return rows;
  }
  for (std::int64_t row = std::max(trunk_.logit_rows.begin, plan.first_row); row < trunk_.logit_rows.end; ++row) {
    rows.push_back(row);
  }
  return rows;
}

void BranchPass::tell(std::size_t first, const Branches::Reader& read) {
  for (std::size_t b = 0; b < branches_.size();) b = tell_some(b, first, read);
}

// As many branches from `begin` on as have logits that fit, one at least. The end of these.
std::size_t BranchPass::tell_some(std::size_t begin, std::size_t first, const Branches::Reader& read) {
  const TransformerConfig& config = trunk_.config();
  const std::int64_t most = logit_rows_read(config.vocabulary);
  std::vector<std::vector<std::int64_t>> changed;
  std::vector<float> rows, logits, all_logits;
  std::int64_t count = 0;
  for (std::size_t b = begin; b < branches_.size(); ++b) {
    std::vector<std::int64_t> of_branch = logit_rows_of(b);
    if (b > begin && count + std::ssize(of_branch) > most) break;
    count += std::ssize(of_branch);
    for (const std::int64_t row : of_branch) {
      const auto hidden = hidden_of(b).begin() + (row - rows_of(b).begin) * width();
      rows.insert(rows.end(), hidden, hidden + width());
    }
    changed.push_back(std::move(of_branch));
  }
  if (count > 0) {
    std::vector<PassSequence> none;
    const ForwardOptions options{.threads = trunk_.threads};
    const Pass pass(config, none, options, memory_);
    logits.resize(static_cast<std::size_t>(count * config.vocabulary));
    logits_of(pass, *trunk_.model->weights.language_head, rows.data(), count, logits);
    done_ += static_cast<double>(count) * language_head_flops(config);
  }
  std::span<const float> left = logits;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const auto values = changed[i].size() * static_cast<std::size_t>(config.vocabulary);
    read(first + begin + i, result_of(begin + i, changed[i], left.first(values), all_logits));
    left = left.subspan(values);
  }
  return begin + changed.size();
}

BranchResult BranchPass::result_of(std::size_t b, const std::vector<std::int64_t>& changed,
                                   std::span<const float> changed_logits, std::vector<float>& all_logits) {
  const bool states = trunk_.hidden_states_asked;
  if (!is_visible(b))
    return {0, states ? std::span<const float>(trunk_.hidden_states.back()) : std::span<const float>(), trunk_.logits};
  BranchResult result{branches_[b].plan.first_row, states ? hidden_of(b) : std::span<float>(), changed_logits};
  if (changed_logits.size() == trunk_.logits.size()) return result;
  const std::int64_t vocabulary = trunk_.config().vocabulary;
  all_logits = trunk_.logits;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    std::copy_n(changed_logits.begin() + static_cast<std::int64_t>(i) * vocabulary, vocabulary,
                all_logits.begin() + (changed[i] - trunk_.logit_rows.begin) * vocabulary);
  }
  result.logits = all_logits;
  return result;
}

}  // namespace sightline::model
