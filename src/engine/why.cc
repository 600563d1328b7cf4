#include "src/engine/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "sightline/error.h"
#include "src/analysis/order.h"
#include "src/analysis/rank_correlation.h"
#include "src/engine/memory.h"
#include "src/engine/session.h"
#include "src/engine/why_row.h"
#include "src/engine/words.h"
#include "src/model/language_head.h"

namespace sightline::engine {
namespace {

using Maps = TextKnockOut::Maps;

constexpr std::size_t kBranchesAtOnce = 64;  // between two looks at what is done
constexpr double kLookShare = 0.1;           // of the progress: look and rollout, roughly

// The progress of a part, as a stretch of the whole.
class Stretch : public Progress {
 public:
  explicit Stretch(Progress* whole) : whole_(whole) {}

  void set(double from, double to) {
    from_ = from;
    to_ = to;
  }
  bool advance(std::int64_t done, std::int64_t total) override {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    most_ = std::max(most_, from_ + (to_ - from_) * share);  // a part may begin again, for another answer
    return whole_ == nullptr || whole_->advance(std::llround(1e6 * most_), 1'000'000);
  }

 private:
  Progress* whole_;
  double from_ = 0, to_ = 1, most_ = 0;
};

// Maps in which an edge is taken out at once.
struct Scope {
  int layer = 0, head = 0;  // as WhyEdge has them
  std::vector<Maps> maps;

  bool holds(const MapId& map) const {
    return std::ranges::any_of(maps, [&](const Maps& some) { return some.holds(map.layer, map.head); });
  }
};

std::vector<Scope> scopes_of(const std::string& block, const ModelFacts& model) {
  static constexpr KnockOutMaps kAll[1] = {};
  const Maps all = resolve_maps(kAll, model).front();
  std::vector<Scope> scopes;
  if (block == "all") return {{0, 0, {all}}};
  if (block == "layer") {
    for (const int layer : all.layers) scopes.push_back({layer, 0, {{{layer}, all.heads}}});
    return scopes;
  }
  if (block == "head") {
    for (const int layer : all.layers) {
      for (const int head : all.heads) scopes.push_back({layer, head, {{{layer}, {head}}}});
    }
    return scopes;
  }
  try {
    return {{0, 0, resolve_maps(parse_maps(block), model)}};
  } catch (const BadArgument& error) {
    throw BadArgument(fmt::format("{} (or all, layer, head: each of these by itself)", error.what()));
  }
}

AxisItem find_row(const Look& look, const std::string& spec) {
  if (has_item(look.words(), spec)) return look.words()[find_item(look.words(), spec)];
  return look.axis(true, true)[static_cast<std::size_t>(find_token(look, spec))];
}

model::Branch edge_branch(const Scope& scope, const AxisItem& row, const AxisItem& item,
                          const model::TransformerConfig& config) {
  const TextKnockOut edge{{}, {{row.token_begin, row.token_end}}, {{item.token_begin, item.token_end}}, scope.maps};
  return {model_knock_outs({&edge, 1}, config)};
}

model::Branch head_branch(const MapId& map) {
  model::KnockOut whole;
  whole.layers = {map.layer - 1};
  whole.heads = {map.head - 1};
  return {{whole}};
}

// Larger effects first, those that are no number last; of equal ones the larger weight.
bool ranks_before(const WhyEdge& a, const WhyEdge& b, std::size_t measure) {
  const double x = std::abs(a.effects[measure]), y = std::abs(b.effects[measure]);
  return analysis::larger(x, y) || (!analysis::larger(y, x) && analysis::larger(a.weight, b.weight));
}

WhyCorrelation correlate(std::span<const WhyEdge> edges, std::size_t measure) {
  std::vector<double> effects, weights, value_weights, rollouts;
  for (const WhyEdge& edge : edges) {
    effects.push_back(std::abs(edge.effects[measure]));
    weights.push_back(edge.weight);
    value_weights.push_back(edge.value_weight);
    rollouts.push_back(edge.rollout);
  }
  return {analysis::rank_correlation(weights, effects), analysis::rank_correlation(value_weights, effects),
          analysis::rank_correlation(rollouts, effects), analysis::chance_rank_correlation(std::ssize(edges))};
}

// Everything of a case that stands before the knock-outs, and these.
class WhyBuilder {
 public:
  WhyBuilder(const Look& look, const WhyOptions& options, std::vector<Scope> scopes, Why& why)
      : look_(look), options_(options), scopes_(std::move(scopes)), why_(why) {}

