#include "src/tensor/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>

namespace sightline {
namespace {

TEST(AlignedBuffer, StartsOnABoundaryWhateverItsSize) {
  for (const std::size_t size : {1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 100'003}) {
    const AlignedBuffer<std::uint8_t> bytes(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0u) << size;
    const AlignedBuffer<double> doubles(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(doubles.data()) % 64, 0u) << size;
    EXPECT_EQ(doubles.size(), size);
  }
}

TEST(AlignedBuffer, HoldsWhatIsWritten) {
  AlignedBuffer<std::int64_t> buffer(1001);
  std::iota(buffer.begin(), buffer.end(), 0);
  EXPECT_EQ(std::accumulate(buffer.span().begin(), buffer.span().end(), std::int64_t{0}), 1000 * 1001 / 2);
  EXPECT_EQ(buffer[1000], 1000);
}

TEST(AlignedBuffer, ZeroesOnRequest) {
  {
    AlignedBuffer<std::uint32_t> dirty(4096);
    std::fill(dirty.begin(), dirty.end(), 0xFFFFFFFFu);
  }
  const auto buffer = AlignedBuffer<std::uint32_t>::zeroed(4096);
  for (const std::uint32_t value : buffer) ASSERT_EQ(value, 0u);
}

TEST(AlignedBuffer, EmptyOwnsNothing) {
  const auto buffer = AlignedBuffer<float>::zeroed(0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_TRUE(buffer.span().empty());
}

TEST(AlignedBuffer, MovesItsMemory) {
  AlignedBuffer<int> first(3);
  first[2] = 7;
  const int* data = first.data();
  AlignedBuffer<int> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.size(), 3u);
  EXPECT_EQ(first.size(), 0u);
  AlignedBuffer<int> third(10);
  third = std::move(second);
  EXPECT_EQ(third[2], 7);
  EXPECT_EQ(third.size(), 3u);
  EXPECT_TRUE(second.empty());
}

TEST(AlignedBuffer, RefusesSizesBeyondTheAddressSpace) {
  EXPECT_THROW(AlignedBuffer<float>(SIZE_MAX), OutOfMemory);
  EXPECT_THROW(AlignedBuffer<float>(SIZE_MAX / 4 + 2), OutOfMemory);  // x 4 wraps around to 4 bytes
  EXPECT_THROW(AlignedBuffer<float>(static_cast<std::size_t>(std::int64_t{-1})), OutOfMemory);
  EXPECT_THROW(AlignedBuffer<float>::zeroed(SIZE_MAX / 8 + 1), OutOfMemory);
}

}  // namespace
}  // namespace sightline
