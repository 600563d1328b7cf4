#ifndef SIGHTLINE_TOKENIZER_MERGES_H_
#define SIGHTLINE_TOKENIZER_MERGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/tokenizer/json_text.h"
#include "src/tokenizer/vocabulary.h"

namespace sightline::tokenizer {

/// Which pairs of pieces become one, and in which order: the lowest rank first.
class Merges {
 public:
  struct Merge {
    std::int32_t rank;
    std::int32_t id;  // of the piece that both make
  };

  Merges() = default;
  /// From the text of a JSON array of "left right" or ["left", "right"], whose order is the rank. Of a right piece the
  /// first `prefix` bytes are left out of what both make. Throws BadFile where the vocabulary lacks a piece.
  Merges(const JsonText& text, const Vocabulary& vocabulary, std::size_t prefix);
  /// From "left right", in the order of their ranks. `where` begins the messages.
  Merges(std::span<const std::string_view> pairs, const Vocabulary& vocabulary, std::string_view where);
  /// SentencePiece's rule: any two pieces that make a third, the one of the best score first. `scores` are by id; a
  /// piece whose score is infinite is never made.
  Merges(const Vocabulary& vocabulary, std::span<const float> scores);

  std::size_t size() const { return count_; }
  /// Null: they stay apart.
  const Merge* find(std::int32_t left, std::int32_t right) const;
  /// False: no merge has a left piece that ends with the character `last` and a right piece that begins with `first`.
  /// True may also be said of a few others.
  bool may_join(char32_t last, char32_t first) const;

 private:
  struct Slot {
    std::uint64_t pair = kNone;
    Merge merge{};
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr int kJointBits = 20;  // 128 KiB

  static std::size_t joint_of(char32_t last, char32_t first) {
    return (std::uint64_t{last} << 32 | first) * 0x9E3779B97F4A7C15u >> (64 - kJointBits);
  }

  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t home(std::uint64_t pair) const;
  Slot& slot_of(std::uint64_t pair);
  void add(const VocabularyEntry& left, const VocabularyEntry& right, Merge merge);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at least half of them empty
  std::size_t count_ = 0;
  std::vector<std::uint64_t> joints_;  // a bit for each hash of the two characters that a merge brings together
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_MERGES_H_
