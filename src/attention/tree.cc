#include "src/attention/tree.h"

#include <algorithm>
#include <string>

#include "sightline/error.h"

namespace sightline {

Tree::Tree(std::span<const std::int32_t> parents, std::pmr::memory_resource* memory)
    : depth_(memory), ancestors_(memory) {
  const auto nodes = static_cast<std::int64_t>(parents.size());
  if (nodes > kMaxNodes) throw BadArgument("a tree has at most 4096 nodes, not " + std::to_string(nodes));
  words_ = (nodes + 63) / 64;
  depth_.resize(nodes);
  ancestors_.resize(nodes * words_);
  for (std::int64_t node = 0; node < nodes; ++node) {
    const std::int64_t parent = parents[node];
    if (parent < -1 || parent >= node) {
      throw BadArgument("tree_parents[" + std::to_string(node) + "] is " + std::to_string(parent) +
                        "; a parent comes before its node, and a root has -1");
    }
    if (parent >= 0) {
      depth_[node] = depth_[parent] + 1;
      std::copy_n(ancestors_.begin() + parent * words_, words_, ancestors_.begin() + node * words_);
    }
    ancestors_[node * words_ + node / 64] |= std::uint64_t{1} << (node % 64);
  }
}

}  // namespace sightline
