#include "src/engine/bench.h"

#include <gtest/gtest.h>

#include "src/engine/bench_report.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

using format::error_of;

const Session& tiny() {
  static const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  return session;
}

TEST(Bench, MeasuresWhatWasAskedFor) {
  const BenchOptions options{.prompt = 9, .generated = 4, .depth = 5, .repetitions = 3, .watch = true};
  const Bench bench = tiny().bench(options);
  EXPECT_EQ(bench.context, 14);
  EXPECT_GT(bench.bandwidth, 1e8);
  EXPECT_TRUE(bench.complete);
  ASSERT_EQ(bench.cases.size(), 4u);
  const char* names[] = {"pp9 @ d5", "tg4 @ d5", "pp9 @ d5", "tg4 @ d5"};
  for (std::size_t i = 0; i < 4; ++i) {
    const BenchCase& of = bench.cases[i];
    EXPECT_EQ(of.name, names[i]);
    EXPECT_EQ(of.watched, i >= 2);
    EXPECT_EQ(of.decoding, i % 2 == 1);
    ASSERT_EQ(of.runs.size(), 3u);
    for (const BenchRun& run : of.runs) EXPECT_GT(run.wall, 0);
    EXPECT_GE(of.best_rate(), of.median_rate());
  }
  const ReportJson json = bench_report(tiny().model(), bench, options);
  EXPECT_EQ(json.at("tests").size(), 4u);
  EXPECT_FALSE(json.at("tests")[0].contains("bandwidth_share"));
  EXPECT_TRUE(json.at("tests")[1].contains("bandwidth_share"));
}

TEST(Bench, RatesAreTokensOverSeconds) {
  BenchCase of{.name = "tg", .tokens = 10, .decoding = true, .runs = {{2, 8}, {5, 1}, {4, 2}, {1, 4}}};
  EXPECT_EQ(of.best_rate(), 10);
  EXPECT_EQ(of.median_rate(), 2.5) << "the slower of the two in the middle";
  EXPECT_EQ(of.best_rate(&BenchRun::cpu), 10);
  Bench bench;
  bench.token_bytes = 50;
  bench.bandwidth = 1000;
  EXPECT_DOUBLE_EQ(bench.bandwidth_share(of), 0.5);
}

// Of the files' tensors: all matrices, but the embedding where another matrix gives the logits, and but experts that a
// token does not go through.
TEST(Bench, ATokenReadsTheMatricesOnce) {
  for (const char* name : {"llama", "gpt2", "gpt_neox", "gpt_oss", "gemma2"}) {
    const auto path = testing::source_path(std::string("tests/data/conformance/models/") + name);
    const auto transformer = model::Transformer::load(path);
    const auto& config = transformer.config();
    std::int64_t want = 0;
    const auto count = [&](const format::SafetensorsFile& file) {
      for (const auto& [tensor, of] : file.tensors()) {
        const bool embedding = tensor.ends_with("embed_tokens.weight") || tensor.ends_with("wte.weight") ||
                               tensor.ends_with("embed_in.weight");
        if (of.shape.size() < 2 || tensor.ends_with("wpe.weight") || tensor.ends_with("_bias")) continue;
        if (embedding && !config.tied_embeddings) continue;
        const auto bytes = static_cast<std::int64_t>(of.bytes.size());
        want += of.shape.size() == 3 ? bytes / config.experts.count * config.experts.used : bytes;
      }
    };
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with("model") && file.ends_with(".safetensors"))
        count(format::SafetensorsFile::open(entry.path()));
    }
    EXPECT_EQ(transformer.token_weight_bytes(), want) << name;
  }
}

TEST(Bench, RefusesWhatCannotBe) {
  const auto error = [](const BenchOptions& options) { return error_of<BadArgument>([&] { tiny().bench(options); }); };
  EXPECT_NE(error({.prompt = 0, .generated = 0}).find("nothing is left"), std::string::npos);
  EXPECT_NE(error({.prompt = 8, .generated = 8, .repetitions = 0}).find("-r is 0"), std::string::npos);
  EXPECT_NE(error({.prompt = 200, .depth = 100}).find("takes at most 256"), std::string::npos);
  const Session encoder = Session::open(testing::tiny_model());
  EXPECT_NE(error_of<BadArgument>([&] { encoder.bench(); }).find("is an encoder"), std::string::npos);
  const Session small =
      Session::open(testing::source_path("tests/data/tiny-decoder"), {.memory = std::int64_t{1} << 24});
  EXPECT_THROW(small.bench({.prompt = 8, .generated = 8}), OutOfMemory);
}

class StopsAfter : public Progress {
 public:
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_LE(done, total);
    return done < 40;
  }
};

TEST(Bench, KeepsWhatWasMeasuredWhenStopped) {
  StopsAfter stop;
  const Bench bench = tiny().bench({.prompt = 8, .generated = 8, .repetitions = 3, .progress = &stop});
  EXPECT_FALSE(bench.complete);
  ASSERT_EQ(bench.cases.size(), 1u);
  EXPECT_EQ(bench.cases[0].runs.size(), 3u);
}

}  // namespace
}  // namespace sightline::engine
