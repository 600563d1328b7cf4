#include "src/format/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "src/format/testing.h"

namespace sightline::format {
namespace {

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(rest);
}

std::string file_of(std::string_view header, std::string_view data = {}) {
  return with_length(header.size(), std::string(header).append(data));
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

SafetensorsFile parse(std::string_view bytes) { return SafetensorsFile::parse(bytes_of(bytes), "m.safetensors"); }

std::string refusal(std::string_view bytes) {
  return error_of<BadFile>([&] { parse(bytes); });
}

// A file of one tensor "t" with these fields and this many bytes of data.
std::string refusal_of_tensor(std::string_view fields, std::size_t data_size) {
  return refusal(file_of("{\"t\":{" + std::string(fields) + "}}", std::string(data_size, '\0')));
}

constexpr const char* kTwoTensors =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
    R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";

std::string two_tensors() { return file_of(kTwoTensors, std::string("\0\0\x80?\0\0\0\xC0\x01\x02\x03", 11)); }

TEST(Safetensors, ReadsTensorsWhereTheyLie) {
  const std::string bytes = two_tensors();
  const SafetensorsFile file = parse(bytes);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.name(), "m.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const Tensor& a = file.at("a");
  EXPECT_EQ(a.dtype, DType::f32);
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(a.element_count(), 2);
  EXPECT_EQ(a.bytes.data(), bytes_of(bytes).data() + bytes.size() - 11);
  EXPECT_EQ(to_f32(a), (std::vector<float>{1, -2}));
  EXPECT_EQ(file.at("b").bytes.size(), 3u);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(error_of<BadFile>([&] { file.at("c"); }), "m.safetensors: tensor \"c\" is missing");
}

TEST(Safetensors, OpensAFileAndKeepsItMapped) {
  const TestDirectory directory;
  const auto path = directory.put("m.safetensors", two_tensors());
  const SafetensorsFile file = [&] {
    SafetensorsFile opened = SafetensorsFile::open(path);
    std::filesystem::remove(path);
    return opened;
  }();
  EXPECT_EQ(file.name(), path.string());
  EXPECT_EQ(to_f32(file.at("a")), (std::vector<float>{1, -2}));
  EXPECT_NE(error_of<BadFile>([&] { SafetensorsFile::open(path); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of<BadFile>([&] { SafetensorsFile::open(directory.put("e", "")); }).find("too short"),
            std::string::npos);
}

TEST(Safetensors, TakesAFileWithoutTensors) {
  EXPECT_TRUE(parse(file_of("{}")).tensors().empty());
  EXPECT_EQ(parse(file_of(R"({"__metadata__":{"a":"b"}})")).metadata().size(), 1u);
}

TEST(Safetensors, TakesAHeaderPaddedWithSpaces) {
  const std::string bytes = file_of(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}       )", "x");
  const SafetensorsFile file = parse(bytes);
  EXPECT_EQ(file.at("t").bytes[0], std::byte{'x'});
}

TEST(Safetensors, TakesScalarsAndEmptyTensors) {
  const std::string bytes = file_of(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
                        "e1":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},
                        "e2":{"dtype":"I64","shape":[3,0,5],"data_offsets":[4,4]},
                        "u":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},
                        "e3":{"dtype":"U8","shape":[0,9223372036854775807],"data_offsets":[5,5]}})",
                                    std::string("\0\0\0@!", 5));
  const SafetensorsFile file = parse(bytes);
  EXPECT_EQ(to_f32(file.at("s")), std::vector<float>{2});
  EXPECT_TRUE(file.at("s").shape.empty());
  EXPECT_EQ(file.at("e2").element_count(), 0);
  EXPECT_EQ(file.at("e3").shape[1], INT64_MAX);
  EXPECT_TRUE(to_f32(file.at("e1")).empty());
}

