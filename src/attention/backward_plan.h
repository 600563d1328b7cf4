#ifndef SIGHTLINE_ATTENTION_BACKWARD_PLAN_H_
#define SIGHTLINE_ATTENTION_BACKWARD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/attention/backward_group.h"

namespace sightline {

/// Some blocks of keys of one group: what one task takes together.
struct BackwardPart {
  std::size_t group = 0;
  BlockRange blocks;
  std::size_t chunk = 0;  // parts of one chunk of keys of a group share the sums that become dq
  /// The part that adds to the same gradients of a bias before this one does.
  std::size_t before = kNone;

  static constexpr std::size_t kNone = SIZE_MAX;
};

/// The parts of a problem, numbered by group and then by key, and the order in which threads take them. A part waits
/// only for parts that come before it in both.
struct BackwardPlan {
  BackwardPlan(const std::vector<BackwardGroup>& groups, int threads);

  struct Chunk {
    std::size_t first = 0, end = 0;  // its parts
    BlockRange blocks;
  };

  std::vector<BackwardPart> parts;
  std::vector<Chunk> chunks;
  std::vector<std::size_t> order;  // of parts

 private:
  void add_group(const BackwardGroup& group, std::size_t index);
  bool order_bias_gradients(const std::vector<BackwardGroup>& groups);
  void order_parts(std::size_t groups, std::size_t band);
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_PLAN_H_
