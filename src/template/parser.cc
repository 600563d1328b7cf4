#include <algorithm>
#include <array>
#include <initializer_list>

#include "src/template/expression_parser.h"
#include "src/template/syntax.h"

namespace sightline::jinja {
namespace {

using Kind = Statement::Kind;
using Type = Token::Type;

// What Jinja has, and templates of chats have no use for.
constexpr std::array<std::string_view, 9> kUnsupportedTags = {"include", "import", "from",  "extends",   "block",
                                                              "do",      "debug",  "trans", "autoescape"};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Body run() {
    Body body = parse_body({});
    if (!tokens_.is(Type::end)) tokens_.fail("unexpected '" + tokens_.current().text + "'");
    return body;
  }

 private:
  Statement make(Kind kind) const {
    Statement statement;
    statement.kind = kind;
    statement.line = tokens_.line();
    return statement;
  }

  bool at_any(std::initializer_list<std::string_view> names) const {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return tokens_.is_name(name); });
  }

  void end_tag() { tokens_.expect(Type::block_end, "the end of the tag"); }

  // Statements up to a tag that begins with one of `ends`, whose name is the next token.
  Body parse_body(std::initializer_list<std::string_view> ends) {
    const Nested nested(depth_, tokens_);
    Body body;
    while (!tokens_.is(Type::end)) {
      if (tokens_.is(Type::data)) {
        body.push_back(make(Kind::text));
        body.back().name = tokens_.next().text;
      } else if (tokens_.is(Type::variable_begin)) {
        tokens_.next();
        body.push_back(make(Kind::print));
        body.back().value = expressions_.parse_tuple();
        tokens_.expect(Type::variable_end, "the end of the tag");
      } else {
        tokens_.expect(Type::block_begin, "a tag");
        if (at_any(ends)) return body;
        parse_tag(body);
      }
    }
    if (ends.size() > 0) tokens_.fail_expected("'" + std::string(*ends.begin()) + "'");
    return body;
  }

  // The rest of a tag and what stands up to its end.
  Body parse_inside(std::string_view end) {
    end_tag();
    Body body = parse_body({end});
    tokens_.next();
    end_tag();
    return body;
  }

  void parse_tag(Body& body) {
    using Rule = Statement (Parser::*)();
    constexpr std::pair<std::string_view, Rule> kTags[] = {
        {"if", &Parser::parse_if},       {"for", &Parser::parse_for},
        {"set", &Parser::parse_set},     {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call},   {"filter", &Parser::parse_filter},
        {"with", &Parser::parse_with},   {"generation", &Parser::parse_generation},
        {"break", &Parser::parse_break}, {"continue", &Parser::parse_continue},
    };
    const std::string name = tokens_.expect_any_name();
    for (const auto& [tag, rule] : kTags) {
      if (name != tag) continue;
      body.push_back((this->*rule)());
      return;
    }
    const bool known = std::find(kUnsupportedTags.begin(), kUnsupportedTags.end(), name) != kUnsupportedTags.end();
    if (!known && name.starts_with("end")) tokens_.fail("unexpected '" + name + "'");
    tokens_.fail_unsupported("the tag '" + name + "'");
  }

  Statement parse_if() {
    Statement statement = make(Kind::branch);
    do {
      statement.conditions.push_back(expressions_.parse_tuple(false));
      end_tag();
      statement.bodies.push_back(parse_body({"endif", "elif", "else"}));
    } while (tokens_.take_name("elif"));
    if (tokens_.take_name("else")) {
      end_tag();
      statement.bodies.push_back(parse_body({"endif"}));
    }
    tokens_.expect_name("endif");
    end_tag();
    return statement;
  }

  Statement parse_for() {
    Statement statement = make(Kind::loop);
    statement.target = expressions_.parse_target(false);
    tokens_.expect_name("in");
    statement.value = expressions_.parse_tuple(false);
    if (tokens_.take_name("if")) statement.conditions.push_back(expressions_.parse());
    if (tokens_.is_name("recursive")) tokens_.fail_unsupported("a 'for' that is recursive");
    end_tag();
    ++loops_;
    statement.bodies.push_back(parse_body({"endfor", "else"}));
    --loops_;
    if (tokens_.take_name("else")) {
      end_tag();
      statement.bodies.push_back(parse_body({"endfor"}));
    }
    tokens_.expect_name("endfor");
    end_tag();
    return statement;
  }

  Statement parse_set() {
    Statement statement = make(Kind::set);
    statement.target = expressions_.parse_target(true);
    if (tokens_.take_symbol("=")) {
      statement.value = expressions_.parse_tuple();
      end_tag();
      return statement;
    }
    statement.kind = Kind::set_block;
    statement.value = expressions_.parse_block_filters(false);
    statement.bodies.push_back(parse_apart("endset"));
    return statement;
  }

  // Inside a macro, or a block whose text is taken, there is no loop to leave.
  Body parse_apart(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = parse_inside(end);
    loops_ = loops;
    return body;
  }

  void parse_signature(Statement& statement) {
    tokens_.expect_symbol("(");
    for (bool first = true; !tokens_.is_symbol(")"); first = false) {
      if (!first) tokens_.expect_symbol(",");
      statement.parameters.push_back(tokens_.expect_any_name());
      if (tokens_.take_symbol("=")) {
        statement.defaults.push_back(expressions_.parse());
      } else if (!statement.defaults.empty()) {
        tokens_.fail("a parameter without a default follows one with a default");
      }
    }
    tokens_.expect_symbol(")");
  }

  Statement parse_macro() {
    Statement statement = make(Kind::macro);
    statement.name = tokens_.expect_any_name();
    parse_signature(statement);
    statement.bodies.push_back(parse_apart("endmacro"));
    return statement;
  }

  Statement parse_call() {
    Statement statement = make(Kind::call);
    if (tokens_.is_symbol("(")) parse_signature(statement);
    statement.value = expressions_.parse();
    if (statement.value->kind != Expression::Kind::call) tokens_.fail_expected("a call");
    statement.bodies.push_back(parse_apart("endcall"));
    return statement;
  }

  Statement parse_filter() {
    Statement statement = make(Kind::filter);
    statement.value = expressions_.parse_block_filters(true);
    statement.bodies.push_back(parse_apart("endfilter"));
    return statement;
  }

  Statement parse_with() {
    Statement statement = make(Kind::with);
    while (!tokens_.is(Type::block_end)) {
      if (!statement.defaults.empty()) tokens_.expect_symbol(",");
      statement.target.parts.push_back(expressions_.parse_target(false));
      tokens_.expect_symbol("=");
      statement.defaults.push_back(expressions_.parse());
    }
    statement.bodies.push_back(parse_inside("endwith"));
    return statement;
  }

  Statement parse_generation() {
    Statement statement = make(Kind::inner);
    statement.bodies.push_back(parse_apart("endgeneration"));
    return statement;
  }

  Statement parse_break() { return parse_jump(Kind::leave, "break"); }
  Statement parse_continue() { return parse_jump(Kind::next, "continue"); }

  Statement parse_jump(Kind kind, const char* name) {
    if (loops_ == 0) tokens_.fail("'" + std::string(name) + "' outside a loop");
    Statement statement = make(kind);
    end_tag();
    return statement;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  std::size_t depth_ = 0;
  int loops_ = 0;
};

}  // namespace

Body parse_template(std::string_view source) { return Parser(lex(source)).run(); }

}  // namespace sightline::jinja
