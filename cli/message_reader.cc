#include "cli/message_reader.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/interrupt.h"
#include "cli/streams.h"
#include "sightline/error.h"
#include "src/engine/session.h"

namespace sightline::cli {
namespace {

constexpr int kPatience = 100;  // ms between two looks for signals

}  // namespace

MessageReader::MessageReader() : terminal_(isatty(STDIN_FILENO) != 0) {}

// On standard error where the answers go elsewhere.
void MessageReader::show(const char* prompt) const {
  if (!terminal_) return;
  if (isatty(STDOUT_FILENO)) return write_output(prompt);
  std::fputs(prompt, stderr);
}

std::optional<std::string> MessageReader::next() {
  show("> ");
  std::string message;
  while (std::optional<std::string> line = next_line()) {
    const bool goes_on = line->ends_with('\\');
    if (goes_on) line->back() = '\n';
    message += *line;
    if (message.size() > engine::kMaxTextBytes) {
      throw BadArgument(fmt::format("a message of more than {} MB was passed over", engine::kMaxTextBytes >> 20));
    }
    if (!goes_on) return message;
    show(". ");
  }
  if (message.empty()) return std::nullopt;
  return message;
}

std::optional<std::string> MessageReader::next_line() {
  std::size_t searched = 0;
  bool too_long = false;
  for (;;) {
    const std::size_t end = held_.find('\n', searched);
    if (end != std::string::npos || (ended_ && (too_long || !held_.empty()))) {
      std::string line = held_.substr(0, end);
      held_.erase(0, end == std::string::npos ? end : end + 1);  // the last line may lack its end
      if (line.ends_with('\r')) line.pop_back();
      if (too_long) line.assign(engine::kMaxTextBytes + 1, ' ');
      return line;
    }
    if (ended_) return std::nullopt;
    searched = held_.size();
    if (searched > engine::kMaxTextBytes) {
      too_long = true;
      held_.clear();
      searched = 0;
    }
    ended_ = !fill();
  }
}

// False at the end.
bool MessageReader::fill() {
  char buffer[1 << 16];
  for (;;) {
    check_interrupt();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kPatience) <= 0) continue;  // a signal broke it off, or nothing came
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw BadFile(fmt::format("standard input: {}", std::strerror(errno)));
    held_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }
}

}  // namespace sightline::cli
