#include "cli/run_record.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "cli/answer_table.h"
#include "cli/streams.h"
#include "src/engine/drop_summary.h"

namespace sightline::cli {

RunRecord::RunRecord(const Options& options, const engine::ModelFacts& model,
                     const engine::PromptedGeneration& prompted, const model::GenerationOptions& how)
    : options_(options),
      model_(model),
      prompted_(prompted),
      how_(how),
      answer_(prompted, {options.layer, options.head}) {
  if (!options.output.empty()) file_.emplace(first_line());
}

engine::ReportJson RunRecord::first_line() const { return engine::generation_json(model_, prompted_, how_); }

void RunRecord::add(const model::GeneratedToken& token) {
  answer_.add(token);
  if (file_) file_->add(token);
}

engine::ReportJson RunRecord::last_line(std::string_view how) const {
  return engine::end_json(prompted_.generation, how, answer_.answer(),
                          engine::summarise_drops(model_.config, how_, prompted_.generation));
}

void RunRecord::finish(std::string_view how) const {
  if (options_.segment_table) write_table();
  save(how);
  const std::optional<engine::DropSummary> drops = engine::summarise_drops(model_.config, how_, prompted_.generation);
  if (!drops) return;
  for (const std::string& note : engine::drop_notes(*drops)) write_note(note);
}

void RunRecord::save(std::string_view how) const {
  if (!file_) return;
  file_->write(options_.output, prompted_, last_line(how));
  write_note(fmt::format("wrote {}", options_.output));
}

// After the text where somebody reads it, beside it where a pipe takes it.
void RunRecord::write_table() const {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  Painter painter(detect_terminal(terminal ? STDOUT_FILENO : STDERR_FILENO, options_.colour));
  const engine::Answer answer = answer_.answer();
  add_answer_table(painter, prompted_.segments.names_with_generated(), {&answer, 1}, options_);
  if (terminal) return write_output(painter.result());
  std::fwrite(painter.result().data(), 1, painter.result().size(), stderr);
}

}  // namespace sightline::cli
