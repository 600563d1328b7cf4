#ifndef SIGHTLINE_ATTENTION_TREE_H_
#define SIGHTLINE_ATTENTION_TREE_H_

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace sightline {

/// A forest of drafted tokens: node i is row i of the queries.
class Tree {
 public:
  static constexpr std::int64_t kMaxNodes = 4096;  // ancestors take a bit a pair: 2 MiB

  /// parents: each below its node, or -1. Throws BadArgument.
  explicit Tree(std::span<const std::int32_t> parents,
                std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

  std::int64_t depth(std::int64_t node) const { return depth_[node]; }
  /// Whether `node` sees `other`: an ancestor, or the node itself.
  bool sees(std::int64_t node, std::int64_t other) const {
    return (ancestors_[node * words_ + other / 64] >> (other % 64) & 1) != 0;
  }

 private:
  std::int64_t words_ = 0;
  std::pmr::vector<std::int64_t> depth_;
  std::pmr::vector<std::uint64_t> ancestors_;  // [nodes, words_]
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_TREE_H_
