#include "src/format/deflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <string_view>

namespace sightline::format {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// zlib's own inflate gives back what went in, of every size around the size of a buffer.
TEST(Deflate, IsInflatedByZlib) {
  std::mt19937 random(7);
  for (const std::size_t size : {0, 1, 1000, 65535, 65536, 65537, 400000}) {
    for (const int values : {1, 7, 256}) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random() % static_cast<unsigned>(values));
      const std::vector<std::byte> packed = deflated(bytes_of(text));
      std::string back(size + 1, '\0');
      uLongf length = back.size();
      ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &length,
                           reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
                Z_OK);
      back.resize(length);
      EXPECT_TRUE(back == text) << size << " bytes of " << values;
      if (values == 1 && size > 1000) EXPECT_LT(packed.size(), size / 100);
    }
  }
}

}  // namespace
}  // namespace sightline::format
