#include "src/tokenizer/character_classes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sightline::tokenizer {
namespace {

// Where a run of characters that belong to the same sets begins, and those sets.
struct Boundary {
  char32_t at;
  std::size_t set;
};

std::vector<Boundary> boundaries_of(std::span<const CharacterSet> sets) {
  std::vector<Boundary> boundaries;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::int32_t i = 0; i < sets[set].getRangeCount(); ++i) {
      boundaries.push_back({static_cast<char32_t>(sets[set].getRangeStart(i)), set});
      boundaries.push_back({static_cast<char32_t>(sets[set].getRangeEnd(i)) + 1, set});
    }
  }
  std::ranges::sort(boundaries, {}, &Boundary::at);
  return boundaries;
}

}  // namespace

CharacterClasses::CharacterClasses(std::span<const CharacterSet> sets) : of_set_(sets.size()) {
  constexpr char32_t kEnd = 0x110000;
  std::map<std::vector<bool>, std::uint8_t> classes;  // by the sets that hold their characters
  std::vector<bool> holding(sets.size());
  std::vector<std::uint8_t> class_of(kEnd);
  const std::vector<Boundary> boundaries = boundaries_of(sets);
  char32_t begin = 0;
  for (std::size_t i = 0; begin < kEnd;) {
    for (; i < boundaries.size() && boundaries[i].at == begin; ++i) holding[boundaries[i].set].flip();
    const char32_t end = i < boundaries.size() ? std::min(boundaries[i].at, kEnd) : kEnd;
    if (classes.size() == kMost && !classes.contains(holding)) return;
    const std::uint8_t number = classes.try_emplace(holding, static_cast<std::uint8_t>(classes.size())).first->second;
    std::fill(class_of.begin() + begin, class_of.begin() + end, number);
    begin = end;
  }
  count_ = classes.size();

  for (const auto& [held, number] : classes) {
    for (std::size_t set = 0; set < sets.size(); ++set) {
      if (held[set]) of_set_[set].push_back(number);
    }
  }
  for (std::vector<std::uint8_t>& numbers : of_set_) std::ranges::sort(numbers);

  std::map<Block, std::uint16_t> known;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    Block block;
    std::copy_n(class_of.begin() + static_cast<std::ptrdiff_t>(256 * i), 256, block.begin());
    const auto [found, added] = known.try_emplace(block, static_cast<std::uint16_t>(blocks_.size()));
    if (added) blocks_.push_back(block);
    block_of_[i] = found->second;
  }
}

}  // namespace sightline::tokenizer