  // Edges with their weights, of which none is knocked out yet.
  void find_edges(const std::vector<double>& rollout) {
    const RowWeights weights(look_, why_.row, why_.items);
    const std::vector<std::size_t> items = choose_items(weights);
    for (const Scope& scope : scopes_) {
      const std::vector<MapId> maps = maps_of(scope);
      for (const std::size_t item : items) {
        if (std::ranges::none_of(maps, [&](const MapId& map) { return weights.sees(map, item); })) continue;
        WhyEdge& edge = edges_.emplace_back(WhyEdge{scope.layer, scope.head, item});
        for (const MapId& map : maps) {
          edge.weight += weights.weight(map, item) / static_cast<double>(maps.size());
          edge.value_weight += weights.value_weight(map, item) / static_cast<double>(maps.size());
        }
        edge.rollout = rollout[item];
        branches_.push_back(edge_branch(scope, why_.row, why_.items[item], look_.model().config));
      }
    }
    if (!options_.heads) return;
    for (const MapId& map : look_.maps()) branches_.push_back(head_branch(map));
  }

  // What the sweep tells of is kept, also where the caller ends it.
  void sweep(analysis::EdgeSweep& sweep, Stretch& progress) {
    try {
      for (std::size_t first = 0; first < branches_.size(); first += kBranchesAtOnce) {
        const auto some = std::span(branches_).subspan(first, std::min(kBranchesAtOnce, branches_.size() - first));
        progress.set(share(first), share(first + some.size()));
        sweep.run(some, [&](std::size_t branch, std::span<const double> effects) { take(first + branch, effects); });
      }
    } catch (const Cancelled&) {
      why_.complete = false;
    }
  }

  void rank() {
    const auto by_size = [this](const WhyEdge& a, const WhyEdge& b) { return ranks_before(a, b, why_.ranked_by); };
    why_.correlation = correlate(why_.edges, why_.ranked_by);
    for (std::size_t first = 0, end = 0; scopes_.size() > 1 && first < why_.edges.size(); first = end) {
      const WhyEdge& edge = why_.edges[first];
      while (end < why_.edges.size() && why_.edges[end].layer == edge.layer && why_.edges[end].head == edge.head) ++end;
      const auto count = end - first;
      why_.by_map.push_back({edge.layer, edge.head, static_cast<std::int64_t>(count),
                             correlate(std::span(why_.edges).subspan(first, count), why_.ranked_by)});
    }
    std::ranges::stable_sort(why_.edges, by_size);
  }

 private:
  double share(std::size_t branch) const {
    return kLookShare + (1 - kLookShare) * static_cast<double>(branch) / static_cast<double>(branches_.size());
  }

  std::vector<MapId> maps_of(const Scope& scope) const {
    std::vector<MapId> maps = look_.maps();
    std::erase_if(maps, [&](const MapId& map) { return !scope.holds(map); });
    return maps;
  }

  // Those with the largest weights in all maps that count, in the order of the text.
  std::vector<std::size_t> choose_items(const RowWeights& weights) {
    std::vector<MapId> maps;
    for (const Scope& scope : scopes_) std::ranges::copy(maps_of(scope), std::back_inserter(maps));
    std::vector<double> means(why_.items.size());
    std::vector<std::size_t> items;
    for (std::size_t item = 0; item < why_.items.size(); ++item) {
      bool seen = false;
      for (const MapId& map : maps) {
        means[item] += weights.weight(map, item) / static_cast<double>(maps.size());
        seen = seen || weights.sees(map, item);
      }
      if (seen) items.push_back(item);
    }
    why_.seen = std::ssize(items);
    std::ranges::stable_sort(items, [&](std::size_t a, std::size_t b) { return means[a] > means[b]; });
    if (std::ssize(items) > options_.edges) items.resize(static_cast<std::size_t>(options_.edges));
    for (const std::size_t item : items) why_.taken_weight += means[item];
    std::ranges::sort(items);
    why_.taken = std::ssize(items);
    return items;
  }

  void take(std::size_t branch, std::span<const double> effects) {
    if (branch < edges_.size()) {
      why_.edges.push_back(std::move(edges_[branch]));
      why_.edges.back().effects.assign(effects.begin(), effects.end());
    } else {
      const MapId map = look_.maps()[branch - edges_.size()];
      why_.heads.push_back({map.layer, map.head, {effects.begin(), effects.end()}});
    }
  }

