#ifndef SIGHTLINE_MODEL_BITS_TESTING_H_
#define SIGHTLINE_MODEL_BITS_TESTING_H_

// For tests alone: texts of a model's length, and comparisons of results bit by bit.

#include <random>
#include <string>
#include <vector>

#include "src/model/reference_testing.h"

namespace sightline::model {

/// `length` ids of the model's vocabulary.
inline Text random_text(const Transformer& transformer, std::int64_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int32_t> id(0, static_cast<std::int32_t>(transformer.config().vocabulary - 1));
  Text text;
  for (std::int64_t i = 0; i < length; ++i) text.ids.push_back(id(random));
  return text;
}

/// Rows of a result as bytes, so that a comparison sees bits.
struct RowBits {
  std::string hidden, logits;

  friend bool operator==(const RowBits&, const RowBits&) = default;
};

inline std::string bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// Rows [begin, end) of a result that has all logits (or no head), with all hidden states where they were kept.
inline RowBits row_bits(const ForwardResult& result, std::int64_t begin, std::int64_t end) {
  const std::span<const float> last = result.last_hidden_state, logits = result.logits;
  const std::int64_t vocabulary = static_cast<std::int64_t>(logits.size()) / result.row_begin.back();
  const auto part = [&](std::span<const float> rows, std::int64_t width) {
    return bytes_of(rows.subspan(begin * width, (end - begin) * width));
  };
  RowBits bits{part(last, result.width), part(logits, vocabulary)};
  for (const std::vector<float>& state : result.hidden_states) bits.hidden += part(state, result.width);
  return bits;
}

inline ForwardOptions all_of(const Transformer& transformer, int threads = 1) {
  const bool head = transformer.config().language_head != LanguageHead::none;
  return {.threads = threads, .keep_hidden_states = true, .logits = head ? LogitRows::all : LogitRows::none};
}

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_BITS_TESTING_H_
