// Rows of a cache as bytes: out of one, into another of other pages.

#include "sightline/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "src/cache/testing.h"

namespace sightline::testing {
namespace {

struct Bytes {
  Bytes(const KvCache& cache, std::int64_t count)
      : keys(static_cast<std::size_t>(cache.options().kv_heads * count * cache.key_bytes())),
        values(static_cast<std::size_t>(cache.options().kv_heads * count * cache.value_bytes())) {}

  std::vector<std::byte> keys, values;
};

Bytes copied(const KvCache& cache, std::int64_t layer, SequenceId sequence, std::int64_t begin, std::int64_t count) {
  Bytes bytes(cache, count);
  cache.copy_rows(layer, sequence, begin, bytes.keys, bytes.values);
  return bytes;
}

// Token 0 of `part` is token `begin` of `whole`.
void expect_part(const Reading& part, const Reading& whole, std::int64_t begin, std::int64_t count) {
  for (std::int64_t head = 0; head < 2; ++head) {
    for (std::int64_t token = 0; token < count; ++token) {
      EXPECT_EQ(part.key(0, head, token), whole.key(0, head, begin + token)) << head << ", " << token;
      EXPECT_EQ(part.value(0, head, token), whole.value(0, head, begin + token)) << head << ", " << token;
    }
  }
}

TEST(KvCacheBytes, GoFromOneCacheToAnother) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8_row, DType::q4_1}) {
    KvCacheOptions options = small_options();
    options.dtype = dtype;
    options.layers = 2;
    KvCache from(options);
    options.page_size = 48;
    KvCache to(options);
    std::mt19937_64 random(3);
    const SequenceId before = from.create(), source = from.create();
    from.extend({&before, 1}, 5);  // so that pages of the source are not the first ones
    from.extend({&source, 1}, 37);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      const Tokens tokens = random_tokens(options, 1, 37, random);
      from.write(layer, {&source, 1}, tokens.k(), tokens.v());
    }
    for (const auto& [begin, count] : {std::pair<std::int64_t, std::int64_t>(0, 37), {15, 2}, {36, 1}}) {
      const SequenceId part = to.create();
      to.extend({&part, 1}, count);
      for (std::int64_t layer = 0; layer < 2; ++layer) {
        const Bytes bytes = copied(from, layer, source, begin, count);
        to.write_rows(layer, part, bytes.keys, bytes.values);
        expect_part(Reading(to, part, layer), Reading(from, source, layer), begin, count);
      }
      to.free(part);
    }
  }
}

// The bytes are row_bytes() of each row, [heads, tokens].
TEST(KvCacheBytes, AreRowsOfOneHeadAfterTheOther) {
  KvCache cache(small_options());
  std::mt19937_64 random(4);
  const SequenceId sequence = cache.create();
  const Tokens tokens = random_tokens(cache.options(), 1, 18, random);
  append(cache, sequence, tokens);
  EXPECT_EQ(cache.key_bytes(), 3 * 4);
  EXPECT_EQ(cache.value_bytes(), 5 * 4);
  const Bytes bytes = copied(cache, 0, sequence, 0, 18);
  EXPECT_EQ(0, std::memcmp(bytes.keys.data(), tokens.keys.data(), bytes.keys.size()));
  EXPECT_EQ(0, std::memcmp(bytes.values.data(), tokens.values.data(), bytes.values.size()));
}

TEST(KvCacheBytes, AreOfKeysAloneWhereValuesAreInThem) {
  KvCacheOptions options = small_options();
  options.values_in_keys = true;
  options.value_width = 2;
  KvCache cache(options);
  std::mt19937_64 random(5);
  const SequenceId sequence = cache.create();
  append(cache, sequence, random_tokens(options, 1, 4, random));
  EXPECT_EQ(cache.value_bytes(), 0);
  Bytes bytes = copied(cache, 0, sequence, 1, 3);
  EXPECT_MESSAGE(BadArgument, cache.copy_rows(0, sequence, 1, bytes.keys, bytes.keys), "no rows of as many tokens");
  cache.truncate(sequence, 0);
  cache.extend({&sequence, 1}, 3);
  cache.write_rows(0, sequence, bytes.keys, {});
  EXPECT_EQ(copied(cache, 0, sequence, 0, 3).keys, bytes.keys);
}

TEST(KvCacheBytes, RefusesWhatIsNotThere) {
  KvCacheOptions options = small_options();
  options.window = 4;
  KvCache cache(options);
  std::mt19937_64 random(6);
  const SequenceId sequence = cache.create();
  append(cache, sequence, random_tokens(options, 1, 40, random));
  append(cache, sequence, random_tokens(options, 1, 1, random));
  const std::int64_t first = cache.first_position(sequence) / 16 * 16;  // whole pages are kept
  ASSERT_GT(first, 0);
  copied(cache, 0, sequence, first, 41 - first);
  const auto refuses = [&](std::int64_t begin, std::int64_t count) {
    EXPECT_MESSAGE(BadArgument, copied(cache, 0, sequence, begin, count), "cannot copy");
  };
  refuses(first - 1, 1);
  refuses(40, 2);
  refuses(-1, 1);
  refuses(INT64_MIN, 1);
  refuses(INT64_MAX, 1);
  Bytes bytes(cache, 2);
  EXPECT_MESSAGE(BadArgument, cache.copy_rows(1, sequence, 39, bytes.keys, bytes.values), "none is layer 1");
  EXPECT_MESSAGE(BadArgument, cache.copy_rows(0, sequence, 39, std::span(bytes.keys).first(7), {}), "no rows");
  EXPECT_MESSAGE(BadArgument, cache.copy_rows(0, sequence, 39, bytes.keys, {}), "no rows");
  EXPECT_MESSAGE(BadArgument, cache.write_rows(0, sequence, {}, bytes.values), "no rows");
  cache.extend({&sequence, 1}, 2);
  refuses(41, 1);  // not written yet
  const SequenceId child = cache.fork(sequence);
  EXPECT_MESSAGE(BadArgument, cache.write_rows(0, child, bytes.keys, bytes.values), "shared with a fork");
  cache.free(child);
  cache.write_rows(0, sequence, bytes.keys, bytes.values);
  EXPECT_EQ(copied(cache, 0, sequence, 41, 2).keys, bytes.keys);
  const Bytes more(cache, 44);
  EXPECT_MESSAGE(BadArgument, cache.write_rows(0, sequence, more.keys, more.values), "cannot write the last 44");
}

}  // namespace
}  // namespace sightline::testing
