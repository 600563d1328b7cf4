#ifndef SIGHTLINE_TEMPLATE_TOKEN_STREAM_H_
#define SIGHTLINE_TEMPLATE_TOKEN_STREAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/template/budget.h"
#include "src/template/lexer.h"

namespace sightline::jinja {

/// Tokens read from the left; the last is of type end and stays.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + (at_ + 1 < tokens_.size() ? 1 : 0)]; }
  int line() const { return current().line; }
  bool is(Token::Type type) const { return current().type == type; }
  bool is_symbol(std::string_view text) const { return is(Token::Type::symbol) && current().text == text; }
  bool is_name(std::string_view text) const { return is(Token::Type::name) && current().text == text; }

  Token next() {
    const Token token = current();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool take_symbol(std::string_view text) { return is_symbol(text) && (next(), true); }
  bool take_name(std::string_view text) { return is_name(text) && (next(), true); }
  void expect_symbol(std::string_view text) {
    if (!take_symbol(text)) fail_expected("'" + std::string(text) + "'");
  }
  void expect_name(std::string_view text) {
    if (!take_name(text)) fail_expected("'" + std::string(text) + "'");
  }
  std::string expect_any_name() {
    if (!is(Token::Type::name)) fail_expected("a name");
    return next().text;
  }
  void expect(Token::Type type, std::string_view what) {
    if (!is(type)) fail_expected(std::string(what));
    next();
  }

  [[noreturn]] void fail(std::string message) const { throw SourceFault{line(), std::move(message)}; }
  [[noreturn]] void fail_unsupported(std::string message) const { throw SourceFault{line(), std::move(message), true}; }
  [[noreturn]] void fail_expected(const std::string& what) const {
    const bool is_tag_end = is(Token::Type::block_end) || is(Token::Type::variable_end);
    const std::string found = is(Token::Type::end) ? "the end"
                              : is_tag_end         ? "the end of the tag"
                                                   : "'" + current().text + "'";
    fail("expected " + what + ", not " + found);
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

/// Counts how deeply the parser is within itself.
class Nested {
 public:
  Nested(std::size_t& depth, const TokenStream& tokens) : depth_(depth) {
    if (++depth_ > kMaxNesting) {
      --depth_;
      tokens.fail("nested too deeply");
    }
  }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  std::size_t& depth_;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_TOKEN_STREAM_H_
