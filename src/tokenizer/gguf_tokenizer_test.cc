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

}  // namespace
}  // namespace sightline::tokenizer
