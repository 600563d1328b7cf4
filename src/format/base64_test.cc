#include "src/format/base64.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <utility>

namespace sightline::format {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// RFC 4648, section 10.
TEST(Base64, IsThatOfTheStandard) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xfb\xff", "+/8="}};
  for (const auto& [plain, coded] : cases) EXPECT_EQ(base64(bytes_of(plain)), coded);
}

}  // namespace
}  // namespace sightline::format
