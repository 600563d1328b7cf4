// What a cache refuses, what it says, and that it is then what it was before.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "sightline/error.h"
#include "src/cache/testing.h"

namespace sightline::testing {
namespace {

TEST(KvCacheErrors, RefusesQueriesThatSeeWhatIsGone) {
  KvCacheOptions options = small_options();
  options.window = 4;
  KvCache cache(options);
  std::mt19937_64 random(8);
  const SequenceId sequence = cache.create();
  append(cache, sequence, random_tokens(options, 1, 10, random));
  append(cache, sequence, random_tokens(options, 1, 2, random));
  KvView view;
  cache.view({&sequence, 1}, view);
  AttentionProblem problem;
  problem.q.shape = {1, 2, 2, 3};
  EXPECT_MESSAGE(BadArgument, cache.bind(view, 0, problem), "set window_left to 3 or less");
  problem.window_left = 4;
  EXPECT_MESSAGE(BadArgument, cache.bind(view, 0, problem), "set window_left to 3 or less");
  problem.window_left = 3;
  cache.bind(view, 0, problem);
  problem.q.shape[2] = 3;
  EXPECT_MESSAGE(BadArgument, cache.bind(view, 0, problem),
                 "the query at position 9 sees further back than position 7");
  problem.window_left = 2;
  cache.bind(view, 0, problem);
  problem.alignment = Alignment::top_left;
  EXPECT_MESSAGE(BadArgument, cache.bind(view, 0, problem), "bottom_right");
}

// What was written before is not taken for what has yet to be.
TEST(KvCacheErrors, RefusesToReadTokensThatWereNotWritten) {
  KvCache cache(small_options());
  std::mt19937_64 random(20);
  const Tokens tokens = random_tokens(cache.options(), 1, 10, random);
  SequenceId sequence = cache.create();
  append(cache, sequence, tokens);
  cache.truncate(sequence, 4);
  cache.extend({&sequence, 1}, 3);
  EXPECT_MESSAGE(BadArgument, Reading(cache, sequence), "was given 4 of the 7 tokens");
  const SequenceId child = cache.fork(sequence);
  EXPECT_MESSAGE(BadArgument, Reading(cache, child), "was given 4 of the 7 tokens");
  cache.free(child);
  cache.free(sequence);
  sequence = cache.create();
  cache.extend({&sequence, 1}, 3);
  EXPECT_MESSAGE(BadArgument, Reading(cache, sequence), "was given 0 of the 3 tokens");
}

TEST(KvCacheErrors, DoesNotWriteWhatAForkShares) {
  KvCache cache(small_options());
  std::mt19937_64 random(10);
  const SequenceId parent = cache.create();
  cache.extend({&parent, 1}, 4);
  const SequenceId child = cache.fork(parent);
  const Tokens four = random_tokens(cache.options(), 1, 4, random), one = random_tokens(cache.options(), 1, 1, random);
  EXPECT_MESSAGE(BadArgument, cache.write(0, {&child, 1}, four.k(), four.v()), "shared with a fork");
  EXPECT_MESSAGE(BadArgument, append(cache, parent, one), "this layer has 0");
  cache.free(child);
  EXPECT_MESSAGE(BadArgument, cache.write(0, {&parent, 1}, one.k(), one.v()), "this layer has 0");
  cache.write(0, {&parent, 1}, four.k(), four.v());
  const Tokens five = random_tokens(cache.options(), 1, 5, random);
  EXPECT_MESSAGE(BadArgument, cache.write(0, {&parent, 1}, five.k(), five.v()), "cannot write the last 5 of the 4");
}

TEST(KvCacheErrors, KeepsOnlyTokensThatAreThere) {
  KvCacheOptions options = small_options();
  options.window = 8;
  KvCache cache(options);
  std::mt19937_64 random(23);
  const SequenceId sequence = cache.create();
  append(cache, sequence, random_tokens(options, 1, 40, random));
  append(cache, sequence, random_tokens(options, 1, 4, random));
  const auto refused = [&](std::int64_t length, std::vector<std::int64_t> positions, const char* part) {
    EXPECT_MESSAGE(BadArgument, cache.keep(sequence, length, positions), part);
    EXPECT_EQ(cache.length(sequence), 44);
  };
  refused(32, {}, "the sequence keeps 33 to 44");
  refused(45, {}, "the sequence keeps 33 to 44");
  refused(INT64_MIN, {}, "the sequence keeps 33 to 44");
  refused(INT64_MAX, {INT64_MAX}, "the sequence keeps 33 to 44");
  refused(40, {39}, "cannot keep position 39");
  refused(40, {41, 41}, "cannot keep position 41");
  refused(40, {41, 44}, "cannot keep position 44");
  refused(40, {INT64_MIN}, "cannot keep position");
  refused(35, {35, 36}, "cannot go back to position 37");
  const SequenceId child = cache.fork(sequence);
  refused(40, {41}, "shared with a fork");
  cache.free(child);
  cache.extend({&sequence, 1}, 1);
  EXPECT_MESSAGE(BadArgument, cache.keep(sequence, 44, std::vector<std::int64_t>{44}), "was given 44 of the 45 tokens");
}

TEST(KvCacheErrors, AFullPoolRefusesTheWholeBatch) {
  KvCache cache(small_options());  // 8 pages of 16
  std::mt19937_64 random(11);
  const SequenceId a = cache.create(), b = cache.create();
  append(cache, a, random_tokens(cache.options(), 1, 100, random));  // 7 pages
  const std::vector<SequenceId> both = {b, a};
  const Tokens tokens = random_tokens(cache.options(), 2, 17, random);
  EXPECT_MESSAGE(OutOfMemory, cache.append(both, tokens.k(), tokens.v()), "pool of 8 pages is 2 short");
  EXPECT_EQ(cache.length(a), 100);
  EXPECT_EQ(cache.length(b), 0);
  EXPECT_EQ(cache.pages_in_use(), 7);
  append(cache, b, random_tokens(cache.options(), 1, 16, random));
  EXPECT_THROW(append(cache, b, random_tokens(cache.options(), 1, 1, random)), OutOfMemory);
  append(cache, a, random_tokens(cache.options(), 1, 12, random));  // its last page has room
  cache.truncate(a, 0);
  append(cache, b, random_tokens(cache.options(), 1, 112, random));
  EXPECT_EQ(cache.pages_in_use(), 8);
}

TEST(KvCacheErrors, RefusesHandlesThatAreNotInUse) {
  KvCache cache(small_options());
  std::mt19937_64 random(13);
  const SequenceId sequence = cache.create();
  cache.free(sequence);
  EXPECT_MESSAGE(BadArgument, cache.free(sequence), "not in use");
  const SequenceId again = cache.create();
  EXPECT_EQ(again.slot, sequence.slot);
  KvView view;
  for (const SequenceId bad :
       {sequence, SequenceId{}, SequenceId{4, 1}, SequenceId{INT32_MIN, 0}, SequenceId{again.slot, 9}}) {
    EXPECT_THROW(cache.free(bad), BadArgument);
    EXPECT_THROW(cache.fork(bad), BadArgument);
    EXPECT_THROW(cache.truncate(bad, 0), BadArgument);
    EXPECT_THROW(cache.extend({&bad, 1}, 1), BadArgument);
    EXPECT_THROW(append(cache, bad, random_tokens(cache.options(), 1, 1, random)), BadArgument);
    EXPECT_THROW(cache.view({&bad, 1}, view), BadArgument);
    EXPECT_THROW((void)cache.length(bad), BadArgument);
    EXPECT_THROW((void)cache.first_position(bad), BadArgument);
  }
  EXPECT_EQ(cache.sequences_in_use(), 1);
}

TEST(KvCacheErrors, RefusesAViewThatIsOutOfDate) {
  KvCache cache(small_options()), other(small_options());
  const SequenceId sequence = cache.create();
  KvView view;
  AttentionProblem problem;
  EXPECT_MESSAGE(BadArgument, cache.bind(view, 0, problem), "call view() again");
  cache.view({&sequence, 1}, view);
  cache.bind(view, 0, problem);
  EXPECT_THROW(other.bind(view, 0, problem), BadArgument);
  std::mt19937_64 random(14);
  append(cache, sequence, random_tokens(cache.options(), 1, 1, random));
  EXPECT_THROW(cache.bind(view, 0, problem), BadArgument);
  cache.view({&sequence, 1}, view);
  KvCache moved = std::move(cache);
  moved.bind(view, 0, problem);
  EXPECT_EQ(problem.sequences[0].key_count, 1);
}

TEST(KvCacheErrors, RefusesSizesOutsideItsLimits) {
  const auto refused = [](auto change, const char* name) {
    KvCacheOptions options = small_options();
    change(options);
    EXPECT_MESSAGE(BadArgument, KvCache{options}, name);
  };
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    refused([&](KvCacheOptions& o) { o.layers = bad; }, "layers");
    refused([&](KvCacheOptions& o) { o.kv_heads = bad; }, "kv_heads");
    refused([&](KvCacheOptions& o) { o.key_width = bad; }, "key_width");
    refused([&](KvCacheOptions& o) { o.value_width = bad; }, "value_width");
    refused([&](KvCacheOptions& o) { o.page_size = bad; }, "page_size");
    refused([&](KvCacheOptions& o) { o.page_count = bad; }, "page_count");
    refused([&](KvCacheOptions& o) { o.max_sequences = bad; }, "max_sequences");
    if (bad == 0) continue;
    refused([&](KvCacheOptions& o) { o.max_tokens = bad; }, "max_tokens");
    refused([&](KvCacheOptions& o) { o.window = bad; }, "window");
  }
  refused([](KvCacheOptions& o) { o.page_size = 15; }, "page_size");
  refused([](KvCacheOptions& o) { o.key_width = 1025; }, "key_width");
  refused([](KvCacheOptions& o) { o.values_in_keys = true; }, "value_width");  // 5 of 3
  refused([](KvCacheOptions& o) { o.dtype = DType::f64; }, "not supported: a cache of F64");
  refused([](KvCacheOptions& o) { o = KvCacheOptions::contiguous(2, 0); }, "kv_heads");
  KvCacheOptions enormous = small_options();
  enormous.layers = 4096;
  enormous.page_count = INT32_MAX;
  EXPECT_THROW(KvCache{enormous}, OutOfMemory);
  enormous.kv_heads = std::int64_t{1} << 20;
  enormous.key_width = 1024;
  enormous.page_size = std::int64_t{1} << 30;
  EXPECT_MESSAGE(OutOfMemory, KvCache{enormous}, "address space");
}

TEST(KvCacheErrors, RefusesTensorsThatDoNotFit) {
  KvCache cache(small_options());
  std::mt19937_64 random(15);
  const SequenceId sequence = cache.create();
  const Tokens tokens = random_tokens(cache.options(), 1, 2, random);
  const auto refused = [&](auto change, const char* part) {
    TensorView k = tokens.k(), v = tokens.v();
    change(k, v);
    EXPECT_MESSAGE(BadArgument, cache.append({&sequence, 1}, k, v), part);
    EXPECT_EQ(cache.length(sequence), 0);
    EXPECT_EQ(cache.pages_in_use(), 0);
  };
  refused([](TensorView& k, TensorView&) { k.data = nullptr; }, "k has no data");
  refused([](TensorView&, TensorView& v) { v.data = nullptr; }, "v has no data");
  refused([](TensorView& k, TensorView&) { k.shape[0] = 2; }, "k has shape [2, 2, 2, 3]");
  refused([](TensorView& k, TensorView&) { k.shape[1] = 0; }, "k has shape");
  refused([](TensorView& k, TensorView& v) { k.shape[2] = v.shape[2] = -1; }, "negative number of tokens");
  refused([](TensorView&, TensorView& v) { v.shape[2] = 1; }, "v has shape [1, 2, 1, 5]");
  refused([](TensorView& k, TensorView&) { k.shape[3] = 4; }, "the cache expects [1, 2, 2, 3]");
  refused([](TensorView& k, TensorView&) { k.dtype = DType::i8_row; }, "k is I8_ROW");
  refused([](TensorView&, TensorView& v) { v.dtype = DType::f64; }, "v is F64");
  refused([](TensorView& k, TensorView&) { k.data = static_cast<const std::byte*>(k.data) + 1; }, "address");
  const std::vector<SequenceId> twice = {sequence, sequence};
  const Tokens pair = random_tokens(cache.options(), 2, 2, random);
  EXPECT_MESSAGE(BadArgument, cache.append(twice, pair.k(), pair.v()), "named twice");
  EXPECT_MESSAGE(BadArgument, cache.extend({&sequence, 1}, -1), "cannot extend by -1");
  EXPECT_MESSAGE(BadArgument, cache.extend({&sequence, 1}, INT64_MAX), "2^30");
  EXPECT_MESSAGE(BadArgument, cache.truncate(sequence, 1), "cannot truncate to 1");
  EXPECT_MESSAGE(BadArgument, cache.truncate(sequence, -1), "cannot truncate to -1");
}

TEST(KvCacheErrors, NamesTheValueThatAPackedTypeCannotHold) {
  KvCacheOptions options = small_options();
  options.dtype = DType::i8_row;
  KvCache cache(options);
  std::mt19937_64 random(16);
  const SequenceId sequence = cache.create();
  append(cache, sequence, random_tokens(options, 1, 3, random));
  Tokens tokens = random_tokens(options, 1, 2, random);
  tokens.values[1 * 2 * 5 + 1 * 5 + 4] = std::numeric_limits<float>::infinity();
  EXPECT_MESSAGE(BadArgument, append(cache, sequence, tokens), "v at [0, 1, 1, 4] is not finite");
  EXPECT_EQ(cache.length(sequence), 3);
  tokens.values[1 * 2 * 5 + 1 * 5 + 4] = std::nanf("");
  EXPECT_MESSAGE(BadArgument, append(cache, sequence, tokens), "type I8_ROW");
}

TEST(KvCacheErrors, LimitsSequencesAndTheirTokens) {
  KvCacheOptions options = KvCacheOptions::contiguous(2, 40);
  options.kv_heads = 1;
  options.key_width = options.value_width = 4;
  KvCache cache(options);
  std::mt19937_64 random(18);
  const SequenceId a = cache.create();
  (void)cache.create();
  EXPECT_MESSAGE(OutOfMemory, cache.create(), "all 2 sequences");
  EXPECT_MESSAGE(OutOfMemory, cache.fork(a), "all 2 sequences");
  append(cache, a, random_tokens(options, 1, 40, random));
  EXPECT_EQ(cache.pages_in_use(), 1);
  EXPECT_MESSAGE(OutOfMemory, append(cache, a, random_tokens(options, 1, 1, random)), "at most 40 tokens, not 41");
  EXPECT_EQ(cache.length(a), 40);
  cache.truncate(a, 39);
  append(cache, a, random_tokens(options, 1, 1, random));
}

// Any numbers at all, in any order: a documented error or none, and in the end every page is free again.
TEST(KvCacheErrors, SurvivesAnyNumbers) {
  KvCacheOptions options = small_options();
  options.window = 20;
  KvCache cache(options);
  std::mt19937_64 random(24);
  const auto number = [&]() -> std::int64_t {
    constexpr std::int64_t kOdd[] = {-1, 0, 1, 15, 16, 17, 63, 1 << 30, INT64_MIN, INT64_MAX};
    return random() % 2 == 0 ? kOdd[random() % std::size(kOdd)] : static_cast<std::int64_t>(random() % 70);
  };
  const auto id = [&] {
    return SequenceId{static_cast<std::int32_t>(random() % 6) - 1, static_cast<std::uint32_t>(random() % 40)};
  };
  std::vector<SequenceId> known = {cache.create()};
  const auto any_id = [&] { return random() % 8 == 0 ? id() : known[random() % known.size()]; };
  const auto remember = [&](SequenceId made) { known.push_back(made); };
  int refused = 0, done = 0;
  KvView view;
  for (int n = 0; n < 20000; ++n) {
    const std::vector<SequenceId> batch(random() % 3, any_id());
    const std::vector<std::int64_t> positions = {number(), number()};
    AttentionProblem problem;
    problem.window_left = number();
    problem.q.shape[2] = number();
    const Tokens tokens = random_tokens(options, 1, static_cast<std::int64_t>(random() % 20), random);
    try {
      switch (random() % 9) {
        case 0:
          remember(cache.create());
          break;
        case 1:
          remember(cache.fork(any_id()));
          break;
        case 2:
          cache.free(any_id());
          break;
        case 3:
          cache.truncate(any_id(), number());
          break;
        case 4:
          cache.keep(any_id(), number(), positions);
          break;
        case 5:
          cache.extend(batch, number());
          break;
        case 6:
          cache.write(number(), batch, tokens.k(), tokens.v());
          break;
        case 7:
          append(cache, any_id(), tokens);
          break;
        default:
          cache.view(batch, view);
          if (!view.sequences.empty() && random() % 2 == 0) view.sequences[0].query_position = number();
          cache.bind(view, number(), problem);
          break;
      }
      ++done;
    } catch (const Error&) {
      ++refused;
    }
    ASSERT_LE(cache.pages_in_use(), options.page_count);
  }
  EXPECT_GT(done, 1000);
  EXPECT_GT(refused, 1000);
  for (const SequenceId made : known) {
    try {
      cache.free(made);
    } catch (const BadArgument&) {
    }
  }
  EXPECT_EQ(cache.pages_in_use(), 0);
  EXPECT_EQ(cache.sequences_in_use(), 0);
}

}  // namespace
}  // namespace sightline::testing
