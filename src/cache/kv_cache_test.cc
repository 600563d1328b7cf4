#include "sightline/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "sightline/error.h"
#include "src/cache/testing.h"
#include "src/tensor/half.h"

namespace sightline {
namespace {

using testing::append;
using testing::random_tokens;
using testing::Reading;
using testing::Tokens;

KvCacheOptions small_options() {
  KvCacheOptions options;
  options.kv_heads = 2;
  options.key_width = 3;
  options.value_width = 5;
  options.page_size = 16;
  options.page_count = 8;
  options.max_sequences = 4;
  return options;
}

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

// Row [b, head, token] of dense tokens.
std::vector<float> row_of(const std::vector<float>& values, const std::array<std::int64_t, 4>& shape, std::int64_t b,
                          std::int64_t head, std::int64_t token) {
  const auto begin = values.begin() + ((b * shape[1] + head) * shape[2] + token) * shape[3];
  return {begin, begin + shape[3]};
}

TEST(KvCache, GivesBackWhatWasAppended) {
  KvCache cache(small_options());
  std::mt19937_64 random(1);
  const SequenceId a = cache.create(), b = cache.create();
  const Tokens first = random_tokens(cache.options(), 2, 20, random),
               more = random_tokens(cache.options(), 1, 1, random);
  const std::vector<SequenceId> both = {b, a};
  cache.append(both, first.k(), first.v());
  append(cache, a, more);
  EXPECT_EQ(cache.length(a), 21);
  EXPECT_EQ(cache.length(b), 20);
  EXPECT_EQ(cache.pages_in_use(), 4);
  const Reading reading(cache, both);
  EXPECT_EQ(reading.problem().k.shape, (std::array<std::int64_t, 4>{2, 2, 21, 3}));
  EXPECT_EQ(reading.problem().v.shape, (std::array<std::int64_t, 4>{2, 2, 21, 5}));
  EXPECT_EQ(reading.span(0).key_count, 20);
  EXPECT_EQ(reading.span(1).key_count, 21);
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t token = 0; token < 20; ++token) {
        EXPECT_EQ(reading.key(n, head, token), row_of(first.keys, first.key_shape, n, head, token));
        EXPECT_EQ(reading.value(n, head, token), row_of(first.values, first.value_shape, n, head, token));
      }
    }
  }
  EXPECT_EQ(reading.key(1, 1, 20), row_of(more.keys, more.key_shape, 0, 1, 0));
}

// The rows of a head follow one another within a page.
TEST(KvCache, KeepsTheRowsOfAHeadTogether) {
  KvCacheOptions options = small_options();
  KvCache cache(options);
  append(cache, cache.create(), Tokens{{}, {}, {1, 2, 0, 3}, {1, 2, 0, 5}});
  const SequenceId sequence = cache.create();
  const Reading reading(cache, sequence);
  EXPECT_EQ(reading.problem().k.strides, (std::array<std::int64_t, 4>{0, 48, 3, 1}));
  EXPECT_EQ(reading.problem().v.strides, (std::array<std::int64_t, 4>{0, 80, 5, 1}));
  EXPECT_EQ(reading.problem().pages.k_page_stride, 96);  // 2 * 16 * 3 elements, a multiple of 64 bytes
  EXPECT_EQ(reading.problem().pages.v_page_stride, 160);
  EXPECT_EQ(cache.page_bytes(), (96 + 160) * 4);
  EXPECT_EQ(cache.bytes(), 8 * (96 + 160) * 4);
}

TEST(KvCache, ReadsStridedHalvesAndNegativeStrides) {
  KvCacheOptions options = small_options();
  options.dtype = DType::bf16;
  KvCache cache(options);
  // [n, Hkv, D], as a projection leaves it, in f16; tokens backwards.
  std::vector<std::uint16_t> keys(4 * 2 * 3), values(4 * 2 * 5);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = f32_to_f16(static_cast<float>(i));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f32_to_f16(-static_cast<float>(i));
  const SequenceId sequence = cache.create();
  cache.append({&sequence, 1}, {keys.data() + 3 * 6, DType::f16, {1, 2, 4, 3}, {0, 3, -6, 1}},
               {values.data() + 3 * 10, DType::f16, {1, 2, 4, 5}, {0, 5, -10, 1}});
  const Reading reading(cache, sequence);
  for (std::int64_t token = 0; token < 4; ++token) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const float key = static_cast<float>((3 - token) * 6 + head * 3),
                  value = static_cast<float>((3 - token) * 10 + head * 5);
      EXPECT_EQ(reading.key(0, head, token), (std::vector<float>{key, key + 1, key + 2}));
      EXPECT_EQ(reading.value(0, head, token)[4], -value - 4);
    }
  }
}

