#include "serve/size_text.h"

#include <gtest/gtest.h>

#include "sightline/error.h"

namespace sightline::serve {
namespace {

TEST(SizeText, IsReadByPeople) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1024), "1.0 KB");
  EXPECT_EQ(size_text(90'900'000), "87 MB");
  EXPECT_EQ(size_text((std::size_t{1} << 30) - 1), "1.0 GB");
}

TEST(SizeText, OptionsHoldWhatTheyAreFor) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20, (std::size_t{5} << 30) + 1}) {
    EXPECT_GE(parse_size(size_option(bytes)), bytes);
  }
  EXPECT_EQ(size_option(std::size_t{1} << 20), "1M");
  EXPECT_EQ(size_option((std::size_t{1} << 20) + 1), "2M");
}

TEST(SizeText, ParsesSizes) {
  EXPECT_EQ(parse_size("7"), 7U);
  EXPECT_EQ(parse_size("500K"), 512'000U);
  EXPECT_EQ(parse_size("2GB"), std::size_t{2} << 30);
  for (const char* text :
       {"", "G", "0", "-1", "1.5G", "1 G", "1X", "1GG", "99999999999999999999", "99999999T", "1G "}) {
    EXPECT_THROW(parse_size(text), BadArgument) << text;
  }
}

}  // namespace
}  // namespace sightline::serve
