#ifndef SIGHTLINE_CACHE_TESTING_H_
#define SIGHTLINE_CACHE_TESTING_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "sightline/kv_cache.h"
#include "src/tensor/packed.h"

namespace sightline::testing {

/// A batch of new tokens of one or more sequences, dense: k [B, Hkv, n, D], v [B, Hkv, n, Dv].
struct Tokens {
  std::vector<float> keys, values;
  std::array<std::int64_t, 4> key_shape{}, value_shape{};

  TensorView k() const { return dense_view(keys.data(), key_shape); }
  TensorView v() const { return dense_view(values.data(), value_shape); }
};

/// Row [b, head, token] of keys or values.
inline std::vector<float> row_of(const std::vector<float>& values, const std::array<std::int64_t, 4>& shape,
                                 std::int64_t b, std::int64_t head, std::int64_t token) {
  const auto begin = values.begin() + ((b * shape[1] + head) * shape[2] + token) * shape[3];
  return {begin, begin + shape[3]};
}

/// 8 pages of 16 tokens for up to 4 sequences, keys and values of different widths.
inline KvCacheOptions small_options() {
  KvCacheOptions options;
  options.kv_heads = 2;
  options.key_width = 3;
  options.value_width = 5;
  options.page_size = 16;
  options.page_count = 8;
  options.max_sequences = 4;
  return options;
}

/// What a call that must throw Error says.
template <class Error, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

#define EXPECT_MESSAGE(Error, call, part) \
  EXPECT_NE(message_of<Error>([&] { call; }).find(part), std::string::npos) << message_of<Error>([&] { call; })

/// Normally distributed tokens for a cache of these options.
inline Tokens random_tokens(const KvCacheOptions& o, std::int64_t batch, std::int64_t count, std::mt19937_64& random) {
  Tokens tokens;
  tokens.key_shape = {batch, o.kv_heads, count, o.key_width};
  tokens.value_shape = {batch, o.kv_heads, count, o.value_width};
  tokens.keys.resize(static_cast<std::size_t>(batch * o.kv_heads * count * o.key_width));
  tokens.values.resize(static_cast<std::size_t>(batch * o.kv_heads * count * o.value_width));
  std::normal_distribution<float> normal;
  for (float& x : tokens.keys) x = normal(random);
  for (float& x : tokens.values) x = normal(random);
  return tokens;
}

inline void append(KvCache& cache, SequenceId sequence, const Tokens& tokens) {
  cache.append({&sequence, 1}, tokens.k(), cache.options().values_in_keys ? TensorView{} : tokens.v());
}

/// Keys and values of a layer as attention reads them: through the page table, by a plain loop.
class Reading {
 public:
  Reading(const KvCache& cache, std::span<const SequenceId> sequences, std::int64_t layer = 0) {
    cache.view(sequences, view_);
    problem_.window_left = cache.options().window - 1;
    cache.bind(view_, layer, problem_);
  }
  Reading(const KvCache& cache, SequenceId sequence, std::int64_t layer = 0)
      : Reading(cache, std::span(&sequence, 1), layer) {}

  const AttentionProblem& problem() const { return problem_; }
  const SequenceSpan& span(std::int64_t b = 0) const { return problem_.sequences[static_cast<std::size_t>(b)]; }
  /// Key `j` of sequence b of the batch, decoded.
  std::vector<float> key(std::int64_t b, std::int64_t head, std::int64_t j) const {
    return row(problem_.k, problem_.pages.k_page_stride, b, head, j);
  }
  std::vector<float> value(std::int64_t b, std::int64_t head, std::int64_t j) const {
    return row(problem_.v, problem_.pages.v_page_stride, b, head, j);
  }

 private:
  std::vector<float> row(const TensorView& pool, std::int64_t page_stride, std::int64_t b, std::int64_t head,
                         std::int64_t j) const {
    const PageTable& pages = problem_.pages;
    const std::int64_t page = pages.table[b * pages.table_stride + j / pages.page_size];
    const std::int64_t at = page * page_stride + head * pool.strides[1] + j % pages.page_size * pool.strides[2];
    const std::int64_t unit = is_packed(pool.dtype) ? 1 : static_cast<std::int64_t>(dtype_size(pool.dtype));
    std::vector<float> values(static_cast<std::size_t>(pool.shape[3]));
    decode_row(pool.dtype, static_cast<const std::byte*>(pool.data) + at * unit, values);
    return values;
  }

  KvView view_;
  AttentionProblem problem_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_CACHE_TESTING_H_
