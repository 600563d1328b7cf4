#ifndef SIGHTLINE_TOKENIZER_JSON_TEXT_H_
#define SIGHTLINE_TOKENIZER_JSON_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sightline::tokenizer {

constexpr std::string_view kBlanks = " \t\r\n";  // what JSON allows between its parts

/// The text of a value of a JSON file, and where it stands.
struct JsonText {
  std::string value;         // "{...}" or "[...]"
  std::string file;          // its name, for messages
  std::size_t position = 0;  // byte of the file at which the value begins
};

/// Takes a member of "model" that is an object or an array out of the text of a tokenizer.json, and leaves blanks
/// within its brackets: what is left is a small JSON text in which positions are unchanged. Parsed with the rest, a
/// vocabulary or its merges would cost five times as much: a tree node and a string for each. Nothing where the text
/// has no such value, or is not JSON.
std::optional<JsonText> take_from_model(std::string& json, std::string_view file, std::string_view member);

/// Reads such a text from the left. Throws BadFile, saying in which key and at which byte of the file.
class JsonCursor {
 public:
  JsonCursor(const JsonText& text, std::string_view key) : text_(text), key_(key) {}

  /// The next character that is not blank.
  char peek();
  void expect(char c);
  bool take(char c);
  /// A string without its quotes and escapes; a view until the next is read, where it has escapes.
  std::string_view read_string();
  std::string_view rest() const { return std::string_view(text_.value).substr(at_); }
  void skip(std::size_t bytes) { at_ += bytes; }
  [[noreturn]] void fail(std::string_view what) const { fail(at_, what); }

 private:
  [[noreturn]] void fail(std::size_t at, std::string_view what) const;

  const JsonText& text_;
  std::string key_;
  std::size_t at_ = 0;  // byte of the value
  std::string unescaped_;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_JSON_TEXT_H_
