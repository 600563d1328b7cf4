#include "src/engine/model_location.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "sightline/error.h"
#include "src/engine/hub_cache.h"
#include "src/format/gguf_testing.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

namespace fs = std::filesystem;
using format::error_of;
using format::TestDirectory;

constexpr const char* kVariables[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"};

// Variables of the environment, all others of kVariables unset, until it goes away.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const char* name : kVariables) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const char* name : kVariables) ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::string> before_;
};

std::string hub(const std::map<std::string, std::string>& variables) {
  const Environment environment(variables);
  const auto directory = hub_cache_directory();
  return directory ? directory->string() : "none";
}

// In the order that the documentation of huggingface_hub gives.
TEST(HubCache, IsWhereTheLibrariesKeepIt) {
  EXPECT_EQ(hub({{"HF_HUB_CACHE", "/a"}, {"HF_HOME", "/b"}, {"HOME", "/h"}}), "/a");
  EXPECT_EQ(hub({{"HUGGINGFACE_HUB_CACHE", "/a"}, {"HF_HOME", "/b"}}), "/a");
  EXPECT_EQ(hub({{"HF_HOME", "/b"}, {"XDG_CACHE_HOME", "/c"}}), "/b/hub");
  EXPECT_EQ(hub({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}), "/c/huggingface/hub");
  EXPECT_EQ(hub({{"HOME", "/h"}}), "/h/.cache/huggingface/hub");
  EXPECT_EQ(hub({{"HF_HOME", "~/hf"}, {"HOME", "/h"}}), "/h/hf/hub");
  EXPECT_EQ(hub({{"HF_HUB_CACHE", ""}, {"HF_HOME", ""}, {"HOME", "/h"}}), "/h/.cache/huggingface/hub");
  EXPECT_EQ(hub({}), "none");
}

TEST(HubCache, KnowsNames) {
  EXPECT_EQ(parse_hub_name("org/name-1.5_x")->repository, "org/name-1.5_x");
  EXPECT_EQ(parse_hub_name("gpt2")->repository, "gpt2");
  EXPECT_EQ(parse_hub_name("org/name/sub/m.gguf")->file, "sub/m.gguf");
  EXPECT_EQ(parse_hub_name("org/name/sub/m.gguf")->repository, "org/name");
  for (const char* text : {"", "/", "/a", "a/", "./a", "../a", "a/..", "~/a", "a b/c", "a--b/c", "a..b/c", "a/b/",
                           "-a/b", "a/b/../c", "a/b//c"}) {
    EXPECT_FALSE(parse_hub_name(text)) << text;
  }
  EXPECT_FALSE(parse_hub_name(std::string(97, 'a')));
}

// A cache as huggingface_hub lays it out: blobs by hash, snapshots of links to them, refs.
class FindModel : public testing::Test {
 protected:
  static constexpr const char* kFirst = "0123456789abcdef0123456789abcdef01234567";
  static constexpr const char* kSecond = "89abcdef0123456789abcdef0123456789abcdef";

  fs::path repository(const std::string& name) const { return directory.path() / "hub" / ("models--" + name); }
  fs::path put(const std::string& name, const std::string& commit, const std::string& file,
               const std::string& content = "{}") const {
    const fs::path blob = repository(name) / "blobs" / (commit.substr(0, 4) + file);
    const fs::path link = repository(name) / "snapshots" / commit / file;
    fs::create_directories(blob.parent_path());
    fs::create_directories(link.parent_path());
    std::ofstream(blob) << content;
    fs::create_symlink(fs::path("../../blobs") / blob.filename(), link);
    return link;
  }
  void point(const std::string& name, const std::string& commit) const {
    fs::create_directories(repository(name) / "refs");
    std::ofstream(repository(name) / "refs/main") << commit;
  }
  void put_model(const std::string& name, const std::string& commit) const {
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) put(name, commit, file);
  }
  static std::string refusal(const std::string& spec) {
    return error_of<BadArgument>([&] { find_model(spec); });
  }
  static void expect_parts(const std::string& message, std::initializer_list<std::string> parts) {
    for (const std::string& part : parts) EXPECT_NE(message.find(part), message.npos) << part << "\n" << message;
  }

  const TestDirectory directory;
  const Environment environment{{{"HF_HUB_CACHE", (directory.path() / "hub").string()}}};
};

