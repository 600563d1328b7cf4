#ifndef SIGHTLINE_CLI_LINE_READER_H_
#define SIGHTLINE_CLI_LINE_READER_H_

#include <cstdio>
#include <memory>
#include <string>

namespace sightline::cli {

/// A line of a file that has a text in it.
struct NumberedText {
  std::size_t line = 0;  // from 1
  std::string text;
};

/// Reads a file, or standard input as "-", a line at a time. Lines of white space alone are none; a carriage return at
/// a line's end is no part of it. Of a line longer than any text that is read, kMaxTextBytes and one byte are given.
class LineReader {
 public:
  /// Throws BadFile.
  explicit LineReader(const std::string& path);
  /// False at the end. Throws BadFile.
  bool next(NumberedText& text);

 private:
  bool read_line(std::string& line);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::size_t line_ = 0;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_LINE_READER_H_
