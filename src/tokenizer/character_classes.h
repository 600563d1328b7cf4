#ifndef SIGHTLINE_TOKENIZER_CHARACTER_CLASSES_H_
#define SIGHTLINE_TOKENIZER_CHARACTER_CLASSES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/tokenizer/character_set.h"

namespace sightline::tokenizer {

/// The characters in up to 256 classes, so that each of some sets is a union of classes.
class CharacterClasses {
 public:
  static constexpr std::size_t kMost = 256;

  /// Where the sets need more classes, `count()` is 0 and nothing else is of use.
  explicit CharacterClasses(std::span<const CharacterSet> sets);

  std::size_t count() const { return count_; }
  std::uint8_t operator[](char32_t c) const { return blocks_[block_of_[c >> 8]][c & 0xFF]; }
  /// The classes of a set, ascending.
  const std::vector<std::uint8_t>& of_set(std::size_t set) const { return of_set_[set]; }

 private:
  static constexpr std::size_t kBlocks = 0x1100;
  using Block = std::array<std::uint8_t, 256>;

  std::size_t count_ = 0;
  std::array<std::uint16_t, kBlocks> block_of_{};
  std::vector<Block> blocks_;  // no two are equal
  std::vector<std::vector<std::uint8_t>> of_set_;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_CHARACTER_CLASSES_H_
