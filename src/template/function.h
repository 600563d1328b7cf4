#ifndef SIGHTLINE_TEMPLATE_FUNCTION_H_
#define SIGHTLINE_TEMPLATE_FUNCTION_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/template/value.h"

namespace sightline::jinja {

class Interpreter;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Text, Value>> named;  // a name of `**` may be a message's
};

/// Arguments by the names that a function, filter or method has for them.
class Bound {
 public:
  /// Throws Fault for too many, for a name that is not among these, for one given twice.
  Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names);

  bool has(std::size_t index) const { return given_[index] != nullptr; }
  const Value& require(std::size_t index) const;
  const Value& get(std::size_t index, const Value& otherwise) const { return has(index) ? *given_[index] : otherwise; }
  std::int64_t integer(std::size_t index, std::int64_t otherwise) const;
  bool flag(std::size_t index, bool otherwise) const { return has(index) ? given_[index]->truth() : otherwise; }
  const Text* text(std::size_t index) const;  // null: not given
  std::string_view string(std::size_t index, std::string_view otherwise) const;
  /// A number of items or characters that is asked for: not absurd.
  std::int64_t count(std::size_t index, std::int64_t otherwise) const;

 private:
  std::string function_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> given_;
};

/// A macro, a function, a method of a value.
struct Function {
  std::string name;
  std::function<Value(Interpreter&, const Arguments&)> call;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_FUNCTION_H_
