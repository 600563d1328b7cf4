#ifndef SIGHTLINE_TEMPLATE_INTERPRETER_H_
#define SIGHTLINE_TEMPLATE_INTERPRETER_H_

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/template/function.h"
#include "src/template/loop.h"
#include "src/template/syntax.h"

namespace sightline::jinja {

/// Names of a template, a loop's round, a macro's call; what is not among them is looked for in the parent. Names point
/// into the template or what it was given.
class Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent = nullptr) : parent_(std::move(parent)) {}
  void set(std::string_view name, Value value) { values_.insert_or_assign(name, std::move(value)); }
  const Value* find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, Value> values_;
  std::shared_ptr<Scope> parent_;
};
using ScopePtr = std::shared_ptr<Scope>;

/// Runs one template once.
class Interpreter {
 public:
  Interpreter(const Limits& limits, const std::tm& now) : budget_(limits), now_(now) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// `names` are what the template is given. Throws Fault; line() is where.
  Text run(const Body& body, const std::vector<std::pair<std::string, Value>>& names);

  Budget& budget() { return budget_; }
  int line() const { return line_; }
  const std::tm& now() const { return now_; }
  Namespace* make_namespace();

  Value call(const Value& callee, const Arguments& arguments);
  Value attribute(const Value& object, std::string_view name);  // object.name
  Value item(const Value& object, const Value& key);            // object[key]
  Value evaluate(const Expression& expression, const ScopePtr& scope);

 private:
  enum class Flow : std::uint8_t { on, leave, next };
  class Depth;

  Flow execute(const Body& body, const ScopePtr& scope, TextBuilder& out);
  Flow execute(const Statement& statement, const ScopePtr& scope, TextBuilder& out);
  Flow branch(const Statement& statement, const ScopePtr& scope, TextBuilder& out);
  Flow loop(const Statement& statement, const ScopePtr& scope, TextBuilder& out);
  bool rounds(const Statement& statement, const ScopePtr& scope, const std::shared_ptr<Loop>& state, TextBuilder& out);
  void with(const Statement& statement, const ScopePtr& scope, TextBuilder& out);
  void print(const Value& value, TextBuilder& out);
  Value capture(const Body& body, const ScopePtr& scope);
  Value filtered_block(const Statement& statement, const ScopePtr& scope);
  void call_block(const Statement& statement, const ScopePtr& scope, TextBuilder& out);
  void assign(const Target& target, const Value& value, const ScopePtr& scope);
  Value make_macro(const Statement& statement, const ScopePtr& scope);
  Value run_macro(const Statement& macro, Scope* defined_in, const Arguments& arguments);

  Value evaluate_here(const Expression& expression, const ScopePtr& scope);
  Value name(const Expression& expression, const ScopePtr& scope);
  Value dict(const Expression& expression, const ScopePtr& scope);
  Value compare(const Expression& expression, const ScopePtr& scope);
  Value concat(const Expression& expression, const ScopePtr& scope);
  Value conditional(const Expression& expression, const ScopePtr& scope);
  Value slice_of(const Expression& expression, const ScopePtr& scope);
  Value call_of(const Expression& expression, const ScopePtr& scope);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& parts, const ScopePtr& scope);
  Arguments evaluate(const CallArguments& arguments, const ScopePtr& scope);

  Budget budget_;
  std::tm now_;
  int line_ = 1;
  std::size_t depth_ = 0;
  Value captured_;  // the text of the block that is being filtered
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  std::vector<ScopePtr> defining_;  // scopes of macros, which do not own them: a macro is in its own scope
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_INTERPRETER_H_
