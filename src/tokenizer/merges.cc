#include "src/tokenizer/merges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

// By a score; the parts of a piece are looked up in time that grows with the square of its length.
constexpr std::size_t kLongestMade = 512;

// A line of the file that merges once were read from; some files keep it.
bool is_version(std::string_view line) { return line.starts_with("#version"); }

char32_t last_char(std::string_view piece) {
  std::size_t at = piece.size() - 1;
  while (at > 0 && is_continuation(piece[at])) --at;
  return decode_char(piece, at).code;
}

// Looks up the three pieces of a merge.
class PairReader {
 public:
  PairReader(const Vocabulary& vocabulary, std::string_view where, std::size_t prefix)
      : vocabulary_(vocabulary), where_(where), prefix_(prefix) {}

  struct Entries {
    VocabularyEntry left, right, both;
  };

  Entries entries_of(std::string_view left, std::string_view right) {
    both_.assign(left).append(right.substr(std::min(prefix_, right.size())));
    return {entry_of(left), entry_of(right), entry_of(both_)};
  }

  Entries entries_of(std::string_view line) {
    const std::size_t space = line.find(' ');
    const bool is_pair = space != line.npos && line.find(' ', space + 1) == line.npos;
    if (!is_pair) throw BadFile(where_ + " holds " + format::quote(line) + ", which is not two pieces");
    return entries_of(line.substr(0, space), line.substr(space + 1));
  }

 private:
  VocabularyEntry entry_of(std::string_view piece) const {
    const auto entry = vocabulary_.find(piece);
    if (!entry) throw BadFile(where_ + " uses " + format::quote(piece) + ", which is not in the vocabulary");
    return *entry;
  }

  const Vocabulary& vocabulary_;
  std::string where_;
  std::size_t prefix_;
  std::string both_;
};

// Ranks by score, the best one 0; equal scores have equal ranks.
std::vector<std::int32_t> ranks_of(std::span<const float> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::int32_t> ranks(scores.size());
  std::int32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && scores[order[i]] < scores[order[i - 1]]) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

Merges::Merges(const JsonText& text, const Vocabulary& vocabulary, std::size_t prefix) {
  PairReader pairs(vocabulary, text.file + ": \"model.merges\"", prefix);
  JsonCursor cursor(text, "model.merges");
  cursor.expect('[');
  std::string left;
  std::int32_t rank = 0;
  for (bool first = true; !cursor.take(']'); first = false) {
    if (!first) cursor.expect(',');
    PairReader::Entries entries{};
    if (cursor.take('[')) {
      left = cursor.read_string();
      cursor.expect(',');
      entries = pairs.entries_of(left, cursor.read_string());
      cursor.expect(']');
    } else {
      const std::string_view line = cursor.read_string();
      if (is_version(line)) continue;
      entries = pairs.entries_of(line);
    }
    add(entries.left, entries.right, {rank++, entries.both.id});
  }
}

Merges::Merges(std::span<const std::string_view> pairs, const Vocabulary& vocabulary, std::string_view where) {
  PairReader reader(vocabulary, where, 0);
  std::int32_t rank = 0;
  for (const std::string_view line : pairs) {
    const PairReader::Entries entries = reader.entries_of(line);
    add(entries.left, entries.right, {rank++, entries.both.id});
  }
}

Merges::Merges(const Vocabulary& vocabulary, std::span<const float> scores) {
  const std::vector<std::int32_t> ranks = ranks_of(scores);
  for (std::size_t id = 0; id < scores.size(); ++id) {
    const auto piece = vocabulary.piece_of(static_cast<std::int32_t>(id));
    if (!piece || std::isinf(scores[id])) continue;
    if (piece->size() > kLongestMade) {
      throw UnsupportedModel("the vocabulary has a piece of " + std::to_string(piece->size()) + " bytes; merges make " +
                             std::to_string(kLongestMade) + " at most");
    }
    PieceHash hash;
    for (std::size_t at = 0, next; at < piece->size(); at = next) {
      next = at + decode_char(*piece, at).length;
      hash.add(piece->substr(at, next - at));
      const auto left = next < piece->size() ? vocabulary.find(piece->substr(0, next), hash) : std::nullopt;
      const auto right = left ? vocabulary.find(piece->substr(next)) : std::nullopt;
      if (right) add(*left, *right, {ranks[id], static_cast<std::int32_t>(id)});
    }
  }
}

std::size_t Merges::home(std::uint64_t pair) const { return (pair * 0x9E3779B97F4A7C15u >> 20) & (slots_.size() - 1); }

Merges::Slot& Merges::slot_of(std::uint64_t pair) {
  std::size_t at = home(pair);
  while (slots_[at].pair != pair && slots_[at].pair != kNone) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

// As in the reference, a pair that comes again has its last rank.
void Merges::add(const VocabularyEntry& left, const VocabularyEntry& right, Merge merge) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::uint64_t pair = pair_of(left.id, right.id);
  Slot& slot = slot_of(pair);
  if (slot.pair == kNone) ++count_;
  slot = {pair, merge};
  if (left.piece.empty() || right.piece.empty()) return;
  if (joints_.empty()) joints_.resize((std::size_t{1} << kJointBits) / 64);
  const std::size_t joint = joint_of(last_char(left.piece), decode_char(right.piece, 0).code);
  joints_[joint / 64] |= std::uint64_t{1} << joint % 64;
}

bool Merges::may_join(char32_t last, char32_t first) const {
  if (joints_.empty()) return false;
  const std::size_t joint = joint_of(last, first);
  return (joints_[joint / 64] >> joint % 64 & 1) != 0;
}

void Merges::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(1024, 4 * slots_.size())));
  for (const Slot& slot : old) {
    if (slot.pair != kNone) slot_of(slot.pair) = slot;
  }
}

const Merges::Merge* Merges::find(std::int32_t left, std::int32_t right) const {
  if (slots_.empty()) return nullptr;
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = home(pair);
  while (slots_[at].pair != kNone) {
    if (slots_[at].pair == pair) return &slots_[at].merge;
    at = (at + 1) & (slots_.size() - 1);
  }
  return nullptr;
}

}  // namespace sightline::tokenizer
