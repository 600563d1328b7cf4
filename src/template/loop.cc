#include "src/template/loop.h"

namespace sightline::jinja {

bool Loop::reaches(std::size_t count) {
  while (accepted.size() <= count && next_source < source.size()) {
    const Value item = source[next_source++];
    if (!accepts || accepts(item)) accepted.push_back(item);
  }
  return accepted.size() > count;
}

std::size_t Loop::length() {
  reaches(source.size());
  return accepted.size();
}

std::size_t Loop::nesting() const {
  std::size_t nesting = 0;
  for (const Value& item : source) nesting = std::max(nesting, item.nesting());
  return nesting + 1;
}

}  // namespace sightline::jinja
