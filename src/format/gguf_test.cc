#include "src/format/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "src/format/gguf_testing.h"
#include "src/format/json.h"
#include "src/format/testing.h"
#include "src/tensor/blocks.h"

namespace sightline::format {
namespace {

using Shape = std::vector<std::int64_t>;
constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 8, kQ4_K = 12, kMxfp4 = 39;

std::string refusal(const std::string& bytes) {
  return error_of<BadFile>([&] { parse_gguf(bytes); });
}
std::string refusal(const GgufBuilder& builder) { return refusal(builder.bytes()); }

std::string floats(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) bytes += raw_bytes(value);
  return bytes;
}

GgufBuilder two_tensors() {
  return GgufBuilder()
      .string("general.architecture", "llama")
      .tensor("a", {3, 2}, kF32, floats({1, 2, 3, 4, 5, 6}))
      .tensor("b", {2}, kF16, std::string("\x00\x38\x00\xC0", 4));
}

TEST(Gguf, ReadsTensorsWhereTheyLieWithShapesTurnedRound) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder builder = two_tensors();
    builder.version = version;
    const std::string bytes = builder.bytes();
    const GgufFile file = parse_gguf(bytes);
    EXPECT_EQ(file.name(), "m.gguf");
    ASSERT_EQ(file.tensors().size(), 2u);
    const Tensor& a = file.tensors().at("a");
    EXPECT_EQ(a.shape, (Shape{2, 3}));
    EXPECT_EQ(to_f32(a), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(static_cast<const void*>(a.bytes.data()), bytes.data() + bytes.size() - 4 - 32);
    EXPECT_EQ(to_f32(file.tensors().at("b")), (std::vector<float>{0.5, -2}));
  }
}

TEST(Gguf, ReadsBlocks) {
  const std::string bytes = GgufBuilder()
                                .tensor("q4", {64, 3}, kQ4_0, std::string(6 * 18, 'x'))
                                .tensor("q8", {32}, kQ8_0, std::string(34, 'x'))
                                .tensor("q4_k", {256, 1, 2}, kQ4_K, std::string(2 * 144, 'x'))
                                .tensor("fp4", {32, 2}, kMxfp4, std::string(2 * 17, 'x'))
                                .bytes();
  const GgufFile file = parse_gguf(bytes);
  EXPECT_EQ(file.tensors().at("q4").dtype, DType::q4_0);
  EXPECT_EQ(file.tensors().at("q4").shape, (Shape{3, 64}));
  EXPECT_EQ(file.tensors().at("q4").element_count(), 192);
  EXPECT_EQ(file.tensors().at("q4_k").shape, (Shape{2, 1, 256}));
  EXPECT_EQ(file.tensors().at("q4_k").element_count(), 512);
  EXPECT_EQ(file.tensors().at("fp4").dtype, DType::mxfp4);
}

TEST(Gguf, RefusesRowsThatAreNoWholeBlocks) {
  EXPECT_EQ(refusal(GgufBuilder().tensor("q", {48, 2}, kQ4_0, std::string(54, 'x'))),
            "m.gguf: tensor \"q\" has rows of 48 elements, which are no whole Q4_0 blocks of 32");
  EXPECT_NE(
      refusal(GgufBuilder().tensor("q", {32, 8}, kQ4_K, std::string(144, 'x'))).find("no whole Q4_K blocks of 256"),
      std::string::npos);
  EXPECT_NE(refusal(GgufBuilder().tensor("q", {}, kQ8_0, std::string(34, 'x'))).find("rows of 1 elements"),
            std::string::npos);
}

