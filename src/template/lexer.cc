#include "src/template/lexer.h"

#include <algorithm>
#include <array>

#include "src/template/string_literal.h"
#include "src/template/text.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

using Type = Token::Type;

std::string with_plain_newlines(std::string_view source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_data();
    add(Type::end, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool at(std::string_view what) const { return rest().starts_with(what); }
  void add(Type type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }
  [[noreturn]] void fail(std::string message) const { throw SourceFault{line_, std::move(message)}; }

  void advance(std::size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    line_starting_ = to > at_ ? source_[to - 1] == '\n' : line_starting_;
    at_ = to;
  }

  static char sign_at(std::string_view text, std::size_t at) {
    return at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : '\0';
  }

  // Text up to byte `end`, where a tag with this sign begins.
  void add_data(std::size_t end, char sign, bool strips_line) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    const std::size_t line_begin = text.rfind('\n') + 1;  // npos + 1 is 0
    if (sign == '-') {
      text = text.substr(0, trim_space_end(text));
    } else if (sign != '+' && strips_line && (line_begin > 0 || line_starting_)) {
      if (skip_space(text, line_begin) == text.size()) text = text.substr(0, line_begin);
    }
    if (!text.empty()) add(Type::data, std::string(text));
    advance(end);
  }

  std::size_t find_tag() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i) {
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) return i;
    }
    return source_.size();
  }

  void read_data() {
    const std::size_t tag = find_tag();
    if (tag == source_.size()) {
      add(Type::data, std::string(rest()));
      return advance(tag);
    }
    const char kind = source_[tag + 1], sign = sign_at(source_, tag + 2);
    add_data(tag, sign, kind != '{');
    const std::size_t inside = tag + 2 + (sign != '\0' ? 1 : 0);
    if (kind == '#') return read_comment(inside);
    if (kind == '%' && read_raw(inside)) return;
    add(kind == '%' ? Type::block_begin : Type::variable_begin, "");
    advance(inside);
    read_tag(kind == '%');
  }

  // Behind the end of a tag or comment at `end`: `mark` ("%}"), before it a sign. npos where there is none.
  std::size_t tag_end(std::size_t end, std::string_view mark, bool trims_newline) const {
    const std::string_view text = source_;
    if (text.substr(end).starts_with("-" + std::string(mark))) return skip_space(text, end + 1 + mark.size());
    if (trims_newline && text.substr(end).starts_with("+" + std::string(mark))) return end + 1 + mark.size();
    if (!text.substr(end).starts_with(mark)) return text.npos;
    const std::size_t behind = end + mark.size();
    return trims_newline && behind < text.size() && text[behind] == '\n' ? behind + 1 : behind;
  }

  void read_comment(std::size_t inside) {
    for (std::size_t i = inside; i < source_.size(); ++i) {
      const std::size_t end = tag_end(i, "#}", true);
      if (end != source_.npos) return advance(end);
    }
    fail("a comment does not end");
  }

  // Behind a word within a tag, with white space around it; npos where something else stands there.
  std::size_t word_end(std::size_t from, std::string_view word) const {
    const std::size_t begin = skip_space(source_, from);
    if (!std::string_view(source_).substr(begin).starts_with(word)) return source_.npos;
    return skip_space(source_, begin + word.size());
  }

  bool read_raw(std::size_t inside) {
    const std::size_t word = word_end(inside, "raw");
    if (word == source_.npos) return false;
    const std::size_t begin = tag_end(word, "%}", false);
    if (begin == source_.npos) return false;
    advance(begin);
    for (std::size_t tag = source_.find("{%", at_); tag != source_.npos; tag = source_.find("{%", tag + 1)) {
      const char sign = sign_at(source_, tag + 2);
      const std::size_t end_word = word_end(tag + 2 + (sign != '\0' ? 1 : 0), "endraw");
      const std::size_t end = end_word == source_.npos ? end_word : tag_end(end_word, "%}", true);
      if (end == source_.npos) continue;
      add_data(tag, sign, true);
      advance(end);
      return true;
    }
    fail("raw does not end");
  }

  void read_tag(bool is_block) {
    std::string open;  // brackets, each by the one that closes it
    const int begin = line_;
    while (at_ < source_.size()) {
      const std::size_t end = open.empty() ? tag_end(at_, is_block ? "%}" : "}}", is_block) : source_.npos;
      if (end != source_.npos) {
        add(is_block ? Type::block_end : Type::variable_end, "");
        return advance(end);
      }
      read_token(open);
    }
    line_ = begin;
    fail("a tag does not end");
  }

  void read_token(std::string& open) {
    const std::size_t space = skip_space(source_, at_);
    if (space > at_) return advance(space);
    const char c = source_[at_];
    if (is_digit(c)) return read_number();
    if (c == '\'' || c == '"') return read_string(c);
    if (const std::size_t end = name_end(); end > at_) {
      add(Type::name, source_.substr(at_, end - at_));
      return advance(end);
    }
    read_symbol(open);
  }

  std::size_t name_end() const {
    std::size_t end = at_;
    while (end < source_.size()) {
      const auto c = tokenizer::decode_char(source_, end);
      if (c.length == 0 || !tokenizer::is_word_char(c.code)) break;
      end += c.length;
    }
    return end;
  }

  std::size_t digits_end(std::size_t from, bool (*is_one)(char)) const {
    std::size_t end = from;
    while (end < source_.size()) {
      if (is_one(source_[end])) {
        ++end;
      } else if (end > from && source_[end] == '_' && end + 1 < source_.size() && is_one(source_[end + 1])) {
        ++end;
      } else {
        break;
      }
    }
    return end;
  }

  // A number without the underscores that may stand in it.
  void add_number(Type type, std::size_t end) {
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    add(type, std::move(text));
    advance(end);
  }

  // Where the part behind the point, and the exponent, end; `integer_end` where there is neither.
  std::size_t real_end(std::size_t integer_end) const {
    std::size_t end = integer_end;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      end = digits_end(end + 1, is_digit);
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const std::size_t digits = end + 1 + (sign_at(source_, end + 1) != '\0' ? 1 : 0);
      if (digits < source_.size() && is_digit(source_[digits])) end = digits_end(digits, is_digit);
    }
    return end;
  }

  void read_number() {
    const char base = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
    if (source_[at_] == '0' && (base == 'x' || base == 'o' || base == 'b')) {
      return fail_unsupported("a number that is not decimal");
    }
    const std::size_t end = digits_end(at_, is_digit);
    const bool after_point = at_ > 0 && source_[at_ - 1] == '.';
    const std::size_t real = after_point ? end : real_end(end);
    if (real > end) return add_number(Type::real, real);
    if (source_[at_] == '0' && source_.find_first_not_of("0_", at_) < end) fail("a number begins with 0");
    add_number(Type::integer, end);
  }

  [[noreturn]] void fail_unsupported(std::string message) const { throw SourceFault{line_, std::move(message), true}; }

  void read_string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a string does not end");
    add(Type::string, unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1), line_));
    advance(end + 1);
  }

  void balance(std::string& open, char c) const {
    constexpr std::string_view kOpening = "({[", kClosing = ")}]";
    if (const std::size_t i = kOpening.find(c); i != kOpening.npos) {
      open += kClosing[i];
    } else if (kClosing.find(c) != kClosing.npos) {
      if (open.empty() || open.back() != c) fail(std::string("unexpected '") + c + "'");
      open.pop_back();
    }
  }

  void read_symbol(std::string& open) {
    constexpr std::array<std::string_view, 26> kSymbols = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "*",
                                                           "/",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (const std::string_view symbol : kSymbols) {
      if (!at(symbol)) continue;
      if (symbol.size() == 1) balance(open, symbol[0]);
      add(Type::symbol, std::string(symbol));
      return advance(at_ + symbol.size());
    }
    fail("an unexpected character");
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view source) { return Lexer(with_plain_newlines(source)).run(); }

}  // namespace sightline::jinja
