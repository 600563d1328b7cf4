#include "sightline/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "src/cache/testing.h"
#include "src/tensor/half.h"

namespace sightline::testing {
namespace {

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

// Of 30 tokens 18 stay; then 5 of the others follow, across pages and layers.
TEST(KvCache, KeepsThePathThatWasAccepted) {
  KvCacheOptions options = small_options();
  options.layers = 2;
  KvCache cache(options);
  std::mt19937_64 random(22);
  const SequenceId sequence = cache.create();
  cache.extend({&sequence, 1}, 30);
  std::vector<Tokens> tokens;
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    tokens.push_back(random_tokens(options, 1, 30, random));
    cache.write(layer, {&sequence, 1}, tokens[layer].k(), tokens[layer].v());
  }
  const std::vector<std::int64_t> accepted = {14, 15, 17, 22, 29};
  cache.keep(sequence, 14, accepted);
  EXPECT_EQ(cache.length(sequence), 19);
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    const Reading reading(cache, sequence, layer);
    for (std::int64_t position = 0; position < 19; ++position) {
      const std::int64_t from = position < 14 ? position : accepted[static_cast<std::size_t>(position - 14)];
      EXPECT_EQ(reading.key(0, 1, position), row_of(tokens[layer].keys, tokens[layer].key_shape, 0, 1, from));
      EXPECT_EQ(reading.value(0, 0, position), row_of(tokens[layer].values, tokens[layer].value_shape, 0, 0, from));
    }
  }
  cache.keep(sequence, 3, {});
  EXPECT_EQ(cache.length(sequence), 3);
  EXPECT_EQ(cache.pages_in_use(), 1);
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

// What ThreadSanitizer is to see: one thread a sequence, all of one prompt, each writing and reading its own.
TEST(KvCache, IsWrittenAndReadByThreadsAtOnce) {
  constexpr std::int64_t kThreads = 4;
  KvCacheOptions options = small_options();
  options.layers = 2;
  options.page_count = 40;
  KvCache cache(options);
  std::mt19937_64 random(21);
  const Tokens prompt = random_tokens(options, 1, 20, random), answers = random_tokens(options, 1, 60, random);
  std::vector<SequenceId> ids = {cache.create()};
  cache.extend(ids, 20);
  for (std::int64_t layer = 0; layer < 2; ++layer) cache.write(layer, ids, prompt.k(), prompt.v());
  while (static_cast<std::int64_t>(ids.size()) < kThreads) ids.push_back(cache.fork(ids[0]));
  cache.extend(ids, 60);
  std::vector<std::thread> threads;
  for (const SequenceId id : ids) {
    threads.emplace_back([&cache, &answers, id] {
      for (std::int64_t layer = 0; layer < 2; ++layer) {
        cache.write(layer, {&id, 1}, answers.k(), answers.v());
        const Reading reading(cache, id, layer);
        EXPECT_EQ(reading.key(0, 1, 79), row_of(answers.keys, answers.key_shape, 0, 1, 59));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const SequenceId id : ids) {
    const Reading reading(cache, id, 1);
    EXPECT_EQ(reading.value(0, 0, 19), row_of(prompt.values, prompt.value_shape, 0, 0, 19));
    EXPECT_EQ(reading.value(0, 0, 20), row_of(answers.values, answers.value_shape, 0, 0, 0));
  }
}

}  // namespace
}  // namespace sightline::testing
