#ifndef SIGHTLINE_TEMPLATE_EXPRESSION_PARSER_H_
#define SIGHTLINE_TEMPLATE_EXPRESSION_PARSER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/template/syntax.h"
#include "src/template/token_stream.h"

namespace sightline::jinja {

/// Jinja's expressions, each rule by the rank of its operators: `~` binds more tightly than `+`, and filters more than
/// signs.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr parse(bool with_conditional = true);
  /// An expression or, with commas, a tuple. It ends where the tag or a bracket does.
  ExpressionPtr parse_tuple(bool with_conditional = true, bool in_parentheses = false);
  /// Filters applied to the text of a block, `|` first where that was not read yet.
  ExpressionPtr parse_block_filters(bool name_first);
  ExpressionPtr parse_unary(bool with_filters = true);
  Target parse_target(bool with_attribute);

 private:
  using Node = std::unique_ptr<Expression>;
  using Rule = ExpressionPtr (ExpressionParser::*)();

  Node make(Expression::Kind kind) const;
  ExpressionPtr finish(Node node) const;
  ExpressionPtr make_pair(Expression::Kind kind, std::string name, ExpressionPtr left, ExpressionPtr right) const;

  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_binary(const std::vector<std::string_view>& operators, Rule operand);
  std::string take_comparison();

  ExpressionPtr parse_primary();
  ExpressionPtr parse_name();
  ExpressionPtr parse_number();
  ExpressionPtr parse_string();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_filters(ExpressionPtr node);
  ExpressionPtr parse_filter(ExpressionPtr input);
  ExpressionPtr parse_test(ExpressionPtr input);
  ExpressionPtr parse_attribute(ExpressionPtr object);
  ExpressionPtr parse_item(ExpressionPtr object);
  ExpressionPtr parse_slice(ExpressionPtr object, ExpressionPtr begin);
  ExpressionPtr parse_call(ExpressionPtr callee);
  CallArguments parse_arguments();
  std::string parse_dotted_name();
  bool begins_test_argument() const;

  TokenStream& tokens_;
  std::size_t depth_ = 0;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_EXPRESSION_PARSER_H_
