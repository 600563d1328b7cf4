#include "src/model/branches.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/model/branch_pass.h"
#include "src/model/edge_cuts.h"
#include "src/model/flops.h"
#include "src/model/language_head.h"
#include "src/model/trunk.h"

namespace sightline::model {
namespace {

// Keys and values of the whole pass, and its progress.
class KeyKeeper : public AttentionObserver {
 public:
  KeyKeeper(Trunk& trunk, LayerProgress& progress) : trunk_(trunk), progress_(progress) {}

  Observations request(const LayerAttention& call) override {
    if (!trunk_.keys) trunk_.keys.emplace(trunk_.config(), trunk_.tokens());
    trunk_.keys->keep(call.layer, call.problem);
    return {};
  }
  void done(const LayerAttention&) override { progress_.add(1); }

 private:
  Trunk& trunk_;
  LayerProgress& progress_;
};

PositionRange checked_logit_rows(const TransformerConfig& config, std::int64_t tokens, PositionRange rows) {
  if (rows.end == PositionRange::kOpen) rows.end = tokens;
  if (rows.begin < 0 || rows.begin > rows.end || rows.end > tokens) {
    throw BadArgument(
        fmt::format("logits of rows {}..{} are asked for, outside 0..{}", rows.begin, rows.end - 1, tokens - 1));
  }
  if (rows.begin < rows.end && config.language_head == LanguageHead::none) {
    throw BadArgument("the model has no language-model head, so there are no logits");
  }
  return rows;
}

template <class Call>
void with_documented_errors(const Call& call) {
  try {
    call();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for passes over the text: take a shorter one");
  }
}

}  // namespace

std::int64_t branch_trunk_bytes(const TransformerConfig& config, std::int64_t tokens) {
  std::int64_t values = (config.layers + 1) * config.width;
  for (const Rope& rope : config.ropes) values += rope.width;
  return tokens * values * std::int64_t{sizeof(float)} + BranchKeys::bytes(config, tokens);
}

struct Branches::Impl {
  void run_whole(const Transformer& transformer);
  void compute_logits();
  void check(std::span<const Branch> branches) const;
  void run(std::span<const Branch> branches, const Reader& read);
  std::vector<PlannedBranch> next_batch(std::span<const Branch> branches) const;

  Trunk trunk;
  Progress* progress = nullptr;
  BranchResult whole;
  BranchWork work;
  PassMemory memory;
};

void Branches::Impl::run_whole(const Transformer& transformer) {
  const TokenSequence text{trunk.ids, trunk.type_ids};
  LayerProgress steps(progress, trunk.config().layers);
  KeyKeeper keeper(trunk, steps);
  trunk.hidden_states =
      transformer
          .forward(
              {&text, 1},
              {.threads = trunk.threads, .observer = &keeper, .progress = steps.hook(), .keep_hidden_states = true})
          .hidden_states;
  trunk.ropes = rope_tables(trunk.config(), trunk.tokens(), trunk.threads);
  compute_logits();
  whole = {0, trunk.hidden_states.back(), trunk.logits};
  work.done = forward_flops(trunk.config(), trunk.tokens(), trunk.logit_rows.end - trunk.logit_rows.begin);
}

void Branches::Impl::compute_logits() {
  const std::int64_t count = trunk.logit_rows.end - trunk.logit_rows.begin;
  if (count == 0) return;
  std::vector<PassSequence> none;
  const ForwardOptions options{.threads = trunk.threads};
  const Pass pass(trunk.config(), none, options, memory);
  trunk.logits.resize(static_cast<std::size_t>(count * trunk.config().vocabulary));
  logits_of(pass, *trunk.model->weights.language_head,
            trunk.rows(static_cast<int>(trunk.config().layers), trunk.logit_rows.begin, count).data(), count,
            trunk.logits);
}

void Branches::Impl::check(std::span<const Branch> branches) const {
  const TokenSequence text{trunk.ids, trunk.type_ids};
  for (const Branch& branch : branches) {
    for (KnockOut knock_out : branch.knock_outs) {
      knock_out.sequence = -1;
      check_knock_outs(trunk.config(), {&text, 1}, {&knock_out, 1});
    }
  }
}

// Some of the first branches: as many as there is room for the rows of, one at least.
std::vector<PlannedBranch> Branches::Impl::next_batch(std::span<const Branch> branches) const {
  const std::int64_t row_bytes = branch_row_bytes(trunk.config());
  std::vector<PlannedBranch> batch;
  std::int64_t bytes = 0;
  for (const Branch& branch : branches) {
    BranchPlan plan = plan_branch(trunk.config(), trunk.tokens(), trunk.asked_rows(), branch.knock_outs);
    bytes += (trunk.tokens() - plan.first_row) * row_bytes;
    if (!batch.empty() && bytes > kBranchBatchBytes) break;
    batch.push_back({branch.knock_outs, std::move(plan)});
  }
  return batch;
}

void Branches::Impl::run(std::span<const Branch> branches, const Reader& read) {
  const std::int64_t layers = trunk.config().layers;
  const double naive = forward_flops(trunk.config(), trunk.tokens(), trunk.logit_rows.end - trunk.logit_rows.begin);
  LayerProgress steps(progress, std::ssize(branches) * layers);
  for (std::size_t first = 0; first < branches.size();) {
    const std::vector<PlannedBranch> batch = next_batch(branches.subspan(first));
    BranchPass pass(trunk, batch, memory, steps, work.done);
    pass.run();
    pass.tell(first, [&](std::size_t branch, const BranchResult& result) {
      work.naive += naive;
      read(branch, result);
    });
    first += batch.size();
  }
}

Branches::Branches(const Transformer& transformer, std::span<const std::int32_t> ids,
                   std::span<const std::int32_t> type_ids, const BranchOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->trunk.model = &transformer.impl();
  impl_->progress = options.progress;
  with_documented_errors([&] {
    Trunk& trunk = impl_->trunk;
    trunk.threads = options.threads;
    trunk.ids.assign(ids.begin(), ids.end());
    trunk.type_ids.assign(type_ids.begin(), type_ids.end());
    trunk.logit_rows = checked_logit_rows(transformer.config(), trunk.tokens(), options.logit_rows);
    trunk.hidden_states_asked = options.hidden_states;
    cpu::with_team(options.threads, [&] { impl_->run_whole(transformer); });
  });
}

Branches::~Branches() = default;
Branches::Branches(Branches&&) noexcept = default;
Branches& Branches::operator=(Branches&&) noexcept = default;

const BranchResult& Branches::whole() const { return impl_->whole; }

void Branches::run(std::span<const Branch> branches, const Reader& read) {
  impl_->check(branches);
  with_documented_errors([&] { cpu::with_team(impl_->trunk.threads, [&] { impl_->run(branches, read); }); });
}

BranchWork Branches::work() const { return impl_->work; }

Trunk& Branches::trunk() { return impl_->trunk; }

}  // namespace sightline::model
