#include "src/tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>

#include "sightline/error.h"

namespace sightline::tokenizer {
namespace {

std::int32_t id_of(const JsonObject& json, const std::string& piece, const nlohmann::json& value) {
  const bool valid = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{INT32_MAX};
  if (!valid) throw BadFile(json.where(piece) + " must have a whole number from 0 to 2147483647 as its id");
  return value.get<std::int32_t>();
}

std::uint32_t high_half(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

Vocabulary::Vocabulary(const JsonObject& json) {
  const auto& pieces = json.value().get_ref<const nlohmann::json::object_t&>();
  slots_.resize(std::bit_ceil(2 * pieces.size() + 1));
  entries_.reserve(pieces.size());
  for (const auto& [piece, id] : pieces) insert(piece, id_of(json, piece, id));
  index_ids(json);
}

void Vocabulary::insert(std::string_view piece, std::int32_t id) {
  const std::uint64_t hash = PieceHash().add(piece).value();
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
  entries_.push_back({spellings_.size(), piece.size(), id});
  slots_[at] = {high_half(hash), static_cast<std::uint32_t>(entries_.size())};
  spellings_ += piece;
  longest_piece_ = std::max(longest_piece_, piece.size());
}

void Vocabulary::index_ids(const JsonObject& json) {
  by_id_.reserve(entries_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i) by_id_.emplace_back(entries_[i].id, i);
  std::sort(by_id_.begin(), by_id_.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(by_id_.begin(), by_id_.end(), same);
  if (twice == by_id_.end()) return;
  throw BadFile(json.where(piece_at(twice->second)) + " has the id " + std::to_string(twice->first) + ", as " +
                format::quote(piece_at(std::next(twice)->second)) + " has");
}

std::string_view Vocabulary::piece_at(std::uint32_t entry) const {
  return std::string_view(spellings_).substr(entries_[entry].begin, entries_[entry].length);
}

std::optional<VocabularyEntry> Vocabulary::find(std::string_view piece, const PieceHash& hash) const {
  const std::uint64_t value = hash.value();
  for (std::size_t at = value & (slots_.size() - 1); slots_[at].entry != 0; at = (at + 1) & (slots_.size() - 1)) {
    const std::uint32_t entry = slots_[at].entry - 1;
    if (slots_[at].hash == high_half(value) && piece_at(entry) == piece) return {{piece_at(entry), entries_[entry].id}};
  }
  return std::nullopt;
}

std::optional<std::string_view> Vocabulary::piece_of(std::int32_t id) const {
  const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair(id, std::uint32_t{0}));
  if (found == by_id_.end() || found->first != id) return std::nullopt;
  return piece_at(found->second);
}

}  // namespace sightline::tokenizer
