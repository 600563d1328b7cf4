// Attention over a cache against attention over tensors. What the library still refuses is skipped, by its reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

#include "sightline/error.h"
#include "src/attention/reference.h"
#include "src/cache/testing.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kWidth = 40, kValueWidth = 24;

struct Values {
  std::vector<float> out, lse;  // [B, Hq, Nq, Dv], [B, Hq, Nq]
};

Values run(const AttentionProblem& problem) {
  const auto rows = static_cast<std::size_t>(problem.q.shape[0] * problem.q.shape[1] * problem.q.shape[2]);
  Values values{std::vector<float>(rows * kValueWidth), std::vector<float>(rows)};
  Observations see;
  see.lse = values.lse.data();
  const std::array<std::int64_t, 4> shape = {problem.q.shape[0], problem.q.shape[1], problem.q.shape[2], kValueWidth};
  attention(problem, dense_view(values.out.data(), shape), see);
  return values;
}

// Why the library does not run it yet.
std::optional<std::string> refusal(const AttentionProblem& problem) {
  try {
    run(problem);
  } catch (const BadArgument& error) {
    if (std::string_view(error.what()).starts_with("not supported: ")) return error.what();
    throw;
  }
  return std::nullopt;
}

KvCacheOptions options_of(DType dtype, std::int64_t page_size) {
  KvCacheOptions options;
  options.kv_heads = kKvHeads;
  options.key_width = kWidth;
  options.value_width = kValueWidth;
  options.dtype = dtype;
  options.page_size = page_size;
  options.page_count = 4096 / page_size;
  options.max_sequences = 8;
  return options;
}

// Rows [begin, begin + count) along axis 2.
TensorView rows_of(TensorView view, std::int64_t begin, std::int64_t count) {
  view.data = static_cast<const float*>(view.data) + begin * view.strides[2];
  view.shape[2] = count;
  return view;
}

// A prompt with queries, keys and values of its own.
struct Prompt {
  Prompt(std::int64_t length, std::uint64_t seed, std::int64_t window = 0) {
    std::mt19937_64 random(seed);
    tokens = random_tokens(options_of(DType::f32, 16), 1, length, random);
    queries.resize(static_cast<std::size_t>(kHeads * length * kWidth));
    std::normal_distribution<float> normal;
    for (float& x : queries) x = 2 * normal(random);
    problem.q = dense_view(queries.data(), {1, kHeads, length, kWidth});
    problem.k = tokens.k();
    problem.v = tokens.v();
    problem.causal = true;
    problem.window_left = window - 1;
  }
  std::int64_t length() const { return problem.q.shape[2]; }

  Tokens tokens;
  std::vector<float> queries;
  AttentionProblem problem;
};

// The last rows of a sequence, over what a cache holds.
class CachedProblem {
 public:
  CachedProblem(const KvCache& cache, std::span<const SequenceId> ids, AttentionProblem problem) : problem_(problem) {
    cache.view(ids, view_);
    cache.bind(view_, 0, problem_);
  }
  CachedProblem(const CachedProblem&) = delete;
  const AttentionProblem& problem() const { return problem_; }

 private:
  KvView view_;
  AttentionProblem problem_;
};

// The prompt in steps of these sizes, again and again; the values of all rows, in order of [Hq, N].
// Rows before `from` are not run, only appended.
Values run_in_steps(KvCache& cache, const Prompt& prompt, const std::vector<std::int64_t>& sizes,
                    std::int64_t from = 0) {
  const SequenceId id = cache.create();
  const std::int64_t rows = prompt.length() - from;
  Values all{std::vector<float>(static_cast<std::size_t>(kHeads * rows * kValueWidth)),
             std::vector<float>(static_cast<std::size_t>(kHeads * rows))};
  cache.append({&id, 1}, rows_of(prompt.problem.k, 0, from), rows_of(prompt.problem.v, 0, from));
  std::int64_t begin = from;
  for (std::size_t n = 0; begin < prompt.length(); ++n) {
    const std::int64_t count = std::min(sizes[n % sizes.size()], prompt.length() - begin);
    cache.append({&id, 1}, rows_of(prompt.problem.k, begin, count), rows_of(prompt.problem.v, begin, count));
    AttentionProblem part = prompt.problem;
    part.q = rows_of(part.q, begin, count);
    const CachedProblem cached(cache, {&id, 1}, part);
    const Values values = run(cached.problem());
    for (std::int64_t head = 0; head < kHeads; ++head) {
      const std::int64_t to = head * rows + begin - from, row = head * count;
      std::copy_n(values.out.begin() + row * kValueWidth, count * kValueWidth, all.out.begin() + to * kValueWidth);
      std::copy_n(values.lse.begin() + row, count, all.lse.begin() + to);
    }
    begin += count;
  }
  cache.free(id);
  return all;
}

