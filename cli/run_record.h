#ifndef SIGHTLINE_CLI_RUN_RECORD_H_
#define SIGHTLINE_CLI_RUN_RECORD_H_

#include <optional>
#include <string_view>

#include "cli/options.h"
#include "src/engine/generation_file.h"
#include "src/engine/generation_report.h"

namespace sightline::cli {

/// What is kept of a generation while it comes, for what is said at its end: where the answer looked, which keys were
/// dropped, and the file of -o.
class RunRecord {
 public:
  /// All must outlive it.
  RunRecord(const Options& options, const engine::ModelFacts& model, const engine::PromptedGeneration& prompted,
            const model::GenerationOptions& how);

  engine::ReportJson first_line() const;  // generation_json()
  void add(const model::GeneratedToken& token);
  engine::ReportJson last_line(std::string_view how) const;  // end_json()
  /// After the text's end: the table of --segments, the file, notes on dropped keys.
  void finish(std::string_view how) const;
  /// The file alone, with what there is.
  void save(std::string_view how) const;

 private:
  void write_table() const;

  const Options& options_;
  const engine::ModelFacts& model_;
  const engine::PromptedGeneration& prompted_;
  const model::GenerationOptions& how_;
  engine::AnswerRecord answer_;
  std::optional<engine::GenerationFile> file_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_RUN_RECORD_H_
