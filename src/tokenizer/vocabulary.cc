#include "src/tokenizer/vocabulary.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/format/json.h"

namespace sightline::tokenizer {
namespace {

std::uint32_t high_half(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

Vocabulary::Vocabulary(const JsonText& text) {
  spellings_.reserve(text.value.size());
  VocabularyReader reader(text);
  while (const auto entry = reader.next()) {
    insert(entry->piece, entry->id, text.file);
    if (reader.has_scores()) scores_.push_back(entry->score);
  }
  index_ids(text.file);
}

Vocabulary::Vocabulary(std::span<const std::string_view> pieces, std::vector<double> scores)
    : scores_(std::move(scores)) {
  for (const std::string_view piece : pieces) append(piece, static_cast<std::int32_t>(entries_.size()));
  index_ids({});
}

void Vocabulary::insert(std::string_view piece, std::int32_t id, std::string_view file) {
  if (append(piece, id)) return;
  throw BadFile(std::string(file) + ": \"model.vocab\" holds " + format::quote(piece) + " twice");
}

// False where the piece was there before.
bool Vocabulary::append(std::string_view piece, std::int32_t id) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow_slots();
  entries_.push_back({spellings_.size(), piece.size(), id});
  spellings_ += piece;
  longest_piece_ = std::max(longest_piece_, piece.size());
  return place(static_cast<std::uint32_t>(entries_.size() - 1));
}

void Vocabulary::grow_slots() {
  slots_.assign(std::max<std::size_t>(1024, 4 * slots_.size()), Slot{});
  for (std::uint32_t i = 0; i < entries_.size(); ++i) place(i);
}

// Takes the slot of an equal piece over; false: there was one.
bool Vocabulary::place(std::uint32_t entry) {
  const std::string_view piece = piece_at(entry);
  const std::uint64_t hash = PieceHash().add(piece).value();
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].entry != 0 && !holds(slots_[at], piece, hash)) at = (at + 1) & (slots_.size() - 1);
  const bool is_new = slots_[at].entry == 0;
  slots_[at] = {high_half(hash), entry + 1};
  return is_new;
}

bool Vocabulary::holds(const Slot& slot, std::string_view piece, std::uint64_t hash) const {
  return slot.hash == high_half(hash) && piece_at(slot.entry - 1) == piece;
}

void Vocabulary::index_ids(std::string_view file) {
  by_id_.reserve(entries_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i) by_id_.emplace_back(entries_[i].id, i);
  if (!std::is_sorted(by_id_.begin(), by_id_.end())) std::sort(by_id_.begin(), by_id_.end());  // most files are
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(by_id_.begin(), by_id_.end(), same);
  if (twice == by_id_.end()) return;
  throw BadFile(std::string(file) + ": \"model.vocab\" gives the id " + std::to_string(twice->first) + " to " +
                format::quote(piece_at(twice->second)) + " and to " +
                format::quote(piece_at(std::next(twice)->second)));
}

std::string_view Vocabulary::piece_at(std::uint32_t entry) const {
  return std::string_view(spellings_).substr(entries_[entry].begin, entries_[entry].length);
}

std::optional<VocabularyEntry> Vocabulary::find(std::string_view piece, const PieceHash& hash) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t value = hash.value();
  for (std::size_t at = value & (slots_.size() - 1); slots_[at].entry != 0; at = (at + 1) & (slots_.size() - 1)) {
    const std::uint32_t entry = slots_[at].entry - 1;
    if (holds(slots_[at], piece, value)) return {{piece_at(entry), entries_[entry].id}};
  }
  return std::nullopt;
}

std::optional<std::string_view> Vocabulary::piece_of(std::int32_t id) const {
  const auto index = static_cast<std::size_t>(id);
  const bool dense = id >= 0 && index < by_id_.size() && by_id_[index].first == id;  // most files leave no id out
  if (dense) return piece_at(by_id_[index].second);
  const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair(id, std::uint32_t{0}));
  if (found == by_id_.end() || found->first != id) return std::nullopt;
  return piece_at(found->second);
}

std::optional<VocabularyEntry> Vocabulary::last() const {
  if (by_id_.empty()) return std::nullopt;
  return {{piece_at(by_id_.back().second), by_id_.back().first}};
}

}  // namespace sightline::tokenizer
