#include "src/tokenizer/truncation.h"

#include <utility>

namespace sightline::tokenizer {
namespace {

std::size_t cut(std::vector<Token>& tokens, std::size_t length, EncodeOptions::Side side) {
  if (tokens.size() <= length) return 0;
  const std::size_t surplus = tokens.size() - length;
  const auto begin =
      side == EncodeOptions::Side::left ? tokens.begin() : tokens.end() - static_cast<std::ptrdiff_t>(surplus);
  tokens.erase(begin, begin + static_cast<std::ptrdiff_t>(surplus));
  return surplus;
}

// Lengths of a shorter and a longer sequence: the longer one gives way first; if it would become the shorter, each has
// half, the longer one the odd token.
std::pair<std::size_t, std::size_t> share(std::size_t shorter, std::size_t limit) {
  if (2 * shorter <= limit) return {shorter, limit - shorter};
  return {limit / 2, limit - limit / 2};
}

}  // namespace

std::size_t truncate(Sequences& sequences, std::size_t limit, EncodeOptions::Side side) {
  if (sequences.size() == 1) return cut(sequences[0], limit, side);
  if (sequences[0].size() + sequences[1].size() <= limit) return 0;
  const bool first_is_longer = sequences[0].size() > sequences[1].size();
  std::vector<Token>& shorter = sequences[first_is_longer ? 1 : 0];
  std::vector<Token>& longer = sequences[first_is_longer ? 0 : 1];
  const auto [shorter_length, longer_length] = share(shorter.size(), limit);
  return cut(shorter, shorter_length, side) + cut(longer, longer_length, side);
}

}  // namespace sightline::tokenizer