TEST(Safetensors, PassesOverFieldsThatItDoesNotKnow) {
  EXPECT_NO_THROW(parse(file_of(R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"note":{"x":[1]}}})")));
}

TEST(Safetensors, KnowsEveryTypeOfItsTable) {
  for (int i = 0; i <= static_cast<int>(DType::u64); ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string size = std::to_string(3 * dtype_size(dtype));
    const std::string header =
        std::string(R"({"t":{"dtype":")") + dtype_name(dtype) + R"(","shape":[3],"data_offsets":[0,)" + size + "]}}";
    const std::string bytes = file_of(header, std::string(3 * dtype_size(dtype), '\0'));
    EXPECT_EQ(parse(bytes).at("t").dtype, dtype);
    EXPECT_EQ(parse(bytes).at("t").element_count(), 3);
  }
}

TEST(Safetensors, RefusesBadHeaderLengths) {
  const std::string rest = two_tensors().substr(8);
  for (const std::uint64_t length : {std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 4, UINT64_MAX - 7, UINT64_MAX - 8,
                                     std::uint64_t{100'000'001}}) {
    EXPECT_EQ(refusal(with_length(length, rest)),
              "m.safetensors: a header of " + std::to_string(length) + " bytes: not a safetensors file");
  }
  EXPECT_NE(refusal(with_length(100'000'000, rest)).find("cut short"), std::string::npos);
  EXPECT_NE(refusal(with_length(rest.size() + 1, rest)).find("cut short"), std::string::npos);
  EXPECT_NE(refusal(with_length(0, rest)).find("does not begin with {"), std::string::npos);
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(refusal(std::string(size, '\x01')), "m.safetensors: too short for a safetensors file");
  }
  EXPECT_NE(refusal(std::string(8, '\0')).find("does not begin with {"), std::string::npos);
}

TEST(Safetensors, RefusesHeadersThatAreNotAnObjectOfObjects) {
  EXPECT_NE(refusal(file_of("[1,2,3]")).find("does not begin with {"), std::string::npos);
  EXPECT_NE(refusal(file_of(" {}")).find("does not begin with {"), std::string::npos);
  EXPECT_NE(refusal(file_of("{\"a\":")).find("header: byte 5: not valid JSON"), std::string::npos);
  EXPECT_NE(refusal(file_of("{\"\xFF\":1}")).find("UTF-8"), std::string::npos);
  EXPECT_NE(refusal(file_of("{} x")).find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal(file_of(std::string_view("{}\0", 3))).find("NUL"), std::string::npos);
  EXPECT_EQ(refusal(file_of(R"({"t":5})")), "m.safetensors: \"t\" must be an object, not 5");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"n":5}})")),
            "m.safetensors: \"__metadata__.n\" must be a string, not 5");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":"x"})")),
            "m.safetensors: \"__metadata__\" must be an object, not \"x\"");
}

TEST(Safetensors, RefusesDuplicatesNamingThem) {
  EXPECT_NE(refusal(file_of(R"({"key00":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                            R"("key00":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                            "1234"))
                .find("duplicate key \"key00\""),
            std::string::npos);
  EXPECT_NE(refusal_of_tensor(R"("dtype":"U8","shape":[2],"shape":[4],"data_offsets":[0,4])", 4)
                .find("duplicate key \"t.shape\""),
            std::string::npos);
  EXPECT_NE(refusal(file_of(R"({"__metadata__":{"a":"1","a":"2"}})")).find("duplicate key"), std::string::npos);
  EXPECT_NE(refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})")).find("duplicate key"), std::string::npos);
}

struct BadTensor {
  const char* fields;
  std::size_t data_size;
  const char* message;
};

