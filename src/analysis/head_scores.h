#ifndef SIGHTLINE_ANALYSIS_HEAD_SCORES_H_
#define SIGHTLINE_ANALYSIS_HEAD_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/transformer.h"
#include "src/analysis/asked_text.h"
#include "src/analysis/halves.h"
#include "src/analysis/place_text.h"
#include "src/analysis/probe.h"

namespace sightline::analysis {

/// Tokens of a pass, at least one text: enough for linear layers to run at full speed, few enough to keep hidden states
/// of a pass in tens of megabytes.
inline constexpr std::int64_t kPassTokens = 2048;

/// Weights of a text's asked rows that come with the pass, a layer: 64 MiB. Those of more are read after it.
inline constexpr std::int64_t kWholeWeights = std::int64_t{1} << 24;

struct ScoringOptions {
  Halves halves = {};
  std::optional<int> layer = {}, head = {};  // from 1; none: all
  int threads = 0;
  Progress* progress = nullptr;                // told of layers of texts; false ends the scoring, with what is done
  std::int64_t whole_weights = kWholeWeights;  // no result depends on it
};

/// A role that heads were asked about.
struct Role {
  std::string name;
  std::string from_to;         // as Probe::from_to
  std::string baseline;        // "1 before", "even look"
  std::int64_t questions = 0;  // in all
  std::int64_t unseen = 0;     // left out: no right candidate stands before the row of a causal model
  std::int64_t too_long = 0;   // left out: of texts that are longer than the model takes
  bool resting = false;        // where heads rest that have nothing to look for: first token, separator, sink
};

/// Every head's answers in every role.
struct HeadScores {
  std::int64_t layers = 0, heads = 0;
  Halves halves;
  std::vector<Role> roles;
  Tallies tallies;  // of roles
  std::int64_t texts = 0, texts_done = 0;
  bool complete = true;  // false: the caller's progress ended it

  std::size_t map(int layer, int head) const {  // from 1
    return static_cast<std::size_t>((layer - 1) * heads + head - 1);
  }
  const Tally& chosen_on(std::size_t role, std::size_t map) const { return tallies.at(role, map, halves.choosing()); }
  const Tally& reported(std::size_t role, std::size_t map) const { return tallies.at(role, map, halves.reporting()); }
};

/// Asks all heads: forward passes over the texts, several in one where they are short; texts that several probes have
/// go through once. Baselines are the best rules of the choosing half. Results depend on neither threads nor batches.
/// Throws what forward() throws but Cancelled; BadArgument for a layer or a head that is not there.
HeadScores score_heads(const model::Transformer& transformer, std::vector<Probe> probes,
                       const std::vector<PlaceProbe>& places, const ScoringOptions& options);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_HEAD_SCORES_H_
