#ifndef SIGHTLINE_TOKENIZER_VOCABULARY_H_
#define SIGHTLINE_TOKENIZER_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/tokenizer/vocabulary_text.h"

namespace sightline::tokenizer {

/// A hash that is fed byte by byte (FNV-1a), so that one walk over a word yields the hashes of all its prefixes.
class PieceHash {
 public:
  PieceHash& add(std::string_view bytes) {
    for (const char byte : bytes) state_ = (state_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
    return *this;
  }
  /// The state with its high bits folded into the low ones, by which the table is indexed.
  std::uint64_t value() const { return state_ ^ state_ >> 32; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325u;
};

/// A piece as the vocabulary spells it (a view into the vocabulary), and its id.
struct VocabularyEntry {
  std::string_view piece;
  std::int32_t id;
};

/// The pieces of a model, both ways: id of a piece, piece of an id. Loading decides its form: one flat table with open
/// addressing, all spellings in one string.
class Vocabulary {
 public:
  /// From the text of a JSON object of piece: id, or an array of [piece, score]. Throws BadFile for pieces that it
  /// holds twice, and for ids that are not whole numbers from 0 to 2^31 - 1, or not unique.
  explicit Vocabulary(const JsonText& text);
  /// Pieces in the order of their ids. Of equal pieces the last one is found; both ids have their piece. `scores` are
  /// as many, or none.
  explicit Vocabulary(std::span<const std::string_view> pieces, std::vector<double> scores = {});

  std::size_t size() const { return entries_.size(); }
  std::size_t longest_piece() const { return longest_piece_; }  // bytes

  std::optional<VocabularyEntry> find(std::string_view piece) const { return find(piece, PieceHash().add(piece)); }
  /// For a caller that has the hash of `piece` already.
  std::optional<VocabularyEntry> find(std::string_view piece, const PieceHash& hash) const;
  std::optional<std::string_view> piece_of(std::int32_t id) const;
  std::optional<VocabularyEntry> last() const;  // of the largest id; none: it is empty
  /// By id; empty where the file gives none.
  const std::vector<double>& scores() const { return scores_; }

 private:
  struct Entry {
    std::size_t begin, length;  // bytes of spellings_
    std::int32_t id;
  };
  struct Slot {
    std::uint32_t hash = 0;   // the high half of it; the low half finds the slot
    std::uint32_t entry = 0;  // index in entries_, plus 1; 0: empty
  };

  void insert(std::string_view piece, std::int32_t id, std::string_view file);
  bool append(std::string_view piece, std::int32_t id);
  void grow_slots();
  bool place(std::uint32_t entry);
  bool holds(const Slot& slot, std::string_view piece, std::uint64_t hash) const;
  void index_ids(std::string_view file);
  std::string_view piece_at(std::uint32_t entry) const;

  std::string spellings_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;                                    // a power of two, at least half of them empty
  std::vector<std::pair<std::int32_t, std::uint32_t>> by_id_;  // id and entry, ascending
  std::vector<double> scores_;
  std::size_t longest_piece_ = 0;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_VOCABULARY_H_