TEST(Safetensors, RefusesTensorsThatDoNotFitNamingThem) {
  const BadTensor cases[] = {
      {R"("dtype":"F32","shape":[1000,1000],"data_offsets":[0,4])", 4, "does not fit its shape and type"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0,0])", 0, "does not fit its shape and type"},
      {R"("dtype":"F32","shape":[0],"data_offsets":[0,4])", 4, "does not fit its shape and type"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4, "backwards"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0])", 4, "needs two data_offsets, not 1"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])", 4, "needs two data_offsets, not 3"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[])", 4, "needs two data_offsets, not 0"},
      {R"("dtype":"F32","shape":[1],"data_offsets":4)", 4, "must be an array"},
      {R"("dtype":"F32","shape":[1])", 4, "data_offsets\" is missing"},
      {R"("dtype":"F32","data_offsets":[0,4])", 4, "shape\" is missing"},
      {R"("shape":[1],"data_offsets":[0,4])", 4, "dtype\" is missing"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])", 4, "data offset that is not a whole number"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0,4.0])", 4, "data offset that is not a whole number"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0,"4"])", 4, "data offset that is not a whole number"},
      {R"("dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,18446744073709551615])", 4,
       "not a whole number"},
      {R"("dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616])", 4, "not a whole number"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 4, "cut short"},
      {R"("dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807])", 4, "cut short"},
      {R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4, "size that is not a whole number"},
      {R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])", 4, "size that is not a whole number"},
      {R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])", 4, "size that is not a whole number"},
      {R"("dtype":"F32","shape":[null],"data_offsets":[0,4])", 4, "size that is not a whole number"},
      {R"("dtype":"F32","shape":1,"data_offsets":[0,4])", 4, "must be an array"},
      {R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])", 4, "size that is not a whole number"},
      // Products that are 1 or 0 modulo 2^64.
      {R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])", 0, "does not fit its shape and type"},
      {R"("dtype":"U8","shape":[3689348814741910323,5,5],"data_offsets":[0,1])", 1, "does not fit its shape and type"},
      {R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])", 0, "does not fit its shape and type"},
      {R"("dtype":"F99","shape":[1],"data_offsets":[0,4])", 4, "the type \"F99\", which is not supported"},
      {R"("dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4])", 4, "the type \"F8_E8M0\", which is not supported"},
      {R"("dtype":5,"shape":[1],"data_offsets":[0,4])", 4, "must be a string"},
  };
  for (const BadTensor& bad : cases) {
    const std::string message = refusal_of_tensor(bad.fields, bad.data_size);
    EXPECT_NE(message.find(bad.message), message.npos) << bad.fields << "\n" << message;
    EXPECT_NE(message.find("\"t"), message.npos) << message;
    EXPECT_EQ(message.find("m.safetensors: "), 0u) << message;
  }
}