void expect_same_bits(const Values& got, const Values& expected, const std::string& what) {
  ASSERT_EQ(got.out.size(), expected.out.size());
  EXPECT_EQ(std::memcmp(got.out.data(), expected.out.data(), got.out.size() * sizeof(float)), 0) << what << ": out";
  EXPECT_EQ(std::memcmp(got.lse.data(), expected.lse.data(), got.lse.size() * sizeof(float)), 0) << what << ": lse";
}

// Whether a cache of these options is refused; by a prompt of one token.
std::optional<std::string> refusal(const KvCacheOptions& options, std::int64_t window = 0) {
  const Prompt one(1, 1, window);
  KvCache cache(options);
  const SequenceId id = cache.create();
  append(cache, id, one.tokens);
  return refusal(CachedProblem(cache, {&id, 1}, one.problem).problem());
}

// What a cache that was given these tokens alone holds, read row by row.
Tokens decoded(const KvCache& cache, SequenceId id, const Tokens& tokens) {
  const Reading reading(cache, id);
  const std::int64_t count = tokens.key_shape[2];
  Tokens kept = tokens;
  for (std::int64_t head = 0; head < kKvHeads; ++head) {
    for (std::int64_t j = 0; j < count; ++j) {
      std::ranges::copy(reading.key(0, head, j), kept.keys.begin() + (head * count + j) * kWidth);
      std::ranges::copy(reading.value(0, head, j), kept.values.begin() + (head * count + j) * kValueWidth);
    }
  }
  return kept;
}

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1};

class CachedAttention : public ::testing::TestWithParam<DType> {};

TEST_P(CachedAttention, HasTheBitsOfOnePrefillHoweverItIsFilled) {
  const Prompt prompt(333, 5);
  KvCacheOptions contiguous = options_of(GetParam(), 333);
  contiguous.page_count = 1;
  if (const auto why = refusal(contiguous)) GTEST_SKIP() << *why;
  KvCache whole(contiguous);
  const Values expected = run_in_steps(whole, prompt, {333});
  if (GetParam() == DType::f32) expect_same_bits(expected, run(prompt.problem), "contiguous, as tensors");
  for (const std::int64_t page_size : {16, 17, 64, 100, 333}) {
    for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{333}, {1}, {64, 1, 7, 100}}) {
      KvCache cache(options_of(GetParam(), page_size));
      expect_same_bits(run_in_steps(cache, prompt, sizes), expected,
                       "pages of " + std::to_string(page_size) + ", steps of " + std::to_string(sizes[0]));
    }
  }
}

TEST_P(CachedAttention, HasTheSameBitsWhileItRolls) {
  constexpr std::int64_t kWindow = 50;
  const Prompt prompt(400, 6, kWindow);
  KvCacheOptions kept = options_of(GetParam(), 16), rolling = kept;
  rolling.window = kWindow;
  rolling.page_count = 12;  // of the 25 that all tokens would take
  if (const auto why = refusal(rolling, kWindow)) GTEST_SKIP() << *why;
  KvCache whole(kept);
  const Values expected = run_in_steps(whole, prompt, {400});
  if (GetParam() == DType::f32) expect_same_bits(expected, run(prompt.problem), "as tensors");
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{1}, {100, 1, 30}}) {
    KvCache cache(rolling);
    expect_same_bits(run_in_steps(cache, prompt, sizes), expected, "steps of " + std::to_string(sizes[0]));
  }
}

// Rows are summed in chunks of 4096 keys, counted from position 0 also where that is gone, and decoding shares them
// out.
TEST_P(CachedAttention, HasTheSameBitsBeyondAChunk) {
  constexpr std::int64_t kWindow = 4200, kLength = 8500, kRun = 8450;
  const Prompt prompt(kLength, 13, kWindow);
  KvCacheOptions kept = options_of(GetParam(), 100), rolling = options_of(GetParam(), 48);
  kept.page_count = 90;
  rolling.window = kWindow;
  rolling.page_count = 178;  // all of the first append; later ones give back
  if (const auto why = refusal(rolling, kWindow)) GTEST_SKIP() << *why;
  KvCache whole(kept), cache(rolling);
  expect_same_bits(run_in_steps(cache, prompt, {20, 1, 2}, kRun), run_in_steps(whole, prompt, {kLength}, kRun),
                   "rolls");
}

