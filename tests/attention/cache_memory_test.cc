// Caches whose memory runs out at each allocation in turn, and how often there are allocations at all.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory_resource>
#include <new>

#include "sightline/error.h"
#include "src/cache/testing.h"
#include "src/tensor/aligned_buffer.h"
#include "tests/attention/failing_memory.h"

namespace sightline::testing {
namespace {

KvCacheOptions options_of(DType dtype) {
  KvCacheOptions options;
  options.kv_heads = 2;
  options.key_width = options.value_width = 40;
  options.dtype = dtype;
  options.page_size = 16;
  options.page_count = 12;
  options.max_sequences = 3;
  options.window = 32;
  return options;
}

// Everything that a caller can know of a cache.
std::vector<std::byte> contents(const KvCache& cache, std::span<const SequenceId> ids) {
  std::vector<std::byte> all;
  const auto add = [&](const void* data, std::size_t size) {
    all.insert(all.end(), static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + size);
  };
  const std::int64_t numbers[] = {cache.pages_in_use(), cache.sequences_in_use()};
  add(numbers, sizeof(numbers));
  for (const SequenceId id : ids) {
    const Reading reading(cache, id);
    const std::int64_t of_sequence[] = {cache.length(id), cache.first_position(id), reading.span().key_count,
                                        reading.span().key_position, reading.problem().pages.table[0]};
    add(of_sequence, sizeof(of_sequence));
  }
  const Reading reading(cache, ids);  // the whole pool, used or not
  add(reading.problem().k.data, static_cast<std::size_t>(cache.bytes()) / 2);
  add(reading.problem().v.data, static_cast<std::size_t>(cache.bytes()) / 2);
  return all;
}

// A cache with a shared page, and what was given back.
struct Scene {
  explicit Scene(DType dtype) : cache(options_of(dtype)) {
    std::mt19937_64 random(1);
    ids.push_back(cache.create());
    append(cache, ids[0], random_tokens(cache.options(), 1, 70, random));
    append(cache, ids[0], random_tokens(cache.options(), 1, 1, random));
    ids.push_back(cache.fork(ids[0]));
    next = random_tokens(cache.options(), 1, 20, random);
  }

  KvCache cache;
  std::vector<SequenceId> ids;
  Tokens next;
};

TEST(CacheMemory, RequestsAreCounted) {
  EXPECT_EQ(requests_of([] { ::operator delete(::operator new(100)); }), 1);
  EXPECT_EQ(requests_of([] { AlignedBuffer<float> buffer(100); }), 1);
}

TEST(CacheMemory, RunsOutWhileACacheIsMade) {
  const auto tried = fail_each_request([] { KvCache cache(options_of(DType::f32)); }, [] {});
  EXPECT_GE(tried, 7) << "keys, values, table, pages, sequences and more";
}

// Counts what it hands out, and refuses a request.
class CountingMemory final : public std::pmr::memory_resource {
 public:
  std::int64_t requested = 0, failing = 0;
  std::size_t held = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (++requested == failing) throw std::bad_alloc();
    held += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    held -= bytes;
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(CacheMemory, ComesFromWhereTheCallerSays) {
  CountingMemory memory;
  KvCacheOptions options = options_of(DType::f32);
  options.memory = &memory;
  {
    const KvCache cache(options);
    EXPECT_GE(memory.held, static_cast<std::size_t>(cache.bytes()));
  }
  EXPECT_EQ(memory.held, 0u);
  const std::int64_t requests_of_one = memory.requested;
  EXPECT_GE(requests_of_one, 7);
  for (std::int64_t n = 1; n <= requests_of_one; ++n) {
    memory.requested = 0;
    memory.failing = n;
    EXPECT_THROW(KvCache{options}, OutOfMemory) << n;
    EXPECT_EQ(memory.held, 0u);
  }
}

TEST(CacheMemory, NothingIsRequestedAfterwards) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1}) {
    Scene scene(dtype);
    KvView view;
    AttentionProblem problem;
    problem.window_left = 31;
    problem.q.shape[2] = 1;
    scene.cache.view(scene.ids, view);  // takes its memory the first time
    EXPECT_EQ(requests_of([&] {
                for (int n = 0; n < 50; ++n) {
                  append(scene.cache, scene.ids[0], scene.next);
                  const SequenceId fork = scene.cache.fork(scene.ids[1]);
                  append(scene.cache, fork, scene.next);
                  const std::int64_t last[] = {scene.cache.length(fork) - 8};
                  scene.cache.truncate(fork, scene.cache.length(fork) - 7);
                  scene.cache.keep(fork, scene.cache.length(fork) - 3, last);
                  scene.cache.free(fork);
                  scene.cache.view(scene.ids, view);
                  scene.cache.bind(view, 0, problem);
                }
              }),
              0)
        << dtype_name(dtype);
  }
}

TEST(CacheMemory, AViewThatFindsNoneLeavesTheCacheAsItWas) {
  const Scene scene(DType::f32);
  const auto before = contents(scene.cache, scene.ids);
  const auto tried = fail_each_request(
      [&] {
        KvView view;
        scene.cache.view(scene.ids, view);
      },
      [&] { EXPECT_EQ(contents(scene.cache, scene.ids), before); });
  EXPECT_GE(tried, 3);
  KvView view;
  scene.cache.view(scene.ids, view);
  const std::vector<SequenceId> more(100, scene.ids[0]);
  fail_request(1);
  EXPECT_THROW(scene.cache.view(more, view), OutOfMemory);
  fail_request(0);
  AttentionProblem problem;
  EXPECT_THROW(scene.cache.bind(view, 0, problem), BadArgument) << "a view that failed was taken";
}

// An error is a string, for which there may be no memory either: whatever is thrown then, the cache stays.
TEST(CacheMemory, RefusedCallsLeaveTheCacheAsItWas) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1}) {
    Scene scene(dtype);
    std::mt19937_64 random(2);
    const Tokens too_many = random_tokens(scene.cache.options(), 2, 130, random);
    Tokens bad = random_tokens(scene.cache.options(), 1, 20, random);
    bad.values.back() = INFINITY;
    const auto before = contents(scene.cache, scene.ids);
    const auto unchanged_by = [&](const auto& call) {
      for (std::int64_t n = 0; n < 12; ++n) {
        fail_request(n);
        EXPECT_ANY_THROW(call());
        fail_request(0);
        EXPECT_TRUE(contents(scene.cache, scene.ids) == before) << dtype_name(dtype);
      }
    };
    unchanged_by([&] { scene.cache.append(scene.ids, too_many.k(), too_many.v()); });
    unchanged_by([&] { scene.cache.extend(scene.ids, 130); });
    unchanged_by([&] { scene.cache.truncate(scene.ids[0], 20); });
    unchanged_by([&] { scene.cache.truncate(scene.ids[0], 1000); });
    unchanged_by([&] { scene.cache.free({}); });
    unchanged_by([&] { scene.cache.keep(scene.ids[0], 70, std::vector<std::int64_t>{71}); });
    unchanged_by([&] { scene.cache.write(0, {&scene.ids[1], 1}, scene.next.k(), scene.next.v()); });
    unchanged_by([&] { scene.cache.append(scene.ids, scene.next.k(), scene.next.v()); });
    if (is_packed(dtype)) unchanged_by([&] { append(scene.cache, scene.ids[0], bad); });
    append(scene.cache, scene.ids[0], scene.next);
    EXPECT_FALSE(contents(scene.cache, scene.ids) == before);
  }
}

}  // namespace
}  // namespace sightline::testing
