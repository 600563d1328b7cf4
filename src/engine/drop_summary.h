#ifndef SIGHTLINE_ENGINE_DROP_SUMMARY_H_
#define SIGHTLINE_ENGINE_DROP_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/generation.h"
#include "src/engine/report.h"

namespace sightline::engine {

/// What a generation that drops keys came to. Shares are parts of 1, means those of heads, each counted alike.
struct DropSummary {
  struct Layer {
    std::int64_t kept = 0;     // keys a head, at the end
    std::int64_t evicted = 0;  // keys, of all its heads
    double evicted_share = 0;  // of the weight that all keys received, what evicted ones had
    double missed = 0;         // of an audit: what later rows would have given them, the mean over rows and query heads
  };
  struct Peak {  // what a row would have given to evicted keys, at most
    double share = 0;
    int layer = 0, head = 0;  // from 1
    std::int64_t row = 0;     // position
  };

  model::DropRule rule;
  std::int64_t rows = 0;  // since keys began to go
  std::int64_t evicted = 0;
  double evicted_share = 0;
  std::int64_t cache_bytes = 0, full_bytes = 0;  // that keys and values take, and would take with all kept
  std::vector<Layer> layers;
  bool audited = false;
  double missed = 0;
  std::optional<Peak> peak;  // if any evicted key was missed
  std::optional<model::Departure> departure;
};

/// Nothing where no keys are dropped, and before the first token.
std::optional<DropSummary> summarise_drops(const model::TransformerConfig& config,
                                           const model::GenerationOptions& options,
                                           const model::Generation& generation);

/// The field `eviction` of a generation's last line (docs/report.md).
ReportJson drops_json(const DropSummary& summary);
/// The same as lines for a reader.
std::vector<std::string> drop_notes(const DropSummary& summary);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_DROP_SUMMARY_H_
