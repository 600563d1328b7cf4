// Models in several files, and the files of the conformance set.
#include <gtest/gtest.h>

#include <fstream>

#include "src/format/checkpoint.h"
#include "src/format/gguf_testing.h"
#include "src/format/json.h"
#include "src/format/testing.h"

namespace sightline::format {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kF32 = 0;

// Part `part` of `parts`, with one tensor of one number.
std::string part(std::uint16_t part, std::uint16_t parts, const std::string& tensor, std::int32_t tensors) {
  GgufBuilder builder;
  if (part == 0) builder.string("general.architecture", "llama");
  return builder.number("split.no", part)
      .number("split.count", parts)
      .number("split.tensors.count", tensors)
      .tensor(tensor, {1}, kF32, raw_bytes(static_cast<float>(part)))
      .bytes();
}

std::string refusal(const fs::path& path) {
  return error_of<BadFile>([&] { GgufFile::open(path); });
}

class SplitGguf : public testing::Test {
 protected:
  SplitGguf() {
    directory.put("m-00001-of-00003.gguf", part(0, 3, "a", 3));
    directory.put("m-00002-of-00003.gguf", part(1, 3, "b", 3));
    directory.put("m-00003-of-00003.gguf", part(2, 3, "c", 3));
  }
  const TestDirectory directory;
  const fs::path first = directory / "m-00001-of-00003.gguf";
};

TEST_F(SplitGguf, OpensAsOne) {
  GgufFile opened = GgufFile::open(first);
  const GgufFile file = std::move(opened);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(to_f32(file.tensors().at("a")), std::vector<float>{0});
  EXPECT_EQ(to_f32(file.tensors().at("c")), std::vector<float>{2});
  EXPECT_EQ(file.metadata().require_string("general.architecture"), "llama");
  Checkpoint checkpoint = Checkpoint::open(first);
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(to_f32(checkpoint.at("b")), std::vector<float>{1});
  EXPECT_EQ(checkpoint.metadata()->require_string("general.architecture"), "llama");
}

TEST_F(SplitGguf, SaysWhichFileToName) {
  const std::string message = refusal(directory / "m-00002-of-00003.gguf");
  EXPECT_NE(message.find("part 2 of 3 of a model: name the first part, \"m-00001-of-00003.gguf\""), message.npos)
      << message;
  fs::rename(first, directory / "model.gguf");
  EXPECT_NE(refusal(directory / "model.gguf").find("whose name must end with -00001-of-00003.gguf"), std::string::npos);
  EXPECT_NE(error_of<BadFile>([&] { parse_gguf(content_of(directory / "m-00002-of-00003.gguf")); }).find("one part of"),
            std::string::npos);
}

TEST_F(SplitGguf, RefusesPartsThatAreMissingOrOthers) {
  fs::remove(directory / "m-00003-of-00003.gguf");
  EXPECT_EQ(refusal(first),
            (directory / "m-00003-of-00003.gguf").string() + ": cannot be opened: No such file or directory");
  directory.put("m-00003-of-00003.gguf", part(1, 3, "c", 3));
  EXPECT_NE(refusal(first).find("is not part 3 of 3"), std::string::npos);
  directory.put("m-00003-of-00003.gguf", GgufBuilder().tensor("c", {1}, kF32, "abcd").bytes());
  EXPECT_NE(refusal(first).find("\"split.no\" is missing"), std::string::npos);
  directory.put("m-00003-of-00003.gguf", part(2, 3, "a", 3));
  EXPECT_NE(refusal(first).find("duplicate tensor \"a\", which an earlier part has"), std::string::npos);
}

TEST_F(SplitGguf, CountsTheTensors) {
  directory.put("m-00001-of-00003.gguf", part(0, 3, "a", 4));
  EXPECT_NE(refusal(first).find("its 3 parts hold 3 tensors, not 4"), std::string::npos);
}

std::vector<std::byte> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<unsigned>(kDigits.find(c));
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<std::byte>(bits >> (count -= 8)));
  }
  return bytes;
}

nlohmann::json report(const std::string& id) {
  std::ifstream file(SIGHTLINE_SOURCE_DIR "/tests/data/cases/reports.jsonl");
  for (std::string line; std::getline(file, line);) {
    nlohmann::json report = nlohmann::json::parse(line);
    if (report["id"] == id) return report;
  }
  throw std::runtime_error("no report " + id);
}

// R8-15: where the data begin, and offset 0.
TEST(GgufReport, IsAccepted) {
  const nlohmann::json given = report("R8-15");
  for (const auto& entry : given["case"]["files"]) {
    const std::string name = entry["name"];
    const std::vector<std::byte> bytes = decode_base64(entry["bytes_base64"].get<std::string>());
    ASSERT_EQ(bytes.size(), entry["size"]);
    const GgufFile file = GgufFile::parse(bytes, name);
    const nlohmann::json& expected = given["expected"][name];
    ASSERT_EQ(file.tensors().size(), expected.size());
    for (const auto& [tensor, value] : expected.items()) {
      const nlohmann::json& numbers = value.is_array() ? value : value["data"];
      const std::vector<float> got = to_f32(file.tensors().at(tensor));
      ASSERT_EQ(got.size(), numbers.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], numbers[i].get<double>(), 1e-12);
      if (value.is_object() && value.contains("rows_x_cols")) {
        EXPECT_EQ(file.tensors().at(tensor).shape, value["rows_x_cols"].get<std::vector<std::int64_t>>());
      }
    }
  }
}

// R8-16 counts of 2^63, R8-18 alignments, R8-20 types and names.
TEST(GgufReport, IsRefused) {
  int files = 0;
  for (const char* id : {"R8-16", "R8-18", "R8-20"}) {
    const nlohmann::json given = report(id);
    for (const auto& entry : given["case"]["files"]) {
      const std::string name = entry["name"];
      SCOPED_TRACE(std::string(id) + " " + name);
      const std::vector<std::byte> bytes = decode_base64(entry["bytes_base64"].get<std::string>());
      ASSERT_EQ(bytes.size(), entry["size"]);
      const std::string message = error_of<BadFile>([&] { GgufFile::parse(bytes, "m.gguf"); });
      EXPECT_EQ(message.find("m.gguf: "), 0u) << message;
      if (std::string_view(id) == "R8-20") {
        EXPECT_NE(message.find('"'), message.npos) << message;
      }
      ++files;
    }
  }
  EXPECT_EQ(files, 30);
}

// Each file of the conformance set that is here, and of the whole set where that is.
TEST(GgufConformance, Opens) {
  int files = 0;
  for (const char* folder : {"/tests/data/conformance/gguf", "/../shared/conformance/gguf"}) {
    const fs::path path = std::string(SIGHTLINE_SOURCE_DIR) + folder;
    if (!fs::exists(path)) continue;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() != ".gguf") continue;
      SCOPED_TRACE(entry.path().string());
      ++files;
      EXPECT_TRUE(is_gguf(entry.path()));
      const GgufFile file = GgufFile::open(entry.path());
      EXPECT_TRUE(file.metadata().has("general.architecture"));
      EXPECT_TRUE(file.metadata().has("tokenizer.ggml.tokens"));
    }
  }
  EXPECT_GE(files, 17);
  RecordProperty("files", files);
}

}  // namespace
}  // namespace sightline::format