TEST_P(CachedAttention, HasTheSameBitsForForksAndInABatch) {
  const KvCacheOptions options = options_of(GetParam(), 16);
  if (const auto why = refusal(options)) GTEST_SKIP() << *why;
  KvCache cache(options);
  const Prompt common(70, 7);
  std::vector<SequenceId> ids = {cache.create()};
  append(cache, ids[0], common.tokens);
  while (ids.size() < 4) ids.push_back(cache.fork(ids.back()));
  std::vector<Prompt> branches;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    branches.emplace_back(5 + 9 * static_cast<std::int64_t>(n), 8 + n);
    append(cache, ids[n], branches[n].tokens);
  }
  std::mt19937_64 random(20);
  std::normal_distribution<float> normal;
  std::vector<float> queries(4 * kHeads * 3 * kWidth);
  for (float& x : queries) x = normal(random);
  AttentionProblem batch = common.problem;
  batch.q = dense_view(queries.data(), {4, kHeads, 3, kWidth});
  const Values together = run(CachedProblem(cache, ids, batch).problem());
  for (std::size_t n = 0; n < ids.size(); ++n) {
    KvCache own(options);
    const SequenceId alone = own.create();
    append(own, alone, common.tokens);
    append(own, alone, branches[n].tokens);
    AttentionProblem one = batch;
    one.q = dense_view(queries.data() + n * kHeads * 3 * kWidth, {1, kHeads, 3, kWidth});
    const auto rows = static_cast<std::int64_t>(kHeads * 3);
    const auto first = static_cast<std::int64_t>(n) * rows;
    expect_same_bits({{together.out.begin() + first * kValueWidth, together.out.begin() + (first + rows) * kValueWidth},
                      {together.lse.begin() + first, together.lse.begin() + first + rows}},
                     run(CachedProblem(own, {&alone, 1}, one).problem()), "fork " + std::to_string(n));
  }
}

// A row that was packed stands for the numbers that its codec gives, bit by bit.
TEST_P(CachedAttention, HasTheBitsOfItsDecodedRows) {
  const KvCacheOptions options = options_of(GetParam(), 32);
  if (const auto why = refusal(options)) GTEST_SKIP() << *why;
  const Prompt prompt(150, 14);
  KvCache cache(options);
  const SequenceId id = cache.create();
  append(cache, id, prompt.tokens);
  const Tokens kept = decoded(cache, id, prompt.tokens);
  AttentionProblem dense = prompt.problem;
  dense.k = kept.k();
  dense.v = kept.v();
  expect_same_bits(run(CachedProblem(cache, {&id, 1}, prompt.problem).problem()), run(dense), "decoded");
}

// What slots beyond the tokens in use hold does not matter: NaN, or numbers that would decide every row.
TEST_P(CachedAttention, DoesNotSeeWhatWasTruncated) {
  const KvCacheOptions options = options_of(GetParam(), 64);
  if (const auto why = refusal(options)) GTEST_SKIP() << *why;
  const Prompt prompt(70, 9);
  KvCache clean(options), poisoned(options);
  const Values expected = run_in_steps(clean, prompt, {70});
  Tokens poison = prompt.tokens;
  std::ranges::fill(poison.keys, is_packed(GetParam()) ? 3e4f : NAN);
  std::ranges::fill(poison.values, is_packed(GetParam()) ? 3e4f : INFINITY);
  const SequenceId id = poisoned.create();
  append(poisoned, id, poison);
  append(poisoned, id, poison);
  poisoned.free(id);  // its pages are the next to be handed out
  expect_same_bits(run_in_steps(poisoned, prompt, {33, 1}), expected, "over pages with other numbers");
}

// Against fp64 over the rows as they were before they were stored; prints the figures of docs/cache.md.
TEST_P(CachedAttention, ErrsAsItsTypeDoes) {
  const KvCacheOptions options = options_of(GetParam(), 64);
  if (const auto why = refusal(options)) GTEST_SKIP() << *why;
  constexpr std::int64_t kLength = 1024, kRows = 64;
  const Prompt prompt(kLength, 10);
  AttentionProblem last_rows = prompt.problem;
  last_rows.q = rows_of(last_rows.q, kLength - kRows, kRows);
  const auto exact = reference::attention(last_rows);
  KvCache cache(options);
  const SequenceId id = cache.create();
  append(cache, id, prompt.tokens);
  const Values got = run(CachedProblem(cache, {&id, 1}, last_rows).problem());
  double squares = 0, exact_squares = 0, most = 0;
  for (std::size_t i = 0; i < got.out.size(); ++i) {
    const double error = got.out[i] - exact.out[i];
    squares += error * error;
    exact_squares += exact.out[i] * exact.out[i];
    most = std::max(most, std::abs(error));
  }
  const double relative = std::sqrt(squares / exact_squares);
  std::cout << "  out of a cache of " << dtype_name(GetParam()) << ": rms " << relative << " of the output's, largest "
            << most << '\n';
  // About twice the rms error of a row of that type, against rows of variance 1; see packed_test.cc.
  const double bounds[] = {1e-6, 1e-3, 8e-3, 0.025, 0.3};
  const auto index = std::find(std::begin(kTypes), std::end(kTypes), GetParam()) - std::begin(kTypes);
  EXPECT_LT(relative, bounds[index]);
}