TEST_F(FindModel, TakesDirectoriesAndGgufFiles) {
  fs::create_directory(directory / "model");
  ModelLocation found = find_model((directory / "model").string() + "/");
  EXPECT_EQ(found.path, (directory / "model").string() + "/");
  EXPECT_EQ(found.name, "model");
  EXPECT_FALSE(found.gguf);
  const fs::path file = directory.put("some.file", format::GgufBuilder().bytes());
  found = find_model(file.string());
  EXPECT_EQ(found.path, file);
  EXPECT_EQ(found.name, "some");
  EXPECT_TRUE(found.gguf);
  EXPECT_TRUE(find_model(directory.put("broken.gguf", "x").string()).gguf);  // of which its reader tells
}

TEST_F(FindModel, TakesTheOneGgufFileOfADirectory) {
  const fs::path model = directory / "m";
  fs::create_directory(model);
  directory.put("m/m.Q8_0.gguf", "GGUF");
  ModelLocation found = find_model(model.string());
  EXPECT_EQ(found.path, model / "m.Q8_0.gguf");
  EXPECT_EQ(found.name, "m");
  EXPECT_TRUE(found.gguf);
  directory.put("m/m.Q4_0.gguf", "GGUF");
  expect_parts(refusal(model.string()), {"2 GGUF files", model.string() + "/FILE", "m.Q4_0.gguf, m.Q8_0.gguf"});
  directory.put("m/config.json", "{}");
  EXPECT_EQ(find_model(model.string()).path, model);
}

TEST_F(FindModel, CountsTheFilesOfASplitModelAsOne) {
  fs::create_directory(directory / "m");
  for (const char* part : {"1", "2", "3"}) directory.put("m/x-0000" + std::string(part) + "-of-00003.gguf", "GGUF");
  EXPECT_EQ(find_model((directory / "m").string()).path, directory / "m/x-00001-of-00003.gguf");
}

TEST_F(FindModel, SaysWhatOtherFilesAre) {
  expect_parts(refusal(directory.put("model.safetensors", "x").string()), {"no GGUF file", "name its directory"});
  expect_parts(refusal(directory.put("stories.bin", "x").string()), {"sightline import"});
  fs::create_directory(directory / "m");
  directory.put("m/config.json", "{}");
  directory.put("m/pytorch_model.bin", "x");
  expect_parts(refusal((directory / "m").string()),
               {"torch pickles (pytorch_model.bin)", "sightline import " + (directory / "m").string() + " OUTDIR"});
  directory.put("m/model.safetensors", "x");
  EXPECT_EQ(find_model((directory / "m").string()).path, directory / "m");
}

TEST_F(FindModel, TakesTheSnapshotThatMainNames) {
  put_model("org--name", kFirst);
  put_model("org--name", kSecond);
  point("org--name", kSecond);
  const ModelLocation found = find_model("org/name");
  EXPECT_EQ(found.path, repository("org--name") / "snapshots" / kSecond);
  EXPECT_EQ(found.name, "org/name");
  EXPECT_FALSE(found.gguf);
  point("org--name", std::string(kFirst) + "\n");
  EXPECT_EQ(find_model("org/name").path, repository("org--name") / "snapshots" / kFirst);
}

TEST_F(FindModel, TakesTheOnlySnapshotWhereMainNamesNone) {
  put_model("name", kFirst);
  EXPECT_EQ(find_model("name").path, repository("name") / "snapshots" / kFirst);
  for (const char* ref : {"", "../../..", "..", "absent"}) {
    point("name", ref);
    EXPECT_EQ(find_model("name").path, repository("name") / "snapshots" / kFirst);
  }
  put_model("org--two", kFirst);
  put_model("org--two", kSecond);
  expect_parts(refusal("org/two"), {"hf download org/two"});
}

