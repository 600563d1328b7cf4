#include "src/format/checkpoint.h"

#include <gtest/gtest.h>

#include "src/format/gguf_testing.h"
#include "src/format/testing.h"

namespace sightline::format {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// A file of one-element fp32 tensors, whose values count up from `value`.
void put_shard(const TestDirectory& directory, std::string_view file, const Names& names, float value) {
  SafetensorsWriter writer(directory / file);
  for (const auto& name : names) writer.declare(name, DType::f32, std::vector<std::int64_t>{1});
  for (const auto& name : names) {
    writer.write(name, std::as_bytes(std::span(&value, 1)));
    ++value;
  }
  writer.finish();
}

void put_index(const TestDirectory& directory, const std::string& weight_map) {
  directory.put(kIndex, R"({"metadata": {"total_size": 16}, "weight_map": )" + weight_map + "}");
}

std::string refusal(const TestDirectory& directory) {
  return error_of<BadFile>([&] { Checkpoint::open(directory.path()); });
}

TEST(Checkpoint, OpensASingleFile) {
  const TestDirectory directory;
  put_shard(directory, "model.safetensors", {"a", "b"}, 1);
  Checkpoint checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint.names(), (Names{"a", "b"}));
  EXPECT_EQ(to_f32(checkpoint.at("b")), std::vector<float>{2});
  EXPECT_EQ(checkpoint.name(), (directory / "model.safetensors").string());
}

TEST(Checkpoint, OpensTheShardsOfAnIndexAndNoOtherFile) {
  const TestDirectory directory;
  put_shard(directory, kFirst, {"a", "not in the index"}, 1);
  put_shard(directory, kSecond, {"b", "c"}, 3);
  put_shard(directory, "model.safetensors", {"a", "b", "stray"}, 100);
  directory.put("model-00003-of-00003.safetensors", "garbage");
  put_index(directory, R"({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors",
                           "c": "model-00002-of-00002.safetensors"})");
  Checkpoint checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint.names(), (Names{"a", "b", "c"}));
  EXPECT_EQ(to_f32(checkpoint.at("a")), std::vector<float>{1});
  EXPECT_EQ(to_f32(checkpoint.at("b")), std::vector<float>{3});
  EXPECT_EQ(to_f32(checkpoint.at("c")), std::vector<float>{4});
  EXPECT_EQ(checkpoint.find("stray"), nullptr);
}

TEST(Checkpoint, RemembersWhatWasUsed) {
  const TestDirectory directory;
  put_shard(directory, "model.safetensors", {"a", "b", "c"}, 1);
  Checkpoint checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint.unused(), (Names{"a", "b", "c"}));
  checkpoint.at("b");
  EXPECT_NE(checkpoint.find("a"), nullptr);
  EXPECT_EQ(checkpoint.find("x"), nullptr);
  EXPECT_EQ(checkpoint.unused(), Names{"c"});
  EXPECT_EQ(error_of<BadFile>([&] { checkpoint.at("x"); }), checkpoint.name() + ": tensor \"x\" is missing");
}

TEST(Checkpoint, StaysValidWhenMoved) {
  const TestDirectory directory;
  put_shard(directory, "model.safetensors", {"a"}, 5);
  Checkpoint first = Checkpoint::open(directory.path());
  Checkpoint second = std::move(first);
  EXPECT_EQ(to_f32(second.at("a")), std::vector<float>{5});
}

TEST(Checkpoint, SaysWhatADirectoryLacks) {
  const TestDirectory directory;
  EXPECT_EQ(refusal(directory),
            directory.path().string() + ": no model here: neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(error_of<BadFile>([&] { Checkpoint::open(directory / "absent"); }),
            (directory / "absent").string() + ": no such file or directory");
}

