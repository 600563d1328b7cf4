#include "src/template/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "src/template/filters.h"
#include "src/template/predicates.h"

namespace sightline::jinja {
namespace {

using Kind = Expression::Kind;
using Type = Token::Type;

// Trees may be deeper than the parser is: a + b + c + ... leans to the left.
constexpr std::size_t kMaxTreeDepth = 400;

std::size_t depth_of(const ExpressionPtr& part) { return part == nullptr ? 0 : part->depth; }

std::size_t depth_within(const Expression& node) {
  std::size_t depth = std::max(depth_of(node.arguments.star), depth_of(node.arguments.double_star));
  for (const ExpressionPtr& part : node.parts) depth = std::max(depth, depth_of(part));
  for (const ExpressionPtr& part : node.arguments.positional) depth = std::max(depth, depth_of(part));
  for (const auto& [name, part] : node.arguments.named) depth = std::max(depth, depth_of(part));
  return depth;
}

}  // namespace

ExpressionParser::Node ExpressionParser::make(Kind kind) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = tokens_.line();
  return node;
}

ExpressionPtr ExpressionParser::finish(Node node) const {
  node->depth = depth_within(*node) + 1;
  if (node->depth > kMaxTreeDepth) tokens_.fail("an expression of too many parts");
  return node;
}

