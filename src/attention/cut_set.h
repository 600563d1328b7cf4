#ifndef SIGHTLINE_ATTENTION_CUT_SET_H_
#define SIGHTLINE_ATTENTION_CUT_SET_H_

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "sightline/mask.h"

namespace sightline {

/// Which indexes a list names; an empty list names all.
class IndexSet {
 public:
  /// Throws BadArgument for an index outside 0..count-1; `what` names the list.
  IndexSet(std::span<const std::int64_t> list, std::int64_t count, const char* what, std::pmr::memory_resource* memory);

  bool holds(std::int64_t index) const { return all_ || listed_[index]; }
  /// Whether any index of [begin, end) is listed.
  bool meets(std::int64_t begin, std::int64_t end) const;

 private:
  bool all_;
  std::pmr::vector<bool> listed_;
  std::pmr::vector<std::int64_t> sorted_;
};

/// The edges taken out of the map, ready to be asked for.
class CutSet {
 public:
  /// Throws BadArgument.
  CutSet(std::span<const EdgeCut> cuts, std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t keys,
         std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

  bool hides(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) const;
  /// Whether a pair of these rows and keys may be hidden, in any head of [head_begin, head_end).
  bool meets(std::int64_t batch, std::int64_t head_begin, std::int64_t head_end, std::int64_t row_begin,
             std::int64_t row_end, std::int64_t key_begin, std::int64_t key_end) const;

 private:
  struct Cut {
    std::int64_t batch;  // -1: all
    IndexSet heads, rows, keys;
  };
  std::pmr::vector<Cut> cuts_;
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_CUT_SET_H_
