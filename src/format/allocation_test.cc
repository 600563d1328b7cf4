// How much memory a hostile file makes its reader ask for. The operators below count for the whole test program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "src/format/gguf_testing.h"
#include "src/format/safetensors.h"
#include "src/format/testing.h"

namespace {

std::atomic<std::size_t> largest_request = 0, total_requested = 0;  // bytes

}  // namespace

// Not inlined: GCC would take free() here for a mismatch with new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  total_requested += size;
  for (std::size_t largest = largest_request;
       largest < size && !largest_request.compare_exchange_weak(largest, size);) {
  }
  if (void* data = std::malloc(size > 0 ? size : 1)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace sightline::format {
namespace {

// Parses the file, which must be refused, and returns the largest request that this took.
std::size_t largest_request_of(const std::string& bytes) {
  largest_request = total_requested = 0;
  EXPECT_THROW(SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "m"), BadFile);
  return largest_request;
}

TEST(Allocation, IsCounted) {
  largest_request = 0;
  ::operator delete(::operator new(12345));
  EXPECT_GE(largest_request, 12345u);
}

TEST(Allocation, OfABadHeaderLengthStaysBelowTheFile) {
  std::string bytes(4096, '{');
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::int64_t offset : {-9, -8, -7, -1, 0, 1}) {
      const std::uint64_t length = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(offset);
      std::memcpy(bytes.data(), &length, 8);
      EXPECT_LT(largest_request_of(bytes), bytes.size()) << length;
      EXPECT_LT(total_requested, std::size_t{1} << 20) << length;
    }
  }
}

TEST(Allocation, OfAnEnormousShapeStaysSmall) {
  const std::string header =
      R"({"t":{"dtype":"F32","shape":[1000000000,4000000],"data_offsets":[0,16000000000000000]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  EXPECT_LT(largest_request_of(bytes + header + "1234"), 4096u);
}

// Counts and lengths of every power of two in every place of a GGUF file: none is taken at its word.
TEST(Allocation, OfABadCountInAGgufFileStaysBelowTheFile) {
  const std::string good = GgufBuilder()
                               .string("general.architecture", "llama")
                               .strings("tokenizer.ggml.tokens", {"a", "b"})
                               .numbers("n", std::vector<float>{1, 2})
                               .tensor("t", {2}, 0, "12345678")
                               .bytes();
  int refused = 0;
  for (std::size_t at = 8; at + 8 <= good.size() - 8; at += 4) {
    for (int bit = 8; bit < 64; ++bit) {
      std::string bytes = good;
      const std::uint64_t count = std::uint64_t{1} << bit;
      std::memcpy(bytes.data() + at, &count, 8);
      largest_request = total_requested = 0;
      try {
        parse_gguf(bytes);
      } catch (const Error&) {
        ++refused;
      }
      EXPECT_LT(largest_request, std::size_t{2048}) << at << " " << bit;
      EXPECT_LT(total_requested, std::size_t{16} << 10) << at << " " << bit;
    }
  }
  EXPECT_GT(refused, 1000);
}

// What a good file costs grows with the file: pairs and records take a few times their bytes.
TEST(Allocation, OfAGgufFileIsAFewTimesItsHeader) {
  GgufBuilder builder;
  for (int i = 0; i < 2000; ++i) builder.number("k" + std::to_string(i), std::uint8_t{1});
  for (int i = 0; i < 2000; ++i) builder.tensor("t" + std::to_string(i), {0}, 0, "");
  const std::string bytes = builder.bytes();
  largest_request = total_requested = 0;
  EXPECT_EQ(parse_gguf(bytes).tensors().size(), 2000u);
  EXPECT_LT(total_requested, 12 * bytes.size()) << bytes.size();
}

}  // namespace
}  // namespace sightline::format