// Numbers and names as the format's list has them.
TEST(Gguf, RefusesOtherTypesByName) {
  const std::pair<std::uint32_t, const char*> types[] = {
      {4, "Q4_2"},   {5, "Q4_3"},   {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
      {19, "IQ1_S"}, {21, "IQ3_S"}, {22, "IQ2_S"}, {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"}};
  for (const auto& [number, name] : types) {
    const std::string bytes = GgufBuilder().tensor("t", {256}, number, std::string(64, 'x')).bytes();
    EXPECT_EQ(error_of<UnsupportedModel>([&] { parse_gguf(bytes); }),
              std::string("m.gguf: tensor \"t\" has the type ") + name +
                  ", which is not supported: take the model in another quantisation, as Q4_K_M or Q8_0");
  }
  for (const std::uint32_t number : {42u, 9999u, UINT32_MAX}) {
    EXPECT_EQ(
        refusal(GgufBuilder().tensor("t", {256}, number, std::string(64, 'x'))),
        "m.gguf: tensor \"t\" has a type of number " + std::to_string(number) + ", which the format does not know");
  }
}

TEST(Gguf, NamesVersionsThatItDoesNotRead) {
  const auto refusal_of = [](std::uint32_t version) {
    GgufBuilder builder;
    builder.version = version;
    return refusal(builder);
  };
  EXPECT_NE(refusal_of(1).find("version 1 of GGUF"), std::string::npos);
  EXPECT_NE(refusal_of(0x03000000).find("a big-endian GGUF file"), std::string::npos);
  EXPECT_EQ(refusal_of(4), "m.gguf: version 4 of GGUF, of which 2 and 3 are read");
  GgufBuilder other;
  other.magic = "GGML";
  EXPECT_EQ(refusal(other), "m.gguf: does not begin with GGUF: not a GGUF file");
}

TEST(Gguf, RefusesTensorsThatOverlapOrLeaveTheFile) {
  const auto two = [](std::uint64_t first, std::uint64_t second, std::size_t size) {
    return refusal(
        GgufBuilder().record("a", {8}, kF32, first).record("b", {8}, kF32, second).data(std::string(size, 'x')));
  };
  EXPECT_EQ(two(0, 0, 64), "m.gguf: tensor \"b\" overlaps another one");
  EXPECT_NE(
      two(0, 64, 64).find("tensor \"b\" has 32 bytes from byte 64 of the data, of which the file holds 64: cut short"),
      std::string::npos);
  EXPECT_NE(two(0, 33, 96).find("begins at byte 33 of the data, which is no multiple of 32"), std::string::npos);
  EXPECT_NE(two(0, UINT64_MAX - 31, 96).find("cut short"), std::string::npos);
  EXPECT_NE(two(0, 32, 96).find("the tensors end at byte 64 of the data, the file at 96: damaged"), std::string::npos);
}

TEST(Gguf, RefusesShapesThatNoFileHolds) {
  const auto shaped = [](const std::vector<std::uint64_t>& dimensions, std::uint32_t type) {
    return refusal(GgufBuilder().tensor("t", dimensions, type, "xxxx"));
  };
  EXPECT_NE(shaped({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, kF32).find("larger than any file"),
            std::string::npos);
  EXPECT_NE(shaped({std::uint64_t{1} << 62}, kF32).find("larger than any file"), std::string::npos);
  EXPECT_NE(shaped({std::uint64_t{1} << 63}, kF32).find("a dimension beyond 2^63"), std::string::npos);
  EXPECT_NE(shaped({std::uint64_t{1} << 62}, kQ8_0).find("cut short"), std::string::npos);
  EXPECT_NE(shaped({1, 1, 1, 1, 1}, kF32).find("has 5 dimensions"), std::string::npos);
}

TEST(Gguf, RefusesKeysThatAreTooLongAndArraysOfArrays) {
  EXPECT_NE(refusal(GgufBuilder().number(std::string(65536, 'k'), 1)).find("a key of 65536 bytes"), std::string::npos);
  const std::string inner = raw_bytes(GgufType::array) + raw_bytes(std::uint64_t{0});
  EXPECT_EQ(refusal(GgufBuilder().raw("k", GgufType::array, inner)), "m.gguf: \"k\": arrays of arrays are not read");
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string bytes = two_tensors().bytes();
  EXPECT_NO_THROW(parse_gguf(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    error_of<BadFile>([&] { GgufFile::parse(std::as_bytes(std::span(cut)), "m.gguf"); });
  }
}

// What mail, version control and editors do to a file that they take for text.
TEST(Gguf, RefusesCopiesInTextMode) {
  std::string data;
  for (int i = 0; i < 512; ++i) data += static_cast<char>(i * 37 % 256);
  const std::string bytes =
      GgufBuilder().string("general.architecture", "llama").tensor("a", {64, 2}, kF32, data).bytes();
  EXPECT_NO_THROW(parse_gguf(bytes));
  std::string with_returns, without_returns, replaced;
  for (const char c : bytes) {
    with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
    if (c != '\r') without_returns += c;
    replaced += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : std::string("\xEF\xBF\xBD");
  }
  for (const std::string& copy : {with_returns, without_returns, replaced}) {
    ASSERT_NE(copy.size(), bytes.size());
    EXPECT_NE(refusal(copy).find("fetch it again"), std::string::npos);
  }
  for (const std::size_t extra : {1, 31, 32, 64}) {
    EXPECT_NE(refusal(bytes + std::string(extra, '\0')).find("the tensors end at byte 512 of the data"),
              std::string::npos);
  }
}

TEST(Gguf, SurvivesRandomDamage) {
  const std::string good = two_tensors().strings("tokenizer.ggml.tokens", {"a", "b"}).bytes();
  std::mt19937 random(20240607);
  const auto up_to = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<char> bytes(good.begin(), good.end());
    for (std::size_t flips = 1 + up_to(4); flips > 0; --flips) {
      bytes[up_to(bytes.size())] ^= static_cast<char>(1u << up_to(8));
    }
    try {
      const GgufFile file = GgufFile::parse(std::as_bytes(std::span(bytes)), "m.gguf");
      for (const auto& item : file.tensors()) EXPECT_LE(item.second.bytes.size(), bytes.size());
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 8'000);
  EXPECT_LT(refused, 20'000);
}

TEST(Gguf, KeepsHostileNamesOutOfTheTerminal) {
  for (const std::string& message : {refusal(GgufBuilder().raw("a\n\x1B[2J", static_cast<GgufType>(99), "")),
                                     refusal(GgufBuilder().tensor("a\n\x1B[2J", {1}, 9999, "")),
                                     refusal(GgufBuilder().number("a\n\x1B[2J", 1).number("a\n\x1B[2J", 1))}) {
    for (const char c : message) ASSERT_TRUE(c >= ' ' && c <= '~') << message;
  }
}

TEST(Gguf, IsToldByItsFirstBytes) {
  const TestDirectory directory;
  EXPECT_TRUE(is_gguf(directory.put("model.bin", two_tensors().bytes())));
  EXPECT_FALSE(is_gguf(directory.put("model.gguf", "not one")));
  EXPECT_FALSE(is_gguf(directory.put("short.gguf", "GG")));
  EXPECT_FALSE(is_gguf(directory.path()));
  EXPECT_FALSE(is_gguf(directory / "absent"));
}

}  // namespace
}  // namespace sightline::format
