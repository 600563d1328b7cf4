#include "src/template/string_literal.h"

#include "src/template/lexer.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";

int digit_value(char c, int base) {
  int value = base;
  if (c >= '0' && c <= '9') value = c - '0';
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') value = (c | 0x20) - 'a' + 10;
  return value < base ? value : -1;
}

class Escapes {
 public:
  Escapes(std::string_view literal, int line) : rest_(literal), line_(line) {}

  std::string run() {
    while (!rest_.empty()) {
      const std::size_t slash = rest_.find('\\');
      out_ += rest_.substr(0, slash);
      if (slash == rest_.npos) break;
      rest_.remove_prefix(slash + 1);
      read_escape();
    }
    return std::move(out_);
  }

 private:
  void read_escape() {
    const char c = rest_[0];  // a backslash never stands last
    rest_.remove_prefix(1);
    if (const std::size_t i = kLetters.find(c); i != kLetters.npos) {
      out_ += kMeanings[i];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      add(read_digits(c == 'x' ? 2 : c == 'u' ? 4 : 8, 16, true));
    } else if (digit_value(c, 8) >= 0) {
      rest_ = std::string_view(rest_.data() - 1, rest_.size() + 1);
      add(read_digits(3, 8, false));
    } else if (c == 'N') {
      throw SourceFault{line_, "a character by its name, \\N{...}", true};
    } else if ((c & 0x80) != 0) {
      // Jinja first writes such a character as an escape, so that two backslashes meet and its digits stay.
      throw SourceFault{line_, "a backslash before a character that is not ASCII", true};
    } else if (c != '\n') {
      out_ += '\\';
      out_ += c;
    }
  }

  char32_t read_digits(int most, int base, bool all) {
    char32_t value = 0;
    int count = 0;
    for (; count < most && !rest_.empty() && digit_value(rest_[0], base) >= 0; ++count) {
      value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit_value(rest_[0], base));
      rest_.remove_prefix(1);
    }
    if (all && count < most) throw SourceFault{line_, "an escape in a string is cut short"};
    return value;
  }

  void add(char32_t c) {
    if (c > 0x10FFFF) throw SourceFault{line_, "an escape in a string is not a character"};
    if (c >= 0xD800 && c <= 0xDFFF) throw SourceFault{line_, "half of a surrogate pair in a string", true};
    tokenizer::append_utf8(c, out_);
  }

  std::string_view rest_;
  int line_;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view literal, int line) { return Escapes(literal, line).run(); }

}  // namespace sightline::jinja
