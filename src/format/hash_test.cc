#include "src/format/hash.h"

#include <gtest/gtest.h>

namespace sightline::format {
namespace {

std::string hash_of(std::string_view text, std::size_t piece) {
  Hash hash;
  for (std::size_t at = 0; at < text.size(); at += piece) hash.add(std::as_bytes(std::span(text.substr(at, piece))));
  return hash.text();
}

// The first is XXH3's published value for no bytes; the second is what xxhsum -H2 says of a file.
TEST(Hash, IsThatOfXxhsum) {
  EXPECT_EQ(Hash().text(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of("The quick brown fox jumps over the lazy dog", 100), "ddd650205ca3e7fa24a1cc2e3a8a7651");
}

TEST(Hash, DoesNotDependOnThePieces) {
  const std::string text(1000, 'x');
  for (const std::size_t piece : {1, 7, 256}) EXPECT_EQ(hash_of(text, piece), hash_of(text, 1000));
}

TEST(Hash, KeepsTextsApart) {
  Hash one, other;
  one.add("ab");
  one.add("c");
  other.add("a");
  other.add("bc");
  EXPECT_NE(one.text(), other.text());
}

}  // namespace
}  // namespace sightline::format
