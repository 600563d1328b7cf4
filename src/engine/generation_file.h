#ifndef SIGHTLINE_ENGINE_GENERATION_FILE_H_
#define SIGHTLINE_ENGINE_GENERATION_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "src/engine/report.h"
#include "src/engine/session.h"

namespace sightline::engine {

/// Keeps what every step of a generation observed, and writes it as one file (docs/report.md).
class GenerationFile {
 public:
  /// `header`: generation_json().
  explicit GenerationFile(ReportJson header) : header_(std::move(header)) {}

  void add(const model::GeneratedToken& token);
  /// The run so far, which `end` says the end of: end_json(). The file is written beside its place and renamed. Throws
  /// BadFile.
  void write(const std::filesystem::path& path, const PromptedGeneration& prompted, const ReportJson& end) const;

  /// Bytes that so many steps take, in maps of so many segments.
  static std::int64_t bytes(const model::TransformerConfig& config, std::int64_t steps, std::int64_t top,
                            std::int64_t segments);

 private:
  ReportJson header_;
  std::int64_t steps_ = 0;
  std::vector<double> log_probability_;
  std::vector<float> entropy_, sink_weight_, top_weight_, segment_mass_;  // [steps, layers, heads, ...]
  std::vector<std::int32_t> row_, token_, top_key_;
  model::StepSight last_;  // without what the lists above have
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_GENERATION_FILE_H_
