#ifndef SIGHTLINE_TEMPLATE_SYNTAX_H_
#define SIGHTLINE_TEMPLATE_SYNTAX_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/template/function.h"
#include "src/template/value.h"

namespace sightline::jinja {

using Filter = Value (*)(Interpreter&, const Value& input, const Arguments&);
using Test = bool (*)(Interpreter&, const Value& input, const Arguments&);

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, double_star;  // *list, **dict; null where absent
};

struct Expression {
  enum class Kind : std::uint8_t {
    constant,
    name,
    list,      // parts
    tuple,     // parts
    dict,      // parts: key, value, key, value, ...
    negation,  // -parts[0]
    plus,      // +parts[0]
    logical_not,
    logical_and,  // parts[0], parts[1]
    logical_or,
    binary,       // parts[0] name parts[1]
    compare,      // parts[0] operations[0] parts[1] operations[1] ...
    concat,       // parts, joined by ~
    conditional,  // parts[0] if parts[1] else parts[2], which may be null
    attribute,    // parts[0].name
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]], each of these may be null
    call,         // parts[0](arguments)
    filter,       // parts[0] | name(arguments)
    test,         // parts[0] is name(arguments)
    captured,     // the text of the block that a filter stands for
  };
  Kind kind = Kind::constant;
  int line = 1;
  std::size_t depth = 1;  // of the tree
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> operations;
  CallArguments arguments;
  Filter filter = nullptr;
  Test test = nullptr;
};

/// What is assigned to: a name, an attribute of a namespace (`name.attribute`), or a tuple of targets.
struct Target {
  std::string name, attribute;
  std::vector<Target> parts;  // not empty: a tuple
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  enum class Kind : std::uint8_t {
    text,       // name
    print,      // value
    branch,     // the first of conditions that holds selects a body; the last body may have none
    loop,       // target in value if conditions[0] (may be absent); bodies[0], else bodies[1]
    set,        // target = value
    set_block,  // target = the text of bodies[0], through `value` (filters, or null)
    macro,      // name(parameters = defaults); bodies[0]
    call,       // value is a call; bodies[0] with parameters is its `caller`
    filter,     // the text of bodies[0] through `value`
    with,       // names of target.parts = defaults; bodies[0]
    inner,      // bodies[0], with a scope of its own (generation)
    leave,      // break
    next,       // continue
  };
  Kind kind = Kind::text;
  int line = 1;
  std::string name;
  ExpressionPtr value;
  std::vector<ExpressionPtr> conditions;
  std::vector<Body> bodies;
  Target target;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
};

/// Parses a template. Throws SourceFault. What is returned does not refer to `source`.
Body parse_template(std::string_view source);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_SYNTAX_H_
