#ifndef SIGHTLINE_FORMAT_TEXT_LINES_H_
#define SIGHTLINE_FORMAT_TEXT_LINES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::format {

/// The lines of a UTF-8 text one after the other, without their ends (LF, CRLF, or the text's) and without a byte order
/// mark before the first. `text` must outlive this.
class TextLines {
 public:
  /// `name`: of the file, in messages.
  TextLines(std::string_view text, std::string_view name);

  /// Goes to the next line; false where there is none. Throws BadFile for bytes that are not UTF-8.
  bool next();
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }  // from 1

  /// The cells of a line of so many columns with a tab between any two. Throws BadFile where it has another number.
  std::vector<std::string_view> cells(std::size_t columns) const;

  /// Throws BadFile: "NAME: line 7: what".
  [[noreturn]] void refuse(const std::string& what) const { refuse_line(number_, what); }
  [[noreturn]] void refuse_line(std::size_t number, const std::string& what) const;

 private:
  std::string_view rest_;
  std::string name_;
  std::string_view line_;
  std::size_t number_ = 0;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_TEXT_LINES_H_
