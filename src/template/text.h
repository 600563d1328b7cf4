#ifndef SIGHTLINE_TEMPLATE_TEXT_H_
#define SIGHTLINE_TEMPLATE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::jinja {

/// Bytes of a text that came from one source: a string of a message, of a tool. Sources are numbered by who makes the
/// texts.
struct Run {
  std::size_t begin = 0, end = 0;
  std::int32_t source = 0;
};

/// Well-formed UTF-8 that knows which of its bytes came from where. Whatever makes a text out of others (joining,
/// cutting, replacing, changing case) goes through TextBuilder, which carries the runs along.
class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}
  Text(std::string bytes, std::int32_t source);

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  const std::vector<Run>& runs() const { return runs_; }  // ascending, not empty, not touching where of one source
  Text slice(std::size_t begin, std::size_t end) const;   // by bytes

 private:
  friend class TextBuilder;
  std::string bytes_;
  std::vector<Run> runs_;
};

class TextBuilder {
 public:
  void append(std::string_view plain) { text_.bytes_ += plain; }
  void append(const Text& text) { append(text, 0, text.size()); }
  void append(const Text& text, std::size_t begin, std::size_t end);
  /// `bytes` in place of text[begin, end): a character in another case, an escape. They are of the source of `begin`.
  void append_instead(std::string_view bytes, const Text& text, std::size_t begin);
  std::size_t size() const { return text_.size(); }
  Text take() { return std::move(text_); }

 private:
  void add_run(Run run);
  Text text_;
};

bool is_space(char32_t c);  // str.isspace, and \s of Python's expressions

std::size_t count_characters(std::string_view text);
/// The byte at which character `index` begins; the size where there are no more.
std::size_t byte_of_character(std::string_view text, std::size_t index);
/// The first byte in [0, size] that is not white space, and the byte behind the last one.
std::size_t skip_space(std::string_view text, std::size_t at);
std::size_t trim_space_end(std::string_view text);
/// Where the character that ends before byte `end` begins.
std::size_t previous_character(std::string_view text, std::size_t end);

/// How Python changes case. `title`: words as str.title sees them; `capital`: the first character alone.
enum class Case : std::uint8_t { upper, lower, title, capital, swapped };
Text with_case(const Text& text, Case how);

bool is_printable(char32_t c);  // stands as it is in Python's repr

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_TEXT_H_