// Two tensors "a" and "b" of bytes with these ranges.
std::string refusal_of_layout(int a_begin, int a_end, int b_begin, int b_end, std::size_t data_size) {
  const auto entry = [](int begin, int end) {
    return R"({"dtype":"U8","shape":[)" + std::to_string(end - begin) + R"(],"data_offsets":[)" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  return refusal(file_of("{\"a\":" + entry(a_begin, a_end) + ",\"b\":" + entry(b_begin, b_end) + "}",
                         std::string(data_size, '\0')));
}

TEST(Safetensors, RefusesGapsOverlapsAndWhatFollowsTheTensors) {
  EXPECT_NE(refusal_of_layout(0, 2, 3, 4, 4).find("\"b\" begins at byte 3 of the data, where 2 was due"),
            std::string::npos);
  EXPECT_NE(refusal_of_layout(0, 3, 2, 4, 4).find("\"b\" begins at byte 2 of the data, where 3 was due"),
            std::string::npos);
  EXPECT_NE(refusal_of_layout(0, 4, 0, 4, 4).find("overlap"), std::string::npos);
  EXPECT_NE(refusal_of_layout(0, 4, 2, 2, 4).find("overlap"), std::string::npos);
  EXPECT_NE(refusal_of_layout(1, 2, 2, 4, 4).find("\"a\" begins at byte 1"), std::string::npos);
  EXPECT_EQ(refusal_of_layout(0, 2, 2, 4, 5), "m.safetensors: the tensors end at byte 4 of the data, the file at 5");
  EXPECT_EQ(refusal(file_of("{}", "x")), "m.safetensors: the tensors end at byte 0 of the data, the file at 1");
}

TEST(Safetensors, KeepsHostileNamesOutOfTheTerminal) {
  const std::string message =
      refusal(file_of("{\"a\\n\\u001b[2J\":{\"dtype\":\"\\r\",\"shape\":[],\"data_offsets\":[0,1]}}"));
  for (const char c : message) ASSERT_TRUE(c >= ' ' && c <= '~') << message;
}

TEST(Safetensors, RefusesEveryTruncationAndEveryExtension) {
  const std::string bytes = two_tensors();
  EXPECT_NO_THROW(parse(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // Copied to the heap, so that a sanitizer sees a read beyond the end.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    refusal({cut.data(), cut.size()});
  }
  refusal(bytes + '\0');
}

// Reads all that a parsed file offers.
double sum_of(const SafetensorsFile& file) {
  double sum = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    for (const std::byte byte : tensor.bytes) sum += static_cast<double>(byte);
  }
  return sum;
}

TEST(Safetensors, SurvivesRandomDamage) {
  const std::string good = two_tensors();
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
      EXPECT_GE(sum_of(parse({bytes.data(), bytes.size()})), 0);
    } catch (const BadFile&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_LT(refused, 20'000);
}

TEST(ToF32, WidensTheFloatingPointTypesAtAnyByte) {
  // One byte before, so that no tensor is aligned.
  const std::string bytes = file_of(
      R"({"pad":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"h":{"dtype":"F16","shape":[3],"data_offsets":[1,7]},)"
      R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[7,11]},"f":{"dtype":"F32","shape":[1],"data_offsets":[11,15]},)"
      R"("d":{"dtype":"F64","shape":[1],"data_offsets":[15,23]},"i":{"dtype":"I64","shape":[1],"data_offsets":[23,31]}})",
      std::string("_\x00\x3C\x01\x00\x00\xFC\x49\x40\x01\x00\xDB\x0F\x49\x40\x9A\x99\x99\x99\x99\x99\xB9\x3F", 23) +
          std::string(8, '\0'));
  const SafetensorsFile file = parse(bytes);
  EXPECT_EQ(to_f32(file.at("h")), (std::vector<float>{1, 0x1p-24f, -std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(to_f32(file.at("b")), (std::vector<float>{3.140625f, 0x1p-133f}));
  EXPECT_EQ(to_f32(file.at("f")), std::vector<float>{3.14159274f});
  EXPECT_EQ(to_f32(file.at("d")), std::vector<float>{0.1f});
  EXPECT_EQ(error_of<BadFile>([&] { to_f32(file.at("i"), "m.safetensors: tensor \"i\""); }),
            "m.safetensors: tensor \"i\" of type I64 does not hold numbers that fp32 widens");
}

using Shape = std::vector<std::int64_t>;

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TestDirectory directory;
  const auto path = directory / "out.safetensors";
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  SafetensorsWriter writer(path, {{"schema", "1"}, {"text", "na\xC3\xAFve \"x\"\n"}});
  writer.declare("weights", DType::f32, Shape{2, 3});
  writer.declare("nothing", DType::f32, Shape{0, 3});
  writer.declare("flag", DType::boolean, Shape{});
  writer.declare("end", DType::i64, Shape{0});
  writer.write("weights", std::as_bytes(std::span(weights).first(1)));
  writer.write("weights", std::as_bytes(std::span(weights).subspan(1)));
  writer.write("flag", bytes_of("\x01"));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();

  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(to_f32(file.at("weights")), weights);
  EXPECT_EQ(file.at("weights").shape, (Shape{2, 3}));
  EXPECT_EQ(file.at("nothing").shape, (Shape{0, 3}));
  EXPECT_EQ(file.at("flag").bytes[0], std::byte{1});
  EXPECT_EQ(file.metadata().at("text"), "na\xC3\xAFve \"x\"\n");
  const std::string bytes = content_of(path);
  std::uint64_t header;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + header + 25);
}

TEST(SafetensorsWriter, WritesAFileWithoutTensors) {
  const TestDirectory directory;
  SafetensorsWriter writer(directory / "out");
  writer.finish();
  EXPECT_EQ(content_of(directory / "out"), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(SafetensorsWriter, PadsTheHeaderNoMoreThanItMust) {
  const TestDirectory directory;
  for (std::size_t size = 0; size < 16; ++size) {
    SafetensorsWriter writer(directory / "out", {{"m", std::string(size, 'x')}});
    writer.finish();
    const std::string bytes = content_of(directory / "out");
    const std::size_t unpadded = std::string_view(R"({"__metadata__":{"m":""}})").size() + size;
    EXPECT_EQ(bytes.size(), 8 + (unpadded + 7) / 8 * 8);
    EXPECT_EQ(SafetensorsFile::open(directory / "out").metadata().at("m").size(), size);
  }
}

TEST(SafetensorsWriter, RefusesWhatWasNotDeclared) {
  const TestDirectory directory;
  const auto path = directory / "out";
  {
    SafetensorsWriter writer(path);
    const auto refusal = [](auto action) { return error_of<BadArgument>(action); };
    writer.declare("a", DType::u8, Shape{2});
    writer.declare("b", DType::u8, Shape{1});
    EXPECT_EQ(refusal([&] { writer.declare("a", DType::u8, Shape{1}); }), "tensor \"a\" is declared twice");
    EXPECT_EQ(refusal([&] { writer.declare("n", DType::u8, Shape{-1}); }), "tensor \"n\" has a negative size");
    EXPECT_EQ(refusal([&] { writer.declare("l", DType::f32, Shape{INT64_MAX}); }), "tensor \"l\" is too large");
    EXPECT_NE(refusal([&] { writer.declare("__metadata__", DType::u8, Shape{1}); }), "");
    EXPECT_EQ(refusal([&] { writer.write("b", bytes_of("x")); }), "tensor \"b\" is written out of turn");
    EXPECT_EQ(refusal([&] { writer.declare("c", DType::u8, Shape{1}); }),
              "tensor \"c\" is declared after the first write");
    EXPECT_EQ(refusal([&] { writer.write("a", bytes_of("xyz")); }),
              "tensor \"a\" is given more bytes than were declared");
    writer.write("a", bytes_of("x"));
    EXPECT_EQ(refusal([&] { writer.write("b", bytes_of("x")); }), "tensor \"b\" is written out of turn");
    EXPECT_EQ(refusal([&] { writer.finish(); }), "tensor \"a\" is not whole");
    writer.write("a", bytes_of("y"));
    writer.write("b", bytes_of("z"));
    EXPECT_EQ(refusal([&] { writer.write("a", bytes_of("x")); }), "tensor \"a\" is written out of turn");
  }
  EXPECT_EQ(directory.file_count(), 0u);
}

TEST(SafetensorsWriter, RefusesAHeaderThatItsReaderWould) {
  const TestDirectory directory;
  {
    SafetensorsWriter writer(directory / "out", {{"m", std::string(100'000'000, 'x')}});
    EXPECT_NE(error_of<BadArgument>([&] { writer.finish(); }).find("100000000"), std::string::npos);
  }
  EXPECT_EQ(directory.file_count(), 0u);
}

TEST(SafetensorsWriter, ReportsAFullDisk) {
  SafetensorsWriter writer("/dev/full");
  EXPECT_NE(error_of<BadFile>([&] { writer.finish(); }).find("No space left on device"), std::string::npos);
}

}  // namespace
}  // namespace sightline::format