  const Look& look_;
  const WhyOptions& options_;
  std::vector<Scope> scopes_;
  Why& why_;
  std::vector<WhyEdge> edges_;           // then
  std::vector<model::Branch> branches_;  // of edges, then of heads
};

void require_options(const WhyOptions& options) {
  if (options.edges < 1) throw BadArgument(fmt::format("{} edges were asked for: take 1 or more", options.edges));
}

// Whether nothing that the edges change can be read where the answer is.
bool cannot_reach(const Why& why, const analysis::Output& output, std::int64_t layers) {
  const bool top_alone = std::ranges::all_of(
      why.maps, [&](const Maps& maps) { return std::ranges::all_of(maps.layers, [&](int l) { return l == layers; }); });
  if (!top_alone || output.kind == analysis::Output::Kind::vector) return false;
  const std::int64_t place = output.kind == analysis::Output::Kind::place ? output.place : std::ssize(output.ids) - 1;
  return place < why.row.token_begin || place >= why.row.token_end;
}

std::vector<std::string> notes_on(const Why& why, const analysis::Output& output, const Look& look) {
  std::vector<std::string> notes = reading_notes(look.text(), look.cut_tokens(), look.dropped());
  if (why.taken < why.seen) {
    notes.push_back(
        fmt::format("The row sees {} of the text's items: the {} of largest weight are taken, {:.0f} % of it", why.seen,
                    why.taken, 100 * why.taken_weight));
  }
  if (cannot_reach(why, output, look.layers())) {
    notes.push_back(
        "In the last layer a row changes nothing but what is read at its own place: no edge of this one "
        "can reach the answer");
  }
  const bool at_row = why.place >= why.row.token_begin && why.place < why.row.token_end;
  if (at_row && !look.tokens()[static_cast<std::size_t>(why.place)].special) {
    notes.push_back(
        "The answer is read at the row's own place, where the model sees the word itself: mask it "
        "([MASK] with --special) to ask what it would guess");
  }
  return notes;
}

}  // namespace

MemoryPlan Session::plan_why(std::int64_t tokens) const {
  MemoryPlan plan = plan_look(tokens);
  plan.kept += model::branch_trunk_bytes(facts_.config, tokens);
  plan.workspace += model::kBranchBatchBytes;
  if (facts_.config.language_head != model::LanguageHead::none) {
    const std::int64_t rows = std::min<std::int64_t>(kBranchesAtOnce, model::logit_rows_read(facts_.config.vocabulary));
    plan.workspace += rows * facts_.config.vocabulary * std::int64_t{sizeof(float)};
  }
  return plan;
}

Why Session::why(const Prompt& prompt, const WhyOptions& options) const {
  return within_memory(kNoMemoryForText, [&] {
    require_options(options);
    std::vector<Scope> scopes = scopes_of(options.block, facts_);
    const std::int64_t tokens = token_count(prompt, options.truncate);
    MemoryPlan plan = plan_why(tokens);
    for (std::size_t more = 1; more < options.answers.size(); ++more) {  // as if none shared its beginning with another
      plan.kept += model::branch_trunk_bytes(facts_.config, tokens);
    }
    require_memory(plan, memory(), "give a shorter text, fewer answers, or take a smaller model");
    Stretch progress(options.progress);
    progress.set(0, kLookShare / 2);
    const Look look = this->look(prompt, {.truncate = options.truncate, .progress = &progress});
    Why why;
    why.text = look.text();
    why.tokens = look.tokens();
    why.items = look.axis(options.pieces, true);
    why.row = find_row(look, options.token);
    why.block = options.block;
    for (const Scope& scope : scopes) std::ranges::copy(scope.maps, std::back_inserter(why.maps));
    const analysis::Output output = why_output(prompt, look, why.row, options);
    if (output.kind == analysis::Output::Kind::place) why.place = output.place;
    progress.set(kLookShare / 2, 0.8 * kLookShare);
    WhyBuilder builder(look, options, std::move(scopes), why);
    builder.find_edges(row_rollout(look, why.row, why.items, &progress));
    progress.set(0.8 * kLookShare, kLookShare);
    analysis::EdgeSweep sweep(model_.transformer, output, {.threads = options_.threads, .progress = &progress});
    why.measures = why_measures(sweep, options);
    why.ranked_by = why.measures.back().kind == WhyMeasure::Kind::margin ? why.measures.size() - 1 : 0;
    why.direct = sweep.contributions();
    builder.sweep(sweep, progress);
    builder.rank();
    why.work = sweep.work();
    why.notes = notes_on(why, output, look);
    return why;
  });
}

}  // namespace sightline::engine
