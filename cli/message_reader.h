#ifndef SIGHTLINE_CLI_MESSAGE_READER_H_
#define SIGHTLINE_CLI_MESSAGE_READER_H_

#include <optional>
#include <string>

namespace sightline::cli {

/// Messages from standard input, one a line; a backslash at a line's end goes on with the next. A terminal shows a
/// prompt before each.
class MessageReader {
 public:
  MessageReader();

  /// The next message, or nothing at the end. Throws Interrupted when a signal comes meanwhile, BadFile, and
  /// BadArgument for a message longer than any text that is read, whose line is passed over.
  std::optional<std::string> next();
  bool is_terminal() const { return terminal_; }

 private:
  std::optional<std::string> next_line();
  bool fill();
  void show(const char* prompt) const;

  bool terminal_;
  bool ended_ = false;
  std::string held_;  // read, and no part of a line yet
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_MESSAGE_READER_H_