TEST(KvCache, KeepsEachTypeAsItsCodecDoes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1}) {
    KvCacheOptions options = small_options();
    options.dtype = dtype;
    options.key_width = 33;
    options.value_width = 70;
    KvCache cache(options);
    std::mt19937_64 random(2);
    const Tokens tokens = random_tokens(options, 1, 35, random);
    const SequenceId sequence = cache.create();
    append(cache, sequence, tokens);
    const Reading reading(cache, sequence);
    const auto through = [&](const std::vector<float>& row) {
      std::vector<std::byte> bytes(row_bytes(dtype, static_cast<std::int64_t>(row.size())));
      std::vector<float> values(row.size());
      encode_row(dtype, row, bytes.data());
      decode_row(dtype, bytes.data(), values);
      return values;
    };
    for (std::int64_t token = 0; token < 35; ++token) {
      EXPECT_EQ(reading.key(0, 1, token), through(row_of(tokens.keys, tokens.key_shape, 0, 1, token)));
      EXPECT_EQ(reading.value(0, 0, token), through(row_of(tokens.values, tokens.value_shape, 0, 0, token)));
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(reading.problem().k.data) % 64, 0u);
    EXPECT_EQ(reading.problem().pages.k_page_stride *
                  static_cast<std::int64_t>(is_packed(dtype) ? 1 : dtype_size(dtype)) % 64,
              0);
    EXPECT_TRUE(dtype != DType::i8_row || reading.problem().k.strides[2] % 4 == 0);
  }
}

TEST(KvCache, KeepsValuesThatAreInTheKeysOnce) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8_row, DType::q4_1}) {
    KvCacheOptions options = small_options();
    options.kv_heads = 1;
    options.key_width = 576;
    options.value_width = 512;
    options.values_in_keys = true;
    options.dtype = dtype;
    KvCache cache(options);
    std::mt19937_64 random(3);
    const Tokens tokens = random_tokens(options, 1, 20, random);
    const SequenceId sequence = cache.create();
    append(cache, sequence, tokens);
    const Reading reading(cache, sequence);
    const auto key = reading.key(0, 0, 17);
    EXPECT_EQ(reading.value(0, 0, 17), std::vector<float>(key.begin(), key.begin() + 512)) << dtype_name(dtype);
    EXPECT_EQ(cache.page_bytes(), 16 * static_cast<std::int64_t>(row_bytes(dtype, 576)));
    EXPECT_MESSAGE(BadArgument, cache.append({&sequence, 1}, tokens.k(), tokens.v()), "values are in its keys");
  }
}

TEST(KvCache, ForksShareAndCopyOnWrite) {
  KvCache cache(small_options());
  std::mt19937_64 random(4);
  const SequenceId parent = cache.create();
  const Tokens prompt = random_tokens(cache.options(), 1, 20, random);
  append(cache, parent, prompt);
  const SequenceId child = cache.fork(parent), grandchild = cache.fork(child);
  EXPECT_EQ(cache.pages_in_use(), 2);
  const Tokens one = random_tokens(cache.options(), 1, 1, random), two = random_tokens(cache.options(), 1, 1, random);
  append(cache, child, one);
  EXPECT_EQ(cache.pages_in_use(), 3);  // the second page; the first stays common
  append(cache, parent, two);
  EXPECT_EQ(cache.pages_in_use(), 4);
  append(cache, grandchild, two);  // the last holder of the old page keeps it
  EXPECT_EQ(cache.pages_in_use(), 4);
  EXPECT_EQ(Reading(cache, child).key(0, 0, 20), row_of(one.keys, one.key_shape, 0, 0, 0));
  EXPECT_EQ(Reading(cache, parent).key(0, 0, 20), row_of(two.keys, two.key_shape, 0, 0, 0));
  for (const SequenceId sequence : {parent, child, grandchild}) {
    for (std::int64_t token = 0; token < 20; ++token) {
      EXPECT_EQ(Reading(cache, sequence).value(0, 1, token), row_of(prompt.values, prompt.value_shape, 0, 1, token));
    }
  }
  cache.free(parent);
  EXPECT_EQ(cache.pages_in_use(), 3);
  cache.free(child);
  cache.free(grandchild);
  EXPECT_EQ(cache.pages_in_use(), 0);
  EXPECT_EQ(cache.sequences_in_use(), 0);
}

