#ifndef SIGHTLINE_TEMPLATE_LOOP_H_
#define SIGHTLINE_TEMPLATE_LOOP_H_

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "src/template/value.h"

namespace sightline::jinja {

/// The variable `loop`. Items that a condition (`for ... if`) sorts out are asked for one by one, as far as the loop,
/// or who asks for `loop.last` or `loop.length`, needs to know.
struct Loop {
  std::vector<Value> source;                  // what is gone over
  std::function<bool(const Value&)> accepts;  // empty: all
  std::size_t next_source = 0;
  std::vector<Value> accepted;
  std::size_t position = 0;      // of the current item; items before it are accepted[0, position)
  std::optional<Value> changed;  // what loop.changed() was given last

  /// Whether there are more than `count` items.
  bool reaches(std::size_t count);
  std::size_t length();
  std::size_t nesting() const;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_LOOP_H_
