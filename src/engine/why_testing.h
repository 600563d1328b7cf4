#ifndef SIGHTLINE_ENGINE_WHY_TESTING_H_
#define SIGHTLINE_ENGINE_WHY_TESTING_H_

// For tests alone: a small decoder, and what is asked of it.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/engine/why.h"

namespace sightline::engine::testing {

inline constexpr char kCat[] = "the cat sat on the mat";

inline std::filesystem::path decoder_path() { return source_path("tests/data/tiny-decoder"); }
inline const Session& decoder() {
  static const Session session = Session::open(decoder_path());
  return session;
}
inline WhyOptions about(const std::string& token, std::vector<std::string> answers = {},
                        const std::string& block = "all") {
  WhyOptions options;
  options.token = token;
  options.answers = std::move(answers);
  options.block = block;
  return options;
}

inline const WhyEdge& edge_to(const Why& why, std::size_t item, int layer = 0, int head = 0) {
  for (const WhyEdge& edge : why.edges) {
    if (edge.item == item && edge.layer == layer && edge.head == head) return edge;
  }
  throw std::runtime_error("no such edge");
}

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_WHY_TESTING_H_