TEST_F(FindModel, OpensGgufFilesOfTheCache) {
  put("org--gguf", kFirst, "m.Q8_0.gguf", "GGUF");
  point("org--gguf", kFirst);
  EXPECT_EQ(find_model("org/gguf").path.filename(), "m.Q8_0.gguf");
  EXPECT_EQ(find_model("org/gguf").name, "org/gguf");
  put("org--gguf", kFirst, "m.Q4_0.gguf", "GGUF");
  expect_parts(refusal("org/gguf"), {"org/gguf/FILE", "m.Q4_0.gguf, m.Q8_0.gguf"});
  const ModelLocation found = find_model("org/gguf/m.Q4_0.gguf");
  EXPECT_EQ(found.path.filename(), "m.Q4_0.gguf");
  EXPECT_TRUE(found.gguf);
  expect_parts(refusal("org/gguf/absent.gguf"), {"hf download org/gguf absent.gguf"});
}

TEST_F(FindModel, SaysWhatToDownload) {
  const std::string place = (directory.path() / "hub").string();
  expect_parts(refusal("org/absent"), {place, "config.json, tokenizer.json",
                                       "hf download org/absent --include '*.json' --include '*.safetensors'"});
  put("org--part", kFirst, "config.json");
  expect_parts(refusal("org/part"), {"the weights", "hf download org/part --include '*.safetensors*'"});
  put("org--rest", kFirst, "model.safetensors");
  expect_parts(refusal("org/rest"), {"config.json is not in the cache", "hf download org/rest config.json"});
  put("org--other", kFirst, "README.md");
  expect_parts(refusal("org/other"), {"config.json, the weights (*.safetensors) are not", "hf download org/other"});
  // A link whose blob never came whole.
  put_model("org--cut", kFirst);
  fs::remove(repository("org--cut") / "blobs" / "0123model.safetensors");
  expect_parts(refusal("org/cut"), {"the weights"});
}

TEST(FindPulledModel, TakesTheNameOfWhatPullFetched) {
  const TestDirectory directory;
  const Environment environment({{"XDG_CACHE_HOME", directory.path().string()}});
  const fs::path model = directory.path() / "sightline" / "some-model";
  fs::create_directories(model);
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) std::ofstream(model / file) << "{}";
  EXPECT_EQ(find_model("some-model").path, model);
  EXPECT_EQ(find_model("some-model").name, "some-model");
  for (const char* spec : {"other-model", "", "org/some-model", "../sightline/some-model"}) {
    EXPECT_NE(error_of<BadArgument>([&] { find_model(spec); }), "") << spec;
  }
}

TEST_F(FindModel, TakesWhatLooksLikeAPathForOne) {
  for (const char* spec : {"/nowhere", "./org/name", "~/x", "nowhere", "../a/b"}) {
    EXPECT_EQ(refusal(spec), std::string(spec) + ": no such file or directory");
  }
}

TEST_F(FindModel, TakesTheNameOfAFileForOne) {
  EXPECT_EQ(refusal("models/absent.gguf"), "models/absent.gguf: no such file or directory");
  const fs::path link = directory / "link.gguf";
  fs::create_symlink("nowhere", link);
  EXPECT_EQ(refusal(link.string()), link.string() + ": a symbolic link to nowhere, which is not there");
}

// Nothing is said of the content of what cannot be read.
TEST_F(FindModel, LeavesWhatCannotBeReadToItsReader) {
  fs::create_symlink("ring", directory / "ring");
  EXPECT_EQ(find_model((directory / "ring").string()).path, directory / "ring");
  const fs::path locked = directory.put("locked", "x");
  fs::permissions(locked, fs::perms::none);
  if (std::ifstream(locked)) GTEST_SKIP() << "this user reads every file";
  EXPECT_TRUE(find_model(locked.string()).gguf);
}

TEST_F(FindModel, ListsTheCache) {
  put_model("org--name", kFirst);
  point("org--name", kFirst);
  put("gpt2", kFirst, "model.gguf", "12345");
  fs::create_directories(directory.path() / "hub" / "datasets--org--data" / "snapshots" / kFirst);
  fs::create_directories(directory.path() / "hub" / "models--org--empty");
  const auto models = cached_models(directory.path() / "hub");
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "gpt2");
  EXPECT_EQ(models[0].bytes, 5u);
  EXPECT_EQ(models[0].content.gguf, std::vector<std::string>{"model.gguf"});
  EXPECT_EQ(models[1].name, "org/name");
  EXPECT_TRUE(models[1].content.config && models[1].content.tokenizer && models[1].content.weights);
  EXPECT_TRUE(cached_models(directory / "absent").empty());
}

}  // namespace
}  // namespace sightline::engine
