#ifndef SIGHTLINE_CLI_STREAMS_H_
#define SIGHTLINE_CLI_STREAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options.h"
#include "sightline/execution.h"

namespace sightline::cli {

/// Thrown where the reader of standard output has gone: the program ends without a word.
struct ClosedPipe {};

/// Writes all of `text` to standard output. Throws BadFile with the system's reason, ClosedPipe.
void write_output(std::string_view text);

/// A line on standard error, beginning with the program's name; what must not reach a terminal raw is escaped.
void write_note(std::string_view message);

/// The text that a command is about: the argument, the file of -f, or standard input. Throws BadFile, and UsageError
/// where there is none, or two.
std::string read_text(const Options& options);

/// Says how far a long task is, on standard error if that is a terminal, from half a second on; stops it when a signal
/// came.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void operator()(double share);

 private:
  std::string what_;
  bool terminal_ = false;
  double started_ = 0;  // cpu::wall_seconds()
  int shown_ = -1;      // per cent
};

/// The same for what a model's passes report. A signal ends the pass; what asked for it says so.
class PassLine : public Progress {
 public:
  explicit PassLine(std::string what) : line_(std::in_place, std::move(what)) {}

  bool advance(std::int64_t done, std::int64_t total) override;
  void end() { line_.reset(); }  // what follows needs no line

 private:
  std::optional<ProgressLine> line_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_STREAMS_H_