TEST(KvCache, TruncatesIntoASharedPageWithoutTouchingIt) {
  KvCache cache(small_options());
  std::mt19937_64 random(5);
  const SequenceId parent = cache.create();
  const Tokens prompt = random_tokens(cache.options(), 1, 40, random),
               one = random_tokens(cache.options(), 1, 1, random);
  append(cache, parent, prompt);
  const SequenceId child = cache.fork(parent);
  cache.truncate(child, 18);
  append(cache, child, one);
  EXPECT_EQ(Reading(cache, parent).key(0, 0, 18), row_of(prompt.keys, prompt.key_shape, 0, 0, 18));
  EXPECT_EQ(Reading(cache, child).key(0, 0, 17), row_of(prompt.keys, prompt.key_shape, 0, 0, 17));
  EXPECT_EQ(Reading(cache, child).key(0, 0, 18), row_of(one.keys, one.key_shape, 0, 0, 0));
  EXPECT_EQ(cache.pages_in_use(), 4);
}

TEST(KvCache, RollsAndKeepsPositions) {
  KvCacheOptions options = small_options();
  options.window = 20;
  options.page_count = 3;
  KvCache cache(options);
  std::mt19937_64 random(6);
  const SequenceId sequence = cache.create();
  std::vector<Tokens> tokens;
  for (std::int64_t n = 0; n < 200; ++n) {
    tokens.push_back(random_tokens(options, 1, 1, random));
    append(cache, sequence, tokens.back());
    const Reading reading(cache, sequence);
    const std::int64_t begin = reading.span().key_position;
    EXPECT_EQ(begin + reading.span().key_count, n + 1);
    EXPECT_LE(begin, std::max<std::int64_t>(0, n + 1 - 20));
    EXPECT_GT(begin + 16, n - 20) << "a page that nobody sees is still there";
    EXPECT_EQ(cache.first_position(sequence), std::max<std::int64_t>(0, n + 1 - 20));
    for (std::int64_t j = 0; j < reading.span().key_count; ++j)
      ASSERT_EQ(reading.key(0, 1, j), row_of(tokens[begin + j].keys, tokens[0].key_shape, 0, 1, 0));
  }
  EXPECT_LE(cache.pages_in_use(), 3);
}

TEST(KvCache, GoesBackAsFarAsTheWindowIsKept) {
  KvCacheOptions options = small_options();
  options.window = 4;
  KvCache cache(options);
  std::mt19937_64 random(7);
  const SequenceId sequence = cache.create();
  append(cache, sequence, random_tokens(options, 1, 10, random));
  cache.truncate(sequence, 7);  // everything from position 0 is kept: only an append gives back
  append(cache, sequence, random_tokens(options, 1, 3, random));
  EXPECT_EQ(cache.first_position(sequence), 4);
  cache.truncate(sequence, 7);  // sees 4, 5 and 6
  const std::string message = message_of<BadArgument>([&] { cache.truncate(sequence, 6); });
  EXPECT_NE(message.find("only positions from 4 are left"), std::string::npos) << message;
  EXPECT_NE(message.find("go back to 7 or more, or to 0"), std::string::npos) << message;
  EXPECT_EQ(cache.length(sequence), 7);
  cache.truncate(sequence, 0);
  EXPECT_EQ(cache.first_position(sequence), 0);
  EXPECT_EQ(cache.pages_in_use(), 0);
  append(cache, sequence, random_tokens(options, 1, 17, random));
  EXPECT_EQ(Reading(cache, sequence).span().key_position, 0);
}

TEST(KvCache, RefusesQueriesThatSeeWhatIsGone) {
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

TEST(KvCache, FillsSeveralLayersInTwoSteps) {
  KvCacheOptions options = small_options();
  options.layers = 3;
  KvCache cache(options);
  std::mt19937_64 random(9);
  const SequenceId sequence = cache.create();
  std::vector<Tokens> tokens;
  cache.extend({&sequence, 1}, 18);
  KvView view;
  cache.view({&sequence, 1}, view);
  AttentionProblem problem;
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    tokens.push_back(random_tokens(options, 1, 18, random));
    EXPECT_MESSAGE(BadArgument, cache.bind(view, layer, problem), "was given 0 of the 18 tokens");
    cache.write(layer, {&sequence, 1}, tokens[layer].k(), tokens[layer].v());
    cache.bind(view, layer, problem);
  }
  const SequenceId child = cache.fork(sequence);
  cache.extend({&child, 1}, 1);  // copies the shared page of every layer
  const Tokens one = random_tokens(options, 1, 1, random);
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    cache.write(layer, {&child, 1}, one.k(), one.v());
    const Reading reading(cache, child, layer);
    for (std::int64_t token = 0; token < 18; ++token) {
      EXPECT_EQ(reading.key(0, 1, token), row_of(tokens[layer].keys, tokens[layer].key_shape, 0, 1, token));
    }
  }
  EXPECT_MESSAGE(BadArgument, append(cache, sequence, one), "caches of one layer");
  EXPECT_MESSAGE(BadArgument, cache.write(3, {&child, 1}, one.k(), one.v()), "none is layer 3");
  EXPECT_MESSAGE(BadArgument, cache.bind(view, -1, problem), "none is layer -1");
}

