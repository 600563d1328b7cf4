#include "src/analysis/head_scores.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "sightline/error.h"
#include "src/analysis/baselines.h"
#include "src/analysis/question_text.h"

namespace sightline::analysis {
namespace {

void require_in(std::optional<int> chosen, std::int64_t most, const char* what) {
  if (!chosen || (*chosen >= 1 && *chosen <= most)) return;
  throw BadArgument(fmt::format("there is no {} {}: they are 1 to {}", what, *chosen, most));
}

std::vector<std::int64_t> chosen_heads(std::optional<int> head, std::int64_t count) {
  if (head) return {*head - 1};
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Takes away what stands after the row, which a causal model does not see; perhaps nothing right is left.
void keep_seen(Question& question) {
  const auto later = std::ranges::find_if(
      question.candidates, [&](const TokenRange& candidate) { return candidate.begin >= question.row.end; });
  const auto seen = static_cast<std::size_t>(later - question.candidates.begin());
  question.candidates.resize(seen);
  std::erase_if(question.right, [seen](std::size_t right) { return right >= seen; });
}

// The progress of many passes, in layers of texts.
class ScoringProgress : public Progress {
 public:
  ScoringProgress(Progress* caller, std::int64_t steps) : caller_(caller), steps_(steps) {}
  Progress* hook() { return caller_ == nullptr ? nullptr : this; }
  void end_step() {
    ++step_;
    if (caller_ != nullptr && !advance(0, 1)) throw Cancelled("stopped by the caller before all texts were read");
  }
  bool advance(std::int64_t done, std::int64_t total) override {
    return caller_->advance(std::min(step_ * kPieces + done * kPieces / total, steps_ * kPieces), steps_ * kPieces);
  }

 private:
  static constexpr std::int64_t kPieces = 100;  // a step

  Progress* const caller_;
  const std::int64_t steps_;
  std::int64_t step_ = 0;
};

class Scoring : public model::AttentionObserver {
 public:
  Scoring(const model::Transformer& transformer, const ScoringOptions& options)
      : transformer_(transformer), config_(transformer.config()), options_(options) {
    require_in(options.layer, config_.layers, "layer");
    require_in(options.head, config_.query_heads, "head");
    heads_ = chosen_heads(options.head, config_.query_heads);
    scores_.layers = config_.layers;
    scores_.heads = config_.query_heads;
    scores_.halves = options.halves;
  }

  void add(const PlaceProbe& probe) {
    std::vector<const RepeatedText*> choosing;
    for (std::size_t i = 0; i < probe.texts.size(); ++i) {
      if (options_.halves.of(i) == options_.halves.choosing()) choosing.push_back(&probe.texts[i]);
    }
    std::vector<AskedPlace> roles;
    for (const Place place : probe.places) {
      const PlaceBaseline baseline = best_baseline(place, choosing, config_.causal);
      roles.push_back({place, baseline, scores_.roles.size(), 0});
      scores_.roles.push_back({place_name(place), "", baseline_name(baseline), 0, 0, 0, is_resting(place)});
    }
    for (std::size_t i = 0; i < probe.texts.size(); ++i) {
      for (AskedPlace& role : roles) {
        role.half = options_.halves.of(i);
        for (std::int64_t row = 0; row < probe.texts[i].tokens(); ++row) {
          scores_.roles[role.role].questions += asks(role.place, probe.texts[i], row) ? 1 : 0;
        }
      }
      texts_.push_back(std::make_unique<PlaceText>(probe.texts[i], roles));
    }
  }

  // `probe` must outlive this.
  void add(Probe& probe) {
    Role role{probe.name, probe.from_to, "", 0, 0, 0, false};
    std::vector<const Question*> choosing;
    for (std::size_t i = 0; i < probe.texts.size(); ++i) {
      keep_answerable(probe.texts[i], role);
      if (options_.halves.of(i) != options_.halves.choosing()) continue;
      for (const Question& question : probe.texts[i].questions) choosing.push_back(&question);
    }
    const Rule rule = best_rule(choosing);
    role.baseline = rule_name(rule);
    for (std::size_t i = 0; i < probe.texts.size(); ++i) {
      if (probe.texts[i].questions.empty()) continue;
      QuestionText& text = text_of(probe.texts[i]);
      for (const Question& question : probe.texts[i].questions) {
        text.ask({&question, probe.pieces, scores_.roles.size(), options_.halves.of(i), is_right(rule, question)});
      }
    }
    scores_.roles.push_back(std::move(role));
  }

  HeadScores run() {
    const auto maps = static_cast<std::size_t>(config_.layers * config_.query_heads);
    scores_.tallies = Tallies(scores_.roles.size(), maps);
    pending_ = scores_.tallies;
    scores_.texts = std::ssize(texts_);
    ScoringProgress progress(options_.progress, scores_.texts * config_.layers);
    progress_ = &progress;
    try {
      for (std::size_t begin = 0; begin < texts_.size();) begin = run_pass(begin);
    } catch (const Cancelled&) {
      scores_.complete = false;
    }
    return std::move(scores_);
  }

  Observations request(const model::LayerAttention& call) override {
    return is_asked(call) ? text_at(call).request(call, buffers_) : Observations{};
  }
  void done(const model::LayerAttention& call) override {
    if (is_asked(call)) text_at(call).done(call, buffers_, {heads_, options_.threads}, pending_);
    progress_->end_step();
  }

 private:
  bool is_asked(const model::LayerAttention& call) const {
    return call.kind == model::AttentionKind::self && (!options_.layer || *options_.layer == call.layer + 1);
  }
  AskedText& text_at(const model::LayerAttention& call) {
    return *texts_[first_ + static_cast<std::size_t>(call.sequence)];
  }

  void keep_answerable(ProbeText& text, Role& role) const {
    if (std::ssize(text.ids) > config_.max_positions) {
      role.too_long += std::ssize(text.questions);
      text.questions.clear();
    }
    if (config_.causal) {
      for (Question& question : text.questions) keep_seen(question);
      role.unseen += static_cast<std::int64_t>(
          std::erase_if(text.questions, [](const Question& question) { return question.right.empty(); }));
    }
    role.questions += std::ssize(text.questions);
  }

  // Texts of several probes are one where tokens are the same.
  QuestionText& text_of(const ProbeText& text) {
    const auto [found, is_new] = known_.try_emplace({text.ids, text.type_ids}, nullptr);
    if (is_new) {
      auto asked = std::make_unique<QuestionText>(text, options_.whole_weights);
      found->second = asked.get();
      texts_.push_back(std::move(asked));
    }
    return *found->second;
  }

  // Returns where the next pass begins. What heads said counts once the pass is over, so that all of them were asked
  // the same questions.
  std::size_t run_pass(std::size_t begin) {
    std::vector<model::TokenSequence> batch;
    std::int64_t tokens = 0;
    std::size_t end = begin;
    for (; end < texts_.size(); ++end) {
      const model::TokenSequence next = texts_[end]->sequence();
      if (!batch.empty() && tokens + std::ssize(next.ids) > kPassTokens) break;
      tokens += std::ssize(next.ids);
      batch.push_back(next);
    }
    first_ = begin;
    pending_.clear();
    transformer_.forward(batch, {.threads = options_.threads, .observer = this, .progress = progress_->hook()});
    scores_.tallies.add(pending_);
    scores_.texts_done += std::ssize(batch);
    return end;
  }

  const model::Transformer& transformer_;
  const model::TransformerConfig& config_;
  const ScoringOptions& options_;
  std::vector<std::int64_t> heads_;
  std::vector<std::unique_ptr<AskedText>> texts_;
  std::map<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>, QuestionText*> known_;
  std::size_t first_ = 0;  // of the texts of this pass
  ObservedBuffers buffers_;
  Tallies pending_;
  ScoringProgress* progress_ = nullptr;
  HeadScores scores_;
};

}  // namespace

HeadScores score_heads(const model::Transformer& transformer, std::vector<Probe> probes,
                       const std::vector<PlaceProbe>& places, const ScoringOptions& options) {
  Scoring scoring(transformer, options);
  for (const PlaceProbe& probe : places) scoring.add(probe);
  for (Probe& probe : probes) scoring.add(probe);
  return scoring.run();
}

}  // namespace sightline::analysis