ExpressionPtr ExpressionParser::make_pair(Kind kind, std::string name, ExpressionPtr left, ExpressionPtr right) const {
  Node node = make(kind);
  node->name = std::move(name);
  node->parts.push_back(std::move(left));
  if (right != nullptr) node->parts.push_back(std::move(right));
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse(bool with_conditional) {
  const Nested nested(depth_, tokens_);
  return with_conditional ? parse_conditional() : parse_or();
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, bool in_parentheses) {
  Node tuple = make(Kind::tuple);
  bool has_comma = false;
  const auto ends = [&] {
    return tokens_.is(Type::variable_end) || tokens_.is(Type::block_end) || tokens_.is_symbol(")");
  };
  while (!ends()) {
    tuple->parts.push_back(parse(with_conditional));
    if (!tokens_.take_symbol(",")) break;
    has_comma = true;
  }
  if (!has_comma && !tuple->parts.empty()) return std::move(tuple->parts[0]);
  if (tuple->parts.empty() && !in_parentheses) tokens_.fail_expected("an expression");
  return finish(std::move(tuple));
}

ExpressionPtr ExpressionParser::parse_conditional() {
  ExpressionPtr value = parse_or();
  while (tokens_.take_name("if")) {
    Node node = make(Kind::conditional);
    node->parts.push_back(std::move(value));
    node->parts.push_back(parse_or());
    const Nested nested(depth_, tokens_);
    node->parts.push_back(tokens_.take_name("else") ? parse_conditional() : nullptr);
    value = finish(std::move(node));
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (tokens_.take_name("or")) left = make_pair(Kind::logical_or, "", std::move(left), parse_and());
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (tokens_.take_name("and")) left = make_pair(Kind::logical_and, "", std::move(left), parse_not());
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.take_name("not")) return parse_compare();
  const Nested nested(depth_, tokens_);
  return make_pair(Kind::logical_not, "", parse_not(), nullptr);
}

std::string ExpressionParser::take_comparison() {
  for (const std::string_view symbol : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (tokens_.take_symbol(symbol)) return std::string(symbol);
  }
  if (tokens_.take_name("in")) return "in";
  const Token& ahead = tokens_.ahead();
  if (!tokens_.is_name("not") || ahead.type != Type::name || ahead.text != "in") return "";
  tokens_.next();
  tokens_.next();
  return "not in";
}

ExpressionPtr ExpressionParser::parse_compare() {
  ExpressionPtr first = parse_sum();
  std::string operation = take_comparison();
  if (operation.empty()) return first;
  Node node = make(Kind::compare);
  node->parts.push_back(std::move(first));
  for (; !operation.empty(); operation = take_comparison()) {
    node->operations.push_back(std::move(operation));
    node->parts.push_back(parse_sum());
  }
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_binary(const std::vector<std::string_view>& operators, Rule operand) {
  ExpressionPtr left = (this->*operand)();
  while (tokens_.is(Type::symbol) &&
         std::find(operators.begin(), operators.end(), tokens_.current().text) != operators.end()) {
    std::string name = tokens_.next().text;
    left = make_pair(Kind::binary, std::move(name), std::move(left), (this->*operand)());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_sum() { return parse_binary({"+", "-"}, &ExpressionParser::parse_concat); }

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!tokens_.is_symbol("~")) return first;
  Node node = make(Kind::concat);
  node->parts.push_back(std::move(first));
  while (tokens_.take_symbol("~")) node->parts.push_back(parse_product());
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_product() {
  return parse_binary({"*", "/", "//", "%"}, &ExpressionParser::parse_power);
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary();
  while (tokens_.take_symbol("**")) left = make_pair(Kind::binary, "**", std::move(left), parse_unary());
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  const Nested nested(depth_, tokens_);
  ExpressionPtr node;
  if (tokens_.take_symbol("-")) {
    node = make_pair(Kind::negation, "", parse_unary(false), nullptr);
  } else if (tokens_.take_symbol("+")) {
    node = make_pair(Kind::plus, "", parse_unary(false), nullptr);
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::parse_primary() {
  switch (tokens_.current().type) {
    case Type::name:
      return parse_name();
    case Type::string:
      return parse_string();
    case Type::integer:
    case Type::real:
      return parse_number();
    default:
      break;
  }
  if (tokens_.is_symbol("[")) return parse_list();
  if (tokens_.is_symbol("{")) return parse_dict();
  if (!tokens_.take_symbol("(")) tokens_.fail_expected("an expression");
  ExpressionPtr inside = parse_tuple(true, true);
  tokens_.expect_symbol(")");
  return inside;
}

ExpressionPtr ExpressionParser::parse_name() {
  Node node = make(Kind::name);
  node->name = tokens_.next().text;
  const std::string& name = node->name;
  const bool is_true = name == "true" || name == "True", is_false = name == "false" || name == "False";
  if (is_true || is_false || name == "none" || name == "None") {
    node->kind = Kind::constant;
    node->constant = is_true || is_false ? Value(is_true) : Value(None{});
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_number() {
  Node node = make(Kind::constant);
  const Token token = tokens_.next();
  const char* end = token.text.data() + token.text.size();
  if (token.type == Type::real) {
    node->constant = Value(std::strtod(token.text.c_str(), nullptr));
  } else {
    std::int64_t value = 0;
    if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
      throw SourceFault{token.line, "an integer of more than 64 bits", true};
    }
    node->constant = Value(value);
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_string() {
  Node node = make(Kind::constant);
  std::string text;
  while (tokens_.is(Type::string)) text += tokens_.next().text;
  node->constant = Value::text(text);
  return node;
}

ExpressionPtr ExpressionParser::parse_list() {
  Node node = make(Kind::list);
  tokens_.expect_symbol("[");
  while (!tokens_.is_symbol("]")) {
    if (!node->parts.empty()) tokens_.expect_symbol(",");
    if (tokens_.is_symbol("]")) break;
    node->parts.push_back(parse());
  }
  tokens_.expect_symbol("]");
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
  Node node = make(Kind::dict);
  tokens_.expect_symbol("{");
  while (!tokens_.is_symbol("}")) {
    if (!node->parts.empty()) tokens_.expect_symbol(",");
    if (tokens_.is_symbol("}")) break;
    node->parts.push_back(parse());
    tokens_.expect_symbol(":");
    node->parts.push_back(parse());
  }
  tokens_.expect_symbol("}");
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
  while (true) {
    if (tokens_.is_symbol(".")) {
      node = parse_attribute(std::move(node));
    } else if (tokens_.is_symbol("[")) {
      node = parse_item(std::move(node));
    } else if (tokens_.is_symbol("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr node) {
  while (true) {
    if (tokens_.take_symbol("|")) {
      node = parse_filter(std::move(node));
    } else if (tokens_.take_name("is")) {
      node = parse_test(std::move(node));
    } else if (tokens_.is_symbol("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = tokens_.expect_any_name();
  while (tokens_.take_symbol(".")) name += "." + tokens_.expect_any_name();
  return name;
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr input) {
  Node node = make(Kind::filter);
  node->name = parse_dotted_name();
  node->filter = find_filter(node->name);
  if (node->filter == nullptr) throw SourceFault{node->line, "the filter '" + node->name + "'", true};
  node->parts.push_back(std::move(input));
  if (tokens_.is_symbol("(")) node->arguments = parse_arguments();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_block_filters(bool name_first) {
  ExpressionPtr node = make(Kind::captured);
  if (name_first) node = parse_filter(std::move(node));
  while (tokens_.take_symbol("|")) node = parse_filter(std::move(node));
  return node;
}

bool ExpressionParser::begins_test_argument() const {
  const Type type = tokens_.current().type;
  if (type == Type::name) return !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and");
  return type == Type::string || type == Type::integer || type == Type::real || tokens_.is_symbol("[") ||
         tokens_.is_symbol("{");
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr input) {
  const bool negated = tokens_.take_name("not");
  Node node = make(Kind::test);
  node->name = parse_dotted_name();
  node->test = find_test(node->name);
  if (node->test == nullptr) throw SourceFault{node->line, "the test '" + node->name + "'", true};
  node->parts.push_back(std::move(input));
  if (tokens_.is_symbol("(")) {
    node->arguments = parse_arguments();
  } else if (begins_test_argument()) {
    if (tokens_.is_name("is")) tokens_.fail("tests with 'is' cannot follow one another");
    node->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  ExpressionPtr test = finish(std::move(node));
  return negated ? make_pair(Kind::logical_not, "", std::move(test), nullptr) : std::move(test);
}

ExpressionPtr ExpressionParser::parse_attribute(ExpressionPtr object) {
  tokens_.expect_symbol(".");
  if (tokens_.is(Type::integer)) return make_pair(Kind::item, "", std::move(object), parse_number());
  Node node = make(Kind::attribute);
  node->name = tokens_.expect_any_name();
  node->parts.push_back(std::move(object));
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_item(ExpressionPtr object) {
  tokens_.expect_symbol("[");
  ExpressionPtr key = tokens_.is_symbol(":") ? nullptr : parse();
  ExpressionPtr node;
  if (tokens_.is_symbol(":")) {
    node = parse_slice(std::move(object), std::move(key));
  } else {
    node = make_pair(Kind::item, "", std::move(object), std::move(key));
  }
  if (tokens_.is_symbol(",")) tokens_.fail_unsupported("several indexes in one pair of brackets");
  tokens_.expect_symbol("]");
  return node;
}

ExpressionPtr ExpressionParser::parse_slice(ExpressionPtr object, ExpressionPtr begin) {
  Node node = make(Kind::slice);
  node->parts.push_back(std::move(object));
  node->parts.push_back(std::move(begin));
  for (int part = 0; part < 2; ++part) {
    const bool given = tokens_.take_symbol(":") && !tokens_.is_symbol(":") && !tokens_.is_symbol("]");
    node->parts.push_back(given ? parse() : nullptr);
  }
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
  Node node = make(Kind::call);
  node->parts.push_back(std::move(callee));
  node->arguments = parse_arguments();
  return finish(std::move(node));
}

CallArguments ExpressionParser::parse_arguments() {
  CallArguments arguments;
  tokens_.expect_symbol("(");
  for (bool first = true; !tokens_.is_symbol(")"); first = false) {
    if (!first) tokens_.expect_symbol(",");
    if (!first && tokens_.is_symbol(")")) break;
    const bool named = tokens_.is(Type::name) && tokens_.ahead().type == Type::symbol && tokens_.ahead().text == "=";
    if (tokens_.take_symbol("**")) {
      if (arguments.double_star != nullptr) tokens_.fail("'**' twice");
      arguments.double_star = parse();
    } else if (tokens_.take_symbol("*")) {
      if (arguments.star != nullptr) tokens_.fail("'*' twice");
      arguments.star = parse();
    } else if (named) {
      std::string name = tokens_.next().text;
      tokens_.expect_symbol("=");
      arguments.named.emplace_back(std::move(name), parse());
    } else {
      if (!arguments.named.empty() || arguments.double_star) tokens_.fail("an argument follows one with a name");
      arguments.positional.push_back(parse());
    }
  }
  tokens_.expect_symbol(")");
  return arguments;
}

Target ExpressionParser::parse_target(bool with_attribute) {
  const Nested nested(depth_, tokens_);
  Target target;
  const auto parse_one = [&] {
    Target one;
    if (tokens_.take_symbol("(")) {
      one = parse_target(false);
      tokens_.expect_symbol(")");
      return one;
    }
    one.name = tokens_.expect_any_name();
    for (const char* constant : {"true", "false", "none", "True", "False", "None"}) {
      if (one.name == constant) tokens_.fail("'" + one.name + "' cannot be assigned to");
    }
    if (with_attribute && tokens_.take_symbol(".")) one.attribute = tokens_.expect_any_name();
    return one;
  };
  target = parse_one();
  if (!tokens_.is_symbol(",")) return target;
  Target tuple;
  tuple.parts.push_back(std::move(target));
  while (tokens_.take_symbol(",")) {
    if (!tokens_.is(Type::name) && !tokens_.is_symbol("(")) break;
    if (tokens_.is_name("in")) break;
    tuple.parts.push_back(parse_one());
  }
  return tuple;
}

}  // namespace sightline::jinja
