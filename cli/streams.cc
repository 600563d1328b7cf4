#include "cli/streams.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/display_text.h"
#include "cli/interrupt.h"
#include "src/cpu/clock.h"
#include "src/engine/session.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

constexpr double kPatience = 0.5;  // seconds

std::string read_standard_input() {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw BadFile(fmt::format("standard input: {}", std::strerror(errno)));
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > engine::kMaxTextBytes)
      throw BadFile(fmt::format("standard input: more than {} MB of text", engine::kMaxTextBytes >> 20));
  }
}

}  // namespace

void write_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      throw ClosedPipe{};
    } else if (errno != EINTR) {
      throw BadFile(fmt::format("standard output: {}", std::strerror(errno)));
    }
  }
}

void write_note(std::string_view message) {
  const std::string line =
      "sightline: " + displayable(message, detect_terminal(STDERR_FILENO, ColourChoice::never).utf8) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string read_text(const Options& options) {
  if (options.text && !options.file.empty())
    throw UsageError("a text and -f FILE were both given: leave one of them out");
  if (options.text && *options.text != "-") return *options.text;
  if (!options.file.empty() && options.file != "-") return format::read_file(options.file, engine::kMaxTextBytes);
  const bool asked = options.text || !options.file.empty();
  if (!asked && isatty(STDIN_FILENO)) throw UsageError("no text was given: add it in quotes, or name a file with -f");
  return read_standard_input();
}

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0), started_(cpu::wall_seconds()) {}

ProgressLine::~ProgressLine() {
  if (shown_ >= 0) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::operator()(double share) {
  check_interrupt();
  const int percent = static_cast<int>(share * 100);
  if (!terminal_ || percent == shown_ || cpu::wall_seconds() - started_ < kPatience) return;
  shown_ = percent;
  fmt::print(stderr, "\r{} {} %", what_, percent);
  std::fflush(stderr);
}

bool PassLine::advance(std::int64_t done, std::int64_t total) {
  try {
    if (line_) (*line_)(static_cast<double>(done) / static_cast<double>(total));
  } catch (const Interrupted&) {  // threads of the kernel are no place for it
  }
  return interrupting_signal() == 0;
}

}  // namespace sightline::cli