TEST(KvCache, DoesNotWriteWhatAForkShares) {
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

TEST(KvCache, AFullPoolRefusesTheWholeBatch) {
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

// Both let the common front go in one call, and one gets the page that the other needs no longer.
TEST(KvCache, ABatchThatGivesBackMayTakeWhatItGave) {
  KvCacheOptions options = small_options();
  options.window = 16;
  options.page_count = 5;
  KvCache cache(options);
  std::mt19937_64 random(12);
  const SequenceId a = cache.create();
  append(cache, a, random_tokens(options, 1, 52, random));  // 4 pages, of which only the last ones are seen
  const SequenceId b = cache.fork(a);
  const std::vector<SequenceId> both = {a, b};
  // Pages 0 and 1 go; page 3 is copied once; each takes one more: 2 left + copy + 2 = 5.
  const Tokens tokens = random_tokens(options, 2, 13, random);
  cache.append(both, tokens.k(), tokens.v());
  EXPECT_EQ(cache.pages_in_use(), 5);
  const Reading reading(cache, both);
  EXPECT_EQ(reading.span(0).key_position, 32);
  for (std::int64_t n = 0; n < 2; ++n) {
    EXPECT_EQ(reading.key(n, 0, 52 - 32), row_of(tokens.keys, tokens.key_shape, n, 0, 0));
    EXPECT_EQ(reading.key(n, 1, 64 - 32), row_of(tokens.keys, tokens.key_shape, n, 1, 12));
  }
  EXPECT_EQ(reading.key(0, 1, 51 - 32), reading.key(1, 1, 51 - 32));
}

TEST(KvCache, RefusesHandlesThatAreNotInUse) {
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

TEST(KvCache, RefusesAViewThatIsOutOfDate) {
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

TEST(KvCache, RefusesSizesOutsideItsLimits) {
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

TEST(KvCache, RefusesTensorsThatDoNotFit) {
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

TEST(KvCache, NamesTheValueThatAPackedTypeCannotHold) {
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

TEST(KvCache, KeepsNanInTypesThatHoldIt) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    KvCacheOptions options = small_options();
    options.dtype = dtype;
    KvCache cache(options);
    std::mt19937_64 random(17);
    Tokens tokens = random_tokens(options, 1, 1, random);
    tokens.keys[1] = std::nanf("");
    const SequenceId sequence = cache.create();
    append(cache, sequence, tokens);
    const auto key = Reading(cache, sequence).key(0, 0, 0);
    EXPECT_FALSE(std::isnan(key[0]));
    EXPECT_TRUE(std::isnan(key[1]));
  }
}

TEST(KvCache, LimitsSequencesAndTheirTokens) {
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

TEST(KvCache, DoesNothingForEmptyBatchesAndNoTokens) {
  KvCache cache(small_options());
  std::mt19937_64 random(19);
  const Tokens nothing = random_tokens(cache.options(), 0, 4, random),
               none = random_tokens(cache.options(), 1, 0, random);
  cache.append({}, nothing.k(), nothing.v());
  const SequenceId sequence = cache.create();
  append(cache, sequence, none);
  EXPECT_EQ(cache.length(sequence), 0);
  KvView view;
  cache.view({}, view);
  AttentionProblem problem;
  cache.bind(view, 0, problem);
  EXPECT_EQ(problem.k.shape[0], 0);
}

TEST(KvCache, TouchesMemoryWhereAsked) {
  KvCacheOptions options = small_options();
  options.touch = true;
  options.page_count = 512;
  options.page_size = 4096;  // 50 MB: large pages are asked for
  KvCache cache(options);
  const SequenceId sequence = cache.create();
  const Reading reading(cache, sequence);
  EXPECT_EQ(static_cast<const float*>(reading.problem().k.data)[12345], 0.0f);
}

}  // namespace
}  // namespace sightline
