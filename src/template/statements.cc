// The interpreter's statements; its expressions are in expressions.cc.
#include <algorithm>

#include "src/template/globals.h"
#include "src/template/interpreter.h"

namespace sightline::jinja {

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    const auto found = scope->values_.find(name);
    if (found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

Interpreter::~Interpreter() {
  // Namespaces may hold one another's lists, and scopes what holds scopes: nothing here is owned twice.
  for (const auto& names : namespaces_) names->attributes.clear();
}

Namespace* Interpreter::make_namespace() {
  budget_.make(sizeof(Namespace));
  namespaces_.push_back(std::make_unique<Namespace>());
  return namespaces_.back().get();
}

Text Interpreter::run(const Body& body, const std::vector<std::pair<std::string, Value>>& names) {
  const auto globals = std::make_shared<Scope>();
  for (const GlobalFunction& function : global_functions()) globals->set(function.name, function.value);
  const auto given = std::make_shared<Scope>(globals);
  for (const auto& [name, value] : names) given->set(name, value);
  TextBuilder out;
  execute(body, std::make_shared<Scope>(given), out);
  return out.take();
}

class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& interpreter) : depth_(interpreter.depth_) {
    if (depth_ >= interpreter.budget_.limits().depth) {
      throw Fault{Fault::Kind::runaway, "macros or expressions are nested too deeply"};
    }
    ++depth_;
    interpreter.budget_.spend();
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  std::size_t& depth_;
};

Value Interpreter::evaluate(const Expression& expression, const ScopePtr& scope) {
  const Depth depth(*this);
  return evaluate_here(expression, scope);
}

Interpreter::Flow Interpreter::execute(const Body& body, const ScopePtr& scope, TextBuilder& out) {
  const Depth depth(*this);
  for (const Statement& statement : body) {
    const Flow flow = execute(statement, scope, out);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, const ScopePtr& scope, TextBuilder& out) {
  using Kind = Statement::Kind;
  line_ = statement.line;
  budget_.spend();
  switch (statement.kind) {
    case Kind::text:
      out.append(statement.name);
      budget_.make(statement.name.size());
      budget_.check_text(out.size());
      break;
    case Kind::print:
      print(evaluate(*statement.value, scope), out);
      break;
    case Kind::branch:
      return branch(statement, scope, out);
    case Kind::loop:
      return loop(statement, scope, out);
    case Kind::set:
      assign(statement.target, evaluate(*statement.value, scope), scope);
      break;
    case Kind::set_block:
      assign(statement.target, filtered_block(statement, scope), scope);
      break;
    case Kind::macro:
      scope->set(statement.name, make_macro(statement, scope));
      break;
    case Kind::call:
      call_block(statement, scope, out);
      break;
    case Kind::filter:
      print(filtered_block(statement, scope), out);
      break;
    case Kind::with:
      with(statement, scope, out);
      break;
    case Kind::inner:
      print(capture(statement.bodies[0], scope), out);
      break;
    case Kind::leave:
      return Flow::leave;
    case Kind::next:
      return Flow::next;
  }
  return Flow::on;
}

void Interpreter::print(const Value& value, TextBuilder& out) {
  const Text text = to_text(value, budget_);
  budget_.make(text.size());
  budget_.check_text(out.size() + text.size());
  out.append(text);
}

Interpreter::Flow Interpreter::branch(const Statement& statement, const ScopePtr& scope, TextBuilder& out) {
  std::size_t i = 0;
  while (i < statement.conditions.size() && !evaluate(*statement.conditions[i], scope).truth()) ++i;
  return i < statement.bodies.size() ? execute(statement.bodies[i], scope, out) : Flow::on;
}

Interpreter::Flow Interpreter::loop(const Statement& statement, const ScopePtr& scope, TextBuilder& out) {
  const auto state = std::make_shared<Loop>();
  state->source = items_of(evaluate(*statement.value, scope), budget_);
  if (!statement.conditions.empty()) {
    state->accepts = [this, &statement, &scope](const Value& item) {
      const auto round = std::make_shared<Scope>(scope);
      assign(statement.target, item, round);
      return evaluate(*statement.conditions[0], round).truth();
    };
  }
  // Who kept the variable `loop` may not ask it for more items afterwards.
  struct End {
    Loop& loop;
    ~End() {
      loop.accepts = nullptr;
      loop.next_source = loop.source.size();
    }
  } end{*state};
  // As in Jinja: `else` is for a loop of which no round was gone through to its end, `continue` and `break` count.
  if (rounds(statement, scope, state, out) || statement.bodies.size() < 2) return Flow::on;
  return execute(statement.bodies[1], std::make_shared<Scope>(scope), out);
}

bool Interpreter::rounds(const Statement& statement, const ScopePtr& scope, const std::shared_ptr<Loop>& state,
                         TextBuilder& out) {
  bool completed = false;
  for (state->position = 0; state->reaches(state->position); ++state->position) {
    const auto round = std::make_shared<Scope>(scope);
    round->set("loop", state);
    assign(statement.target, state->accepted[state->position], round);
    const Flow flow = execute(statement.bodies[0], round, out);
    if (flow == Flow::leave) break;
    completed = completed || flow == Flow::on;
  }
  return completed;
}

void Interpreter::with(const Statement& statement, const ScopePtr& scope, TextBuilder& out) {
  const auto inner = std::make_shared<Scope>(scope);
  for (std::size_t i = 0; i < statement.defaults.size(); ++i) {
    assign(statement.target.parts[i], evaluate(*statement.defaults[i], scope), inner);
  }
  execute(statement.bodies[0], inner, out);
}

Value Interpreter::capture(const Body& body, const ScopePtr& scope) {
  TextBuilder out;
  execute(body, std::make_shared<Scope>(scope), out);
  return out.take();
}

Value Interpreter::filtered_block(const Statement& statement, const ScopePtr& scope) {
  Value text = capture(statement.bodies[0], scope);
  std::swap(text, captured_);
  Value result = evaluate(*statement.value, scope);
  captured_ = std::move(text);
  return result;
}

void Interpreter::assign(const Target& target, const Value& value, const ScopePtr& scope) {
  if (!target.parts.empty()) {
    const std::vector<Value> items = items_of(value, budget_);
    if (items.size() != target.parts.size()) {
      fail("there are " + std::to_string(items.size()) + " values for " + std::to_string(target.parts.size()) +
           " names");
    }
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
  } else if (target.attribute.empty()) {
    scope->set(target.name, value);
  } else {
    const Value* object = scope->find(target.name);
    Namespace* names = object == nullptr ? nullptr : object->as_namespace();
    if (names == nullptr) fail("'" + target.name + "' is no namespace: its attributes cannot be set");
    budget_.spend(names->attributes.size() / 8);
    names->set(target.attribute, value);
  }
}

Value Interpreter::make_macro(const Statement& statement, const ScopePtr& scope) {
  if (defining_.empty() || defining_.back() != scope) {
    budget_.make(sizeof(Scope) + sizeof(Value));
    defining_.push_back(scope);
  }
  Scope* defined_in = scope.get();
  return Function{statement.name, [&statement, defined_in](Interpreter& interpreter, const Arguments& arguments) {
                    return interpreter.run_macro(statement, defined_in, arguments);
                  }};
}

Value Interpreter::run_macro(const Statement& macro, Scope* defined_in, const Arguments& arguments) {
  const auto scope = std::make_shared<Scope>(ScopePtr(ScopePtr(), defined_in));
  const std::vector<std::string>& names = macro.parameters;
  if (arguments.positional.size() > names.size()) fail("the macro '" + macro.name + "' is given too many arguments");
  std::vector<const Value*> given(names.size(), nullptr);
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) given[i] = &arguments.positional[i];
  for (const auto& [given_name, value] : arguments.named) {
    const std::string& name = given_name.bytes();
    const std::size_t i = std::find(names.begin(), names.end(), name) - names.begin();
    if (i == names.size() && name != "caller") fail("the macro '" + macro.name + "' has no parameter '" + name + "'");
    if (i == names.size()) {
      scope->set("caller", value);
    } else if (given[i] != nullptr) {
      fail("the macro '" + macro.name + "' is given '" + name + "' twice");
    } else {
      given[i] = &value;
    }
  }
  const int line = line_;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t first_default = names.size() - macro.defaults.size();
    if (given[i] != nullptr) {
      scope->set(names[i], *given[i]);
    } else if (i >= first_default) {
      scope->set(names[i], evaluate(*macro.defaults[i - first_default], scope));
    } else {
      scope->set(names[i], Value::undefined("parameter '" + names[i] + "' was not given"));
    }
  }
  Value text = capture(macro.bodies[0], scope);
  line_ = line;
  return text;
}

void Interpreter::call_block(const Statement& statement, const ScopePtr& scope, TextBuilder& out) {
  const Expression& called = *statement.value;
  const Value callee = evaluate(*called.parts[0], scope);
  Arguments arguments = evaluate(called.arguments, scope);
  arguments.named.emplace_back(Text("caller"), make_macro(statement, scope));
  print(call(callee, arguments), out);
}

}  // namespace sightline::jinja
