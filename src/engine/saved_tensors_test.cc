#include "src/engine/saved_tensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/engine/report.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

class Saved : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::temporary_path("saved-model");
    path_ = testing::temporary_path("saved.safetensors");
    std::filesystem::remove_all(directory_);
    testing::write_decoder(directory_, "mistral", true);
  }
  void TearDown() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::remove(path_);
  }

  std::vector<float> floats(const format::SafetensorsFile& file, const std::string& name) const {
    const format::Tensor& tensor = file.tensors().at(name);
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }

  std::filesystem::path directory_, path_;
};

TEST_F(Saved, TensorsGiveTheWeightsBack) {
  const Look look = Session::open(directory_).look(testing::kTired, {.hidden = true});
  ReportOptions options;
  options.save = {"q", "k", "v", "attn", "hidden"};
  options.save_maps = {{2, 1}, {2, 4}, {3, 2}};
  write_report(path_, look, options);
  const auto file = format::SafetensorsFile::open(path_);
  const auto n = static_cast<std::int64_t>(look.tokens().size());
  EXPECT_EQ(file.tensors().at("self.q").shape, (std::vector<std::int64_t>{2, 4, n, look.model().config.head_width}));
  EXPECT_EQ(file.tensors().at("self.k").shape, (std::vector<std::int64_t>{2, 2, n, look.model().config.head_width}));
  EXPECT_EQ(file.tensors().at("hidden").shape, (std::vector<std::int64_t>{4, n, look.model().config.width}));
  const std::vector<float> weights = floats(file, "self.attn");
  ASSERT_EQ(std::ssize(weights), 3 * n * n);
  for (std::size_t m = 0; m < options.save_maps.size(); ++m) {
    const auto tile = look.tile(options.save_maps[m], {0, 0, 0, n, 0, n}, Stage::weights);
    EXPECT_TRUE(std::equal(tile.begin(), tile.end(), weights.begin() + static_cast<std::ptrdiff_t>(m) * n * n));
  }
  // The last row of L3H2 from its query and the keys of the group's head, as the model has neither softcap nor sink.
  const std::vector<float> q = floats(file, "self.q"), k = floats(file, "self.k");
  const std::int64_t d = look.model().config.head_width, layer = 1, head = 1, kv_head = 0;
  std::vector<double> row(static_cast<std::size_t>(n));
  double sum = 0;
  const KeyRange seen = look.rule({3, 2}).visible(n - 1, n);
  for (std::int64_t j = seen.begin; j < seen.end; ++j) {
    double dot = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      dot += double{q[static_cast<std::size_t>(((layer * 4 + head) * n + n - 1) * d + i)]} *
             k[static_cast<std::size_t>(((layer * 2 + kv_head) * n + j) * d + i)];
    }
    sum += row[static_cast<std::size_t>(j)] = std::exp(dot / std::sqrt(static_cast<double>(d)));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    EXPECT_NEAR(weights[static_cast<std::size_t>((2 * n + n - 1) * n + j)], row[static_cast<std::size_t>(j)] / sum,
                1e-5);
  }
}

std::string refusal(const Look& look, const ReportOptions& options, const std::filesystem::path& path) {
  try {
    write_report(path, look, options);
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "";
}

TEST_F(Saved, RefusesWhatItCannot) {
  const Look look = Session::open(directory_).look("the cat");
  ReportOptions options;
  options.save = {"q", "weights"};
  EXPECT_NE(refusal(look, options, path_).find("choose from q, k, v, attn, hidden"), std::string::npos);
  options.save = {"hidden"};
  EXPECT_NE(refusal(look, options, path_).find("did not keep hidden states"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Saved, RefusesWeightsThatWouldBeHuge) {
  std::filesystem::remove_all(directory_);
  testing::write_decoder(directory_, "mistral", true, 40000);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "cat ";
  const Look look = Session::open(directory_).look(text);
  ReportOptions options;
  options.save = {"attn"};
  const std::string message = refusal(look, options, path_);
  EXPECT_NE(message.find("attn of 12 maps of 20001 x 20001 weights would take 19.2 GB"), std::string::npos) << message;
}

}  // namespace
}  // namespace sightline::engine
