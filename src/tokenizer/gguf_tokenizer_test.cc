#include "src/tokenizer/gguf_tokenizer.h"

#include <filesystem>
#include <fstream>

#include "sightline/error.h"
#include "src/format/gguf_testing.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

namespace fs = std::filesystem;
using format::GgufFile;

const fs::path kData = fs::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/gguf";
const fs::path kShared = fs::path(SIGHTLINE_SOURCE_DIR) / "../shared";

Json read_file(const fs::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

void expect_cases(const fs::path& path, const Json& cases) {
  const GgufFile file = GgufFile::open(path);
  const Tokenizer tokenizer = Tokenizer::from_gguf(file.metadata());
  ASSERT_FALSE(cases.empty()) << path;
  for (const Json& expected : cases) {
    SCOPED_TRACE(path.filename().string() + ": " + expected["text"].dump());
    const std::string text = expected["text"];
    EXPECT_EQ(expected["ids"], Json(ids_of(tokenizer.encode(text, {.add_special = false}))));
    if (!expected.contains("ids_special")) continue;
    const Encoding special = tokenizer.encode(text, {.add_special = false, .parse_special = true});
    EXPECT_EQ(expected["ids_special"], Json(ids_of(special)));
  }
}

// Ids of llama.cpp and of the Hugging Face tokenizers that the files stand for.
TEST(GgufTokenizer, VocabulariesOfTheConformanceSet) {
  const Json index = read_file(kData / "index_more.json");
  ASSERT_EQ(index["vocabularies"].size(), 3u);
  for (const Json& vocabulary : index["vocabularies"]) {
    expect_cases(kData / vocabulary["file"].get<std::string>(), vocabulary["tokenizer_cases"]);
  }
}

TEST(GgufTokenizer, ModelsOfTheConformanceSet) {
  const fs::path folder = kShared / "conformance/gguf";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::size_t count = 0;
  for (const char* name : {"index.json", "index_more.json"}) {
    const Json index = read_file(folder / name);
    for (const Json& model : index["files"]) {
      expect_cases(folder / model["file"].get<std::string>(), model["tokenizer_cases"]);
      ++count;
    }
  }
  EXPECT_EQ(count, 35u);
}

class LlamaCpp : public testing::TestWithParam<const char*> {};

// Strings with ids that the original tokenizers gave, which llama.cpp tests itself on.
TEST_P(LlamaCpp, TestStrings) {
  const fs::path base =
      kShared / "data/tokenizers/llama.cpp-vocab" / (std::string("ggml-vocab-") + GetParam() + ".gguf");
  if (!fs::exists(base)) GTEST_SKIP() << base << " is not there";
  const GgufFile file = GgufFile::open(base);
  const Tokenizer tokenizer = Tokenizer::from_gguf(file.metadata());
  std::ifstream input(base.string() + ".inp", std::ios::binary);
  std::ifstream output(base.string() + ".out");
  const std::string texts{std::istreambuf_iterator<char>(input), {}};
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::size_t count = 0;
  for (std::size_t begin = 0, end; begin <= texts.size(); begin = end + separator.size(), ++count) {
    end = std::min(texts.find(separator, begin), texts.size());
    std::string ids, line;
    for (const std::int32_t id : ids_of(tokenizer.encode(texts.substr(begin, end - begin), {.add_special = false}))) {
      ids += " " + std::to_string(id);
    }
    std::getline(output, line);
    EXPECT_EQ(ids, line) << "string " << count << ": " << texts.substr(begin, end - begin);
  }
  EXPECT_EQ(count, 47u);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, LlamaCpp,
                         testing::Values("gpt-2", "llama-spm", "bert-bge", "falcon", "mpt", "starcoder", "refact",
                                         "deepseek-coder", "deepseek-llm", "phi-3", "llama-bpe", "qwen2", "command-r"));

// A file made up of pieces with their types and scores, and more keys.
class GgufTokenizerFile {
 public:
  GgufTokenizerFile(std::string_view model, const std::vector<std::string>& pieces, std::vector<std::int32_t> types) {
    builder.string("tokenizer.ggml.model", model).strings("tokenizer.ggml.tokens", pieces);
    builder.numbers("tokenizer.ggml.token_type", types);
  }
  format::GgufBuilder builder;

  Tokenizer tokenizer(const GgufTokenizerOptions& options = {}) {
    bytes_ = builder.bytes();
    const GgufFile file = GgufFile::parse(std::as_bytes(std::span(bytes_)), "m.gguf");
    return Tokenizer::from_gguf(file.metadata(), options);
  }

 private:
  std::string bytes_;
};

const std::vector<std::string> kBytePieces = {"a", "b", "ab", "\u0120", "<s>", "<u>", "<|im_end|>"};
const std::vector<std::int32_t> kByteTypes = {1, 1, 1, 1, 3, 4, 4};

GgufTokenizerFile byte_level(std::string_view pre) {
  GgufTokenizerFile file("gpt2", kBytePieces, kByteTypes);
  file.builder.strings("tokenizer.ggml.merges", {"a b"}).string("tokenizer.ggml.pre", pre);
  file.builder.number("tokenizer.ggml.bos_token_id", std::uint32_t{4});
  file.builder.number("tokenizer.ggml.eos_token_id", std::uint32_t{6});
  return file;
}

using Ids = std::vector<std::int32_t>;

TEST(GgufTokenizer, TokensInTheText) {
  const Tokenizer tokenizer = byte_level("gpt-2").tokenizer();
  EXPECT_EQ(tokenizer.kind(), "BPE");
  EXPECT_EQ(ids_of(tokenizer.encode("ab<u> a<|im_end|>")), (Ids{2, 5, 3, 0}));  // its other characters are no pieces
  EXPECT_EQ(ids_of(tokenizer.encode("ab<u> a<|im_end|>", {.parse_special = true})), (Ids{2, 5, 3, 0, 6}));
  EXPECT_EQ(tokenizer.decode({2, 3, 0}, false), "ab a");
  EXPECT_EQ(tokenizer.decode({4, 2, 6}, true), "ab");
}

TEST(GgufTokenizer, FlagsSayWhatTheTemplateAdds) {
  const auto ids = [](GgufTokenizerFile file) { return ids_of(file.tokenizer().encode("ab")); };
  EXPECT_EQ(ids(byte_level("gpt-2")), Ids{2});
  EXPECT_EQ(ids(byte_level("llama-bpe")), (Ids{4, 2}));
  GgufTokenizerFile file = byte_level("llama-bpe");
  file.builder.number("tokenizer.ggml.add_bos_token", false).number("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(ids(file), (Ids{2, 6}));
  const Encoding pair = byte_level("llama-bpe").tokenizer().encode("a", "b", {});
  EXPECT_EQ(ids_of(pair), (Ids{4, 0, 4, 1}));
  EXPECT_TRUE(pair.tokens[2].special);
}

TEST(GgufTokenizer, PatternsGoByName) {
  const std::string unknown = error_of<UnsupportedModel>([] { byte_level("nope").tokenizer(); });
  EXPECT_EQ(unknown.find("m.gguf: \"tokenizer.ggml.pre\" is \"nope\", which is not known; --pre NAME"), 0u) << unknown;
  EXPECT_NE(unknown.find("qwen2"), unknown.npos);
  EXPECT_EQ(ids_of(byte_level("nope").tokenizer({.pre = "qwen2"}).encode("ab")), Ids{2});
  EXPECT_EQ(error_of<BadArgument>([] { byte_level("gpt-2").tokenizer({.pre = "neither"}); }).find("--pre neither"), 0u);
}

TEST(GgufTokenizer, WithoutASpacePrefix) {
  const auto tokenizer = [](bool prefix) {
    GgufTokenizerFile file("llama", {"<unk>", "\u2581", "a", "b", "ab", "\u2581ab"}, {2, 1, 1, 1, 1, 1});
    file.builder.numbers<float>("tokenizer.ggml.scores", {0, -5, -6, -7, -2, -1});
    file.builder.number("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
    file.builder.number("tokenizer.ggml.add_space_prefix", prefix);
    return file.tokenizer();
  };
  EXPECT_EQ(ids_of(tokenizer(true).encode("ab")), Ids{5});
  EXPECT_EQ(ids_of(tokenizer(false).encode("ab ab")), (Ids{4, 5}));
  EXPECT_EQ(ids_of(tokenizer(false).encode("xyz")), Ids{0});
  EXPECT_EQ(tokenizer(true).decode({5, 1, 2}, false), "ab a");
  EXPECT_EQ(tokenizer(false).decode({5}, false), " ab");
}

TEST(GgufTokenizer, Unigram) {
  GgufTokenizerFile file("t5", {"<unk>", "</s>", "\u2581a", "\u2581", "a", "b"}, {2, 3, 1, 1, 1, 1});
  file.builder.numbers<float>("tokenizer.ggml.scores", {0, 0, -1, -3, -3, -3});
  file.builder.number("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  file.builder.number("tokenizer.ggml.eos_token_id", std::uint32_t{1});
  const Tokenizer tokenizer = file.tokenizer();
  EXPECT_EQ(tokenizer.kind(), "Unigram");
  EXPECT_EQ(ids_of(tokenizer.encode("  ab  a")), (Ids{2, 5, 2, 1}));
}

TEST(GgufTokenizer, RefusesByName) {
  const auto refusal = [](GgufTokenizerFile file) { return error_of<Error>([&] { file.tokenizer(); }); };
  const auto begins = [](const std::string& message, const std::string& what) {
    EXPECT_EQ(message.substr(0, what.size()), what);
  };
  begins(refusal({"rwkv", {"a"}, {1}}), "m.gguf: \"tokenizer.ggml.model\" is \"rwkv\", which is not supported");
  begins(refusal({"gpt2", {"a"}, {1}}), "m.gguf: \"tokenizer.ggml.merges\" is missing");
  begins(refusal({"llama", {"a"}, {1}}), "m.gguf: \"tokenizer.ggml.scores\" is missing");
  begins(refusal({"gpt2", {"a", "b"}, {1}}), "m.gguf: \"tokenizer.ggml.token_type\": has 1 elements for 2 tokens");
  begins(refusal({"gpt2", {"a", "\xff"}, {1, 1}}), "m.gguf: \"tokenizer.ggml.tokens\": token 1 is not UTF-8");
  begins(refusal({"bert", {"a"}, {1}}), "m.gguf: \"tokenizer.ggml.unknown_token_id\" is missing");
  GgufTokenizerFile beyond("gpt2", kBytePieces, kByteTypes);
  beyond.builder.strings("tokenizer.ggml.merges", {"a b"}).number("tokenizer.ggml.bos_token_id", std::uint32_t{7});
  beyond.builder.number("tokenizer.ggml.add_bos_token", true);
  begins(refusal(beyond), "m.gguf: \"tokenizer.ggml.bos_token_id\" is 7, but the vocabulary has 7 pieces");
  GgufTokenizerFile nothing("gpt2", {}, {});
  nothing.builder.strings("tokenizer.ggml.merges", {"a b"});
  begins(refusal(nothing), "m.gguf: \"tokenizer.ggml.merges\" uses \"a\", which is not in the vocabulary");
}

}  // namespace
}  // namespace sightline::tokenizer
