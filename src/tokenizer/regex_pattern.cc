#include "src/tokenizer/regex_pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kMaxPattern = 16384;  // bytes; the longest of a known tokenizer has about 2,000
constexpr std::size_t kMaxDepth = 64;       // of groups and classes within one another
constexpr std::size_t kMaxSets = 512;
constexpr int kMaxRepeat = 65535;  // PCRE2's
constexpr char32_t kLast = 0x10FFFF;

class PatternParser {
 public:
  PatternParser(std::string_view utf8, std::string_view where) : utf8_(utf8), where_(where), text_(to_chars(utf8)) {}

  RegexPattern parse() {
    read_alternatives(/*caseless=*/false);
    if (!at_end()) malformed("a ')' that closes nothing");
    return std::move(pattern_);
  }

 private:
  // What a repeat may follow.
  enum class Last { nothing, atom, repeated };

  struct Options {
    bool caseless = false;
    bool dot_all = false;
  };

  bool at_end() const { return at_ == text_.size(); }
  char32_t peek() const { return at_end() ? U'\0' : text_[at_]; }
  char32_t next() {
    if (at_end()) malformed("an end where more must follow");
    return text_[at_++];
  }
  bool take(char32_t c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  std::string place(std::size_t at) const {
    return std::string(where_) + ": character " + std::to_string(at + 1) + " of the pattern " + format::quote(utf8_);
  }
  [[noreturn]] void malformed(std::string_view what) const {
    throw BadFile(place(std::min(at_, text_.size())) + ": " + std::string(what));
  }
  // `begin`: where the construct starts; it ends where reading stands.
  [[noreturn]] void unsupported(std::size_t begin) const {
    std::string spelling;
    for (std::size_t i = begin; i < std::min(at_, text_.size()); ++i) append_utf8(text_[i], spelling);
    throw UnsupportedModel(place(begin) + ": " + format::quote(spelling) + " is not supported");
  }

  void add_syntax(std::string syntax) {
    pattern_.parts.push_back({std::move(syntax), 0});
    literals_.clear();
  }

  void add_set(const CharacterSet& set) {
    const auto found = std::find(pattern_.sets.begin(), pattern_.sets.end(), set);
    const auto index = static_cast<std::size_t>(found - pattern_.sets.begin());
    if (found == pattern_.sets.end()) {
      if (index == kMaxSets) {
        throw UnsupportedModel(place(at_) + ": it has more than " + std::to_string(kMaxSets) + " kinds of characters");
      }
      pattern_.sets.push_back(set);
    }
    pattern_.parts.push_back({{}, index});
  }

  void add_class(const CharacterSet& set) {
    literals_.clear();
    add_set(set);
  }

  // The reference also takes one character for several where case does not count ("ss" and U+00DF).
  void add_literal(char32_t c, bool caseless, std::size_t begin) {
    if (!caseless) return add_class(set_of(c, c));
    literals_ += static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
    for (std::size_t length = 2; length <= std::min<std::size_t>(3, literals_.size()); ++length) {
      const bool joins = is_case_of_one_character(std::u32string_view(literals_).substr(literals_.size() - length));
      if (joins) unsupported(at_ - std::min(at_, length));
    }
    if (is_case_of_several_characters(c)) unsupported(begin);
    add_set(without_case(set_of(c, c)));
  }

  void enter() {
    if (++depth_ > kMaxDepth) malformed("nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }

  // Up to the end of the pattern, or to the ')' of the group.
  void read_alternatives(bool caseless, bool dot_all = false) {
    Options options{caseless, dot_all};
    enter();
    Last last = Last::nothing;
    bool first = true;
    while (!at_end() && peek() != ')') {
      last = read_term(options, last, first);
      first = false;
    }
    --depth_;
  }

  Last read_term(Options& options, Last last, bool first) {
    const std::size_t begin = at_;
    const char32_t c = next();
    switch (c) {
      case '|':
        add_syntax("|");
        return Last::nothing;
      case '(':
        return read_group(options, begin, first);
      case '[':
        read_bracket(options.caseless);
        return Last::atom;
      case '.':
        add_class(options.dot_all ? set_of(0, kLast) : set_of('\n', '\n').complement());
        return Last::atom;
      case '^':
        add_line_begin();
        return Last::nothing;
      case '$':
        add_line_end();
        return Last::nothing;
      case '\\':
        return read_escape(options.caseless, begin);
      case '*':
      case '+':
      case '?':
        add_repeat(std::string(1, static_cast<char>(c)), /*counted=*/false, last, begin);
        return Last::repeated;
      case '{':
        if (const auto repeat = read_counts()) {
          add_repeat(*repeat, /*counted=*/true, last, begin);
          return Last::repeated;
        }
        [[fallthrough]];
      default:
        add_literal(c, options.caseless, begin);
        return Last::atom;
    }
  }

  void add_line_begin() {  // not after the line feed that ends the text
    add_syntax("(?:\\A|(?<=");
    add_class(set_of('\n', '\n'));
    add_syntax(")(?!\\z))");
  }

  void add_line_end() {
    add_syntax("(?:\\z|(?=");
    add_class(set_of('\n', '\n'));
    add_syntax("))");
  }

  void add_repeat(std::string repeat, bool counted, Last last, std::size_t begin) {
    if (last == Last::nothing) malformed("a repeat of nothing");
    if (last == Last::repeated) unsupported(begin);
    // The reference reads "+" after {n,m}, and "?" after {n}, as a second repeat.
    const bool exact = counted && repeat.find(',') == repeat.npos;
    if ((counted && peek() == '+') || (exact && peek() == '?')) {
      ++at_;
      unsupported(begin);
    }
    if (take('?')) repeat += '?';
    if (!counted && repeat.size() == 1 && take('+')) repeat += '+';
    add_syntax(std::move(repeat));
  }

  std::optional<int> read_count() {
    int count = 0;
    const std::size_t begin = at_;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      count = 10 * count + static_cast<int>(peek() - '0');
      if (count > kMaxRepeat) malformed("a repeat of more than " + std::to_string(kMaxRepeat) + " times");
    }
    return at_ == begin ? std::nullopt : std::optional(count);
  }

  // "n}", "n,}", "n,m}" or ",m}"; else the brace is a character like any other.
  std::optional<std::string> read_counts() {
    const std::size_t begin = at_;
    const std::optional<int> least = read_count();
    const bool comma = take(',');
    const std::optional<int> most = comma ? read_count() : least;
    if ((!least && !most) || !take('}')) {
      at_ = begin;
      return std::nullopt;
    }
    if (most && least.value_or(0) > *most) malformed("a repeat whose least count is above its greatest");
    std::string repeat = "{" + std::to_string(least.value_or(0));
    if (comma) repeat += "," + (most ? std::to_string(*most) : std::string());
    return repeat + "}";
  }

  // Nothing refers to a group by its number, so that no group keeps what it matched.
  Last read_group(Options& options, std::size_t begin, bool first) {
    static constexpr std::pair<std::u32string_view, const char*> kLookAround[] = {
        {U"?=", "(?="}, {U"?!", "(?!"}, {U"?<=", "(?<="}, {U"?<!", "(?<!"}};
    for (const auto& [spelling, syntax] : kLookAround) {
      if (!take(spelling)) continue;
      read_group_body(syntax, options);
      return Last::nothing;
    }
    if (take(U"?>")) return read_group_body("(?>", options);
    if (take(U"?:") || peek() != '?') return read_group_body("(?:", options);
    Options inner = options;
    read_options(inner, begin);
    if (take(':')) return read_group_body("(?:", inner);
    if (next() != ')' || !first) unsupported(begin);  // elsewhere than first it would reach over what follows
    options = inner;
    return Last::nothing;
  }

  // "?i", "?m", "?-i", "?i-m"; m lets "." match a line feed.
  void read_options(Options& options, std::size_t begin) {
    ++at_;
    for (bool on = true; peek() == 'i' || peek() == 'm' || peek() == '-'; ++at_) {
      if (peek() == '-') on = false;
      if (peek() == 'i') options.caseless = on;
      if (peek() == 'm') options.dot_all = on;
    }
    if (peek() == ':' || peek() == ')') return;
    if (!at_end()) ++at_;
    unsupported(begin);
  }

  Last read_group_body(const char* opening, const Options& options) {
    add_syntax(opening);
    read_alternatives(options.caseless, options.dot_all);
    if (!take(')')) malformed("a group that does not end");
    add_syntax(")");
    return Last::atom;
  }

  Last read_escape(bool caseless, std::size_t begin) {
    const char32_t c = next();
    switch (c) {
      case 'A':
        add_syntax("\\A");
        return Last::nothing;
      case 'z':
        add_syntax("\\z");
        return Last::nothing;
      case 'Z':
        add_syntax("(?=");
        add_class(set_of('\n', '\n'));
        add_syntax("?\\z)");
        return Last::nothing;
      case 'b':
      case 'B':
        add_word_boundary(c == 'b');
        return Last::nothing;
      default:
        break;
    }
    if (c == 'w' || c == 'W') {
      add_class(c == 'w' ? lone_word_chars() : lone_word_chars().complement());
    } else if (const auto set = read_class_escape(c, begin)) {
      add_class(*set);
    } else {
      add_literal(read_character_escape(c, begin), caseless, begin);
    }
    return Last::atom;
  }

  void add_word_boundary(bool boundary) {
    const char* const parts[] = {"(?:(?<=", boundary ? ")(?!" : ")(?=", ")|(?<!", boundary ? ")(?=" : ")(?!"};
    for (const char* part : parts) {
      add_syntax(part);
      add_class(lone_word_chars());
    }
    add_syntax("))");
  }

  // \s, \p{L} and the like; `c` stands after the backslash.
  std::optional<CharacterSet> read_class_escape(char32_t c, std::size_t begin) {
    switch (c) {
      case 's':
        return white_space();
      case 'S':
        return white_space().complement();
      case 'd':
        return digits();
      case 'D':
        return digits().complement();
      case 'w':
        return word_chars();
      case 'W':
        return word_chars().complement();
      case 'h':
        return named_set("xdigit");
      case 'H':
        return named_set("xdigit")->complement();
      case 'p':
      case 'P':
        return read_property(c == 'P', begin);
      default:
        return std::nullopt;
    }
  }

  CharacterSet read_property(bool negated, std::size_t begin) {
    if (!take('{')) unsupported(begin);
    if (take('^')) negated = !negated;
    return read_named_set(U"}", negated, begin);
  }

  CharacterSet read_named_set(std::u32string_view end, bool negated, std::size_t begin) {
    std::string name;
    while (!take(end)) append_utf8(next(), name);
    std::optional<CharacterSet> set = named_set(name);
    if (!set) unsupported(begin);
    return negated ? set->complement() : *set;
  }

  char32_t read_character_escape(char32_t c, std::size_t begin) {
    static constexpr std::pair<char32_t, char32_t> kControls[] = {{'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'f', '\f'},
                                                                  {'v', '\v'}, {'a', '\a'}, {'e', 0x1B}};
    for (const auto& [letter, control] : kControls) {
      if (c == letter) return control;
    }
    if (c == 'u') return read_hexadecimal(4, 4, begin);
    if (c == 'x' && take('{')) {
      const char32_t code = read_hexadecimal(1, 8, begin);
      if (!take('}')) unsupported(begin);
      return code;
    }
    if (c == 'x') return read_hexadecimal(1, 2, begin);
    const bool letter_or_digit = c < 0x80 && u_isalnum(static_cast<UChar32>(c));
    if (letter_or_digit) unsupported(begin);
    return c;
  }

  char32_t read_hexadecimal(int least, int most, std::size_t begin) {
    std::uint64_t code = 0;
    int count = 0;
    for (; count < most && peek() < 0x80 && u_isxdigit(static_cast<UChar32>(peek())); ++count) {
      code = 16 * code + static_cast<std::uint64_t>(u_digit(static_cast<UChar32>(next()), 16));
    }
    const bool is_byte_of_many = most == 2 && code >= 0x80;  // one byte of a character's UTF-8
    if (count < least || is_byte_of_many) unsupported(begin);
    if (code > kLast || (code >= 0xD800 && code <= 0xDFFF)) malformed("a code that is no character");
    return static_cast<char32_t>(code);
  }

  // As the reference has it, case is taken out of the outermost class as a whole, before its negation.
  void read_bracket(bool caseless) {
    const bool negated = take('^');
    CharacterSet set = read_class();
    if (caseless) set = without_case(set);
    add_class(negated ? set.complement() : set);
  }

  CharacterSet read_nested_class() {
    const bool negated = take('^');
    CharacterSet set = read_class();
    return negated ? set.complement() : set;
  }

  // Up to its ']'. "&&" is the intersection of what stands on both sides.
  CharacterSet read_class() {
    enter();
    if (peek() == ']') malformed("a class that begins with ']', which must be written \"\\\\]\"");
    CharacterSet all = set_of(0, kLast);
    CharacterSet set;
    while (!take(']')) {
      if (take(U"&&")) {
        all.retainAll(set);
        set.clear();
      } else {
        read_class_member(set);
      }
    }
    --depth_;
    return all.retainAll(set);
  }

  void read_class_member(CharacterSet& set) {
    const std::size_t begin = at_;
    if (take(U"[:")) {
      const bool negated = take('^');
      set.addAll(read_named_set(U":]", negated, begin));
      return;
    }
    if (take('[')) {
      set.addAll(read_nested_class());
      return;
    }
    char32_t first = next();
    if (first == '\\') {
      const char32_t c = next();
      if (const auto escape = read_class_escape(c, begin)) {
        if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') unsupported(begin);
        set.addAll(*escape);
        return;
      }
      first = c == 'b' ? U'\b' : read_character_escape(c, begin);
    }
    set.addAll(set_of(first, read_range_end(first)));
  }

  // The last character of a range; `first` where there is none.
  char32_t read_range_end(char32_t first) {
    const bool ranges = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!ranges) return first;
    const std::size_t begin = at_++;
    char32_t last = next();
    if (last == '[' || (last == '&' && peek() == '&')) unsupported(begin);
    if (last == '\\') {
      const char32_t c = next();
      if (read_class_escape(c, begin)) unsupported(begin);
      last = c == 'b' ? U'\b' : read_character_escape(c, begin);
    }
    if (last < first) malformed("a range whose end comes before its beginning");
    return last;
  }

  std::string_view utf8_;
  std::string_view where_;
  std::u32string text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::u32string literals_;  // the characters just read, one after the other, where case does not count
  RegexPattern pattern_;
};

}  // namespace

RegexPattern parse_regex(std::string_view utf8, std::string_view where) {
  if (utf8.size() > kMaxPattern) {
    throw BadFile(std::string(where) + " has " + std::to_string(utf8.size()) + " bytes; a pattern may have " +
                  std::to_string(kMaxPattern));
  }
  return PatternParser(utf8, where).parse();
}

}  // namespace sightline::tokenizer