// MLA: values are the first columns of the keys, which all query heads share.
TEST_P(CachedAttention, ReadsValuesThatAreInTheKeys) {
  KvCacheOptions options = options_of(GetParam(), 16);
  options.kv_heads = 1;
  options.key_width = 576;
  options.value_width = kValueWidth;
  options.values_in_keys = true;
  std::mt19937_64 random(15);
  const Tokens tokens = random_tokens(options, 1, 90, random);
  std::vector<float> queries(kHeads * 576);
  std::normal_distribution<float> normal;
  for (float& x : queries) x = normal(random);
  AttentionProblem problem;
  problem.q = dense_view(queries.data(), {1, kHeads, 1, 576});
  KvCache cache(options);
  const SequenceId id = cache.create();
  append(cache, id, tokens);
  const CachedProblem cached(cache, {&id, 1}, problem);
  if (const auto why = refusal(cached.problem())) GTEST_SKIP() << *why;
  std::vector<float> keys;
  const Reading reading(cache, id);
  for (std::int64_t j = 0; j < 90; ++j) std::ranges::copy(reading.key(0, 0, j), std::back_inserter(keys));
  problem.k = problem.v = dense_view(keys.data(), {1, 1, 90, 576});
  problem.v.shape[3] = kValueWidth;
  expect_same_bits(run(cached.problem()), run(problem), "as tensors");
}

INSTANTIATE_TEST_SUITE_P(Types, CachedAttention, ::testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

// The views themselves, whatever the kernels run: the plain loops see the same keys through pages as in tensors.
TEST(CachedReference, SeesTheSameThroughPages) {
  const Prompt prompt(75, 11, 20);
  const auto expected = reference::attention(prompt.problem);
  for (const std::int64_t page_size : {16, 17, 64}) {
    KvCacheOptions options = options_of(DType::f32, page_size);
    options.window = 20;
    KvCache cache(options);
    const SequenceId id = cache.create();
    for (std::int64_t row = 0; row < prompt.length(); ++row) {
      cache.append({&id, 1}, rows_of(prompt.problem.k, row, 1), rows_of(prompt.problem.v, row, 1));
      AttentionProblem part = prompt.problem;
      part.q = rows_of(part.q, row, 1);
      const CachedProblem cached(cache, {&id, 1}, part);
      const auto got = reference::attention(cached.problem());
      for (std::int64_t head = 0; head < kHeads; ++head) {
        const auto at = static_cast<std::size_t>(head * prompt.length() + row);
        ASSERT_EQ(got.lse[static_cast<std::size_t>(head)], expected.lse[at]);
        ASSERT_EQ(got.position[static_cast<std::size_t>(head)], expected.position[at]);
        for (std::size_t d = 0; d < kValueWidth; ++d) {
          ASSERT_EQ(got.out[static_cast<std::size_t>(head) * kValueWidth + d], expected.out[at * kValueWidth + d]);
        }
      }
    }
  }
}

// What the cache stores, the plain loops decode by their own rules.
TEST(CachedReference, ReadsEveryTypeAsItsCodecDoes) {
  for (const DType dtype : kTypes) {
    const Prompt prompt(40, 12);
    KvCache cache(options_of(dtype, 16));
    const SequenceId id = cache.create();
    append(cache, id, prompt.tokens);
    const CachedProblem cached(cache, {&id, 1}, prompt.problem);
    const Tokens kept = decoded(cache, id, prompt.tokens);
    AttentionProblem dense = prompt.problem;
    dense.k = kept.k();
    dense.v = kept.v();
    const auto got = reference::attention(cached.problem()), expected = reference::attention(dense);
    for (std::size_t i = 0; i < expected.out.size(); ++i)
      ASSERT_NEAR(got.out[i], expected.out[i], 1e-5) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace sightline::testing