TEST(Checkpoint, OpensAGgufFile) {
  const TestDirectory directory;
  const auto path = directory.put("m.bin", GgufBuilder()
                                               .string("general.architecture", "llama")
                                               .tensor("a", {2, 1}, 0, std::string("\0\0\x80?\0\0\0\xC0", 8))
                                               .bytes());
  Checkpoint checkpoint = Checkpoint::open(path);
  EXPECT_EQ(checkpoint.name(), path.string());
  EXPECT_EQ(checkpoint.names(), Names{"a"});
  EXPECT_EQ(to_f32(checkpoint.at("a")), (std::vector<float>{1, -2}));
  EXPECT_EQ(checkpoint.at("a").shape, (std::vector<std::int64_t>{1, 2}));
  ASSERT_NE(checkpoint.metadata(), nullptr);
  EXPECT_EQ(checkpoint.metadata()->find_string("general.architecture"), "llama");
  Checkpoint moved = std::move(checkpoint);
  EXPECT_EQ(moved.metadata()->find_string("general.architecture"), "llama");
  const auto other = directory.put("m.txt", "text");
  EXPECT_EQ(error_of<BadFile>([&] { Checkpoint::open(other); }),
            other.string() + ": does not begin with GGUF: not a GGUF file");
  put_shard(directory, "model.safetensors", {"a"}, 1);
  EXPECT_EQ(Checkpoint::open(directory.path()).metadata(), nullptr);
}

TEST(Checkpoint, RefusesAShardThatIsMissingOrCutShort) {
  const TestDirectory directory;
  put_shard(directory, kFirst, {"a"}, 1);
  put_index(directory, R"({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"})");
  EXPECT_EQ(refusal(directory), (directory / kSecond).string() + ": cannot be opened: No such file or directory");
  put_shard(directory, kSecond, {"b"}, 2);
  EXPECT_NO_THROW(Checkpoint::open(directory.path()));
  std::filesystem::resize_file(directory / kSecond, std::filesystem::file_size(directory / kSecond) - 1);
  const std::string message = refusal(directory);
  EXPECT_EQ(message.find((directory / kSecond).string() + ": tensor \"b\""), 0u) << message;
  EXPECT_NE(message.find("cut short"), message.npos) << message;
}

TEST(Checkpoint, RefusesATensorThatIsNotInTheShardNamed) {
  const TestDirectory directory;
  put_shard(directory, kFirst, {"a"}, 1);
  put_shard(directory, kSecond, {"b"}, 2);
  put_index(directory, R"({"a": "model-00001-of-00002.safetensors", "b": "model-00001-of-00002.safetensors"})");
  EXPECT_EQ(refusal(directory), (directory / kFirst).string() + ": tensor \"b\" is missing");
}

TEST(Checkpoint, RefusesShardsOutsideTheDirectory) {
  const TestDirectory directory;
  put_shard(directory, "model.safetensors", {"a"}, 1);
  std::filesystem::create_directory(directory / "sub");
  std::filesystem::copy_file(directory / "model.safetensors", directory / "sub/m.safetensors");
  const std::string absolute = (directory / "model.safetensors").string();
  for (const std::string& shard :
       {std::string("../m.safetensors"), std::string("sub/m.safetensors"), absolute, std::string(".."),
        std::string("."), std::string(), std::string("..\\\\m"), std::string("a\\u0000b")}) {
    put_index(directory, "{\"a\": \"" + shard + "\"}");
    const std::string message = refusal(directory);
    EXPECT_NE(message.find("\"weight_map.a\" must name a file of the same directory"), message.npos) << message;
  }
}

TEST(Checkpoint, RefusesAMalformedIndex) {
  const TestDirectory directory;
  put_shard(directory, "model.safetensors", {"a"}, 1);
  const auto refusal_of = [&](const char* index) {
    directory.put(kIndex, index);
    return refusal(directory);
  };
  const std::string name = (directory / kIndex).string();
  EXPECT_EQ(refusal_of("{").find(name + ": byte 1: not valid JSON"), 0u);
  EXPECT_EQ(refusal_of("[]"), name + ": the file must be an object, not an array");
  EXPECT_EQ(refusal_of("{}"), name + ": \"weight_map\" is missing");
  EXPECT_EQ(refusal_of(R"({"weight_map": {"a": 1}})"), name + ": \"weight_map.a\" must be a string, not 1");
  EXPECT_EQ(refusal_of(R"({"weight_map": {"a": null}})"), name + ": \"weight_map.a\" must not be null");
  EXPECT_NE(refusal_of(R"({"weight_map": {"a": "x", "a": "y"}})").find("duplicate key \"weight_map.a\""),
            std::string::npos);
}

}  // namespace
}  // namespace sightline::format
