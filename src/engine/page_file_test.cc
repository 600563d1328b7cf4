#include "src/engine/page_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/engine/explain.h"
#include "src/engine/page_layer.h"
#include "src/engine/report.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

using testing::kTired;

const Session& tiny() {
  static const Session session = Session::open(testing::tiny_model());
  return session;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// What stands between `begin` and the next "</script>".
std::string script(const std::string& html, const std::string& begin) {
  const std::size_t at = html.find(begin);
  EXPECT_NE(at, std::string::npos) << begin;
  const std::size_t from = html.find('>', at) + 1;
  return html.substr(from, html.find("</script>", from) - from);
}

ReportJson facts_of(const std::string& html) { return ReportJson::parse(script(html, "id=\"sightline-page\"")); }

std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    group = group << 6 | static_cast<std::uint32_t>(std::string_view(digits).find(c));
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(group >> (bits -= 8));
  }
  return bytes;
}

// A layer as docs/page.md says that it lies, read anew.
class ReadLayer {
 public:
  ReadLayer(const std::string& html, const ReportJson& facts)
      : facts_(facts), keys_(facts["keys"]), rows_(facts["rows"]), width_(facts["width"]) {
    const std::string packed = from_base64(script(html, "id=\"" + facts["numbers"].get<std::string>() + "\""));
    bytes_.resize(std::size_t{1} << 22);
    uLongf size = bytes_.size();
    EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(bytes_.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                         packed.size()),
              Z_OK);
    bytes_.resize(size);
    const std::size_t heads = facts["heads"].size(), kv = facts["kv_heads"], value_width = facts["value_width"];
    q_ = numbers(heads, rows_, width_);
    k_ = numbers(kv, keys_, width_);
    v_ = numbers(kv, keys_, value_width);
    first_state_ = floats(heads * rows_);
    if (facts["type"] == "F32") sum_ = floats(heads * rows_);
    EXPECT_EQ(at_, bytes_.size());
  }

  double weight(std::size_t head, std::size_t i, std::size_t j) const {
    const std::size_t kv = facts_["kv_of_heads"][head];
    double dot = 0;
    for (std::size_t d = 0; d < width_; ++d) {
      dot += double{q_[(head * rows_ + i) * width_ + d]} * k_[(kv * keys_ + j) * width_ + d];
    }
    const double power = std::exp(dot * facts_["score"]["scale"].get<double>() - first_state_[head * rows_ + i]);
    return sum_.empty() ? power : power / sum_[head * rows_ + i];
  }

  const std::vector<float>& values() const { return v_; }

 private:
  std::vector<std::uint32_t> words(std::size_t count, int planes) {
    std::vector<std::uint32_t> read(count);
    for (int plane = 0; plane < planes; ++plane) {
      for (std::uint32_t& word : read) word = word << 8 | static_cast<unsigned char>(bytes_.at(at_++));
    }
    return read;
  }
  std::vector<float> floats(std::size_t count) {
    std::vector<float> read;
    for (const std::uint32_t word : words(count, 4)) read.push_back(std::bit_cast<float>(word));
    return read;
  }
  std::vector<float> numbers(std::size_t heads, std::size_t rows, std::size_t width) {
    if (facts_["type"] == "F32") return floats(heads * rows * width);
    const std::vector<std::uint32_t> integers = words(heads * rows * width, 2);
    const std::vector<float> centre = floats(heads * width), step = floats(heads * width);
    std::vector<float> read;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const std::size_t channel = i / (rows * width) * width + i % width;
      read.push_back(static_cast<float>(centre[channel] + double{step[channel]} * (double(integers[i]) - 32768)));
    }
    return read;
  }

  const ReportJson& facts_;
  std::size_t keys_, rows_, width_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::vector<float> q_, k_, v_, first_state_, sum_;
};

// The largest difference between what a page's numbers give and the maps themselves.
double farthest(const Look& look, const std::string& html) {
  const ReportJson page = facts_of(html);
  const auto n = static_cast<std::int64_t>(look.tokens().size());
  double largest = 0;
  for (const ReportJson& facts : page["texts"][0]["layers"]) {
    const ReadLayer layer(html, facts);
    for (std::size_t head = 0; head < facts["heads"].size(); ++head) {
      const MapId id{facts["layer"], facts["heads"][head]};
      const std::vector<float> exact = look.tile(id, {0, 0, 0, n, 0, n}, Stage::weights);
      for (std::size_t c = 0; c < exact.size(); ++c) {
        const auto side = static_cast<std::size_t>(n);
        largest = std::max(largest, std::abs(layer.weight(head, c / side, c % side) - exact[c]));
      }
    }
  }
  return largest;
}

TEST(PageFile, ItsNumbersGiveTheMapsWithinWhatItSays) {
  const Look look = tiny().look(kTired);
  const std::string html = page_html({&look, 1});
  const ReportJson page = facts_of(html);
  EXPECT_EQ(page["sightline_page"], kPageVersion);
  EXPECT_FALSE(page["exact"].get<bool>());
  EXPECT_EQ(page["texts"][0]["layers"].size(), 2u);
  EXPECT_EQ(page["texts"][0]["layers"][0]["type"], "I16");
  const double within = page["within"];
  EXPECT_GT(within, 0);
  EXPECT_LE(within, kPageWithin);
  EXPECT_LE(farthest(look, html), within + 1e-6);
}

TEST(PageFile, ExactIsWithinAHundredThousandth) {
  const Look look = tiny().look(kTired);
  PageOptions options;
  options.exact = true;
  const std::string html = page_html({&look, 1}, options);
  EXPECT_TRUE(facts_of(html)["exact"].get<bool>());
  EXPECT_EQ(facts_of(html)["within"], 0);
  EXPECT_LE(farthest(look, html), 1e-5);
}

// Queries so long that scores go into the hundreds: a row hangs on the last digits of every product.
TEST(PageFile, KeepsMoreOfLayersThatNeedIt) {
  const std::filesystem::path folder = testing::temporary_path("sharp");
  std::filesystem::copy(testing::tiny_model(), folder);
  const auto model = format::SafetensorsFile::open(testing::tiny_model() / "model.safetensors");
  auto tensors = model.tensors();
  std::vector<std::vector<float>> scaled;
  for (auto& [name, tensor] : tensors) {
    if (!has(name, "query")) continue;
    std::vector<float>& values = scaled.emplace_back(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    for (float& x : values) x *= 300;
    tensor.bytes = std::as_bytes(std::span(values));
  }
  ASSERT_FALSE(scaled.empty());
  {
    format::SafetensorsWriter file(folder / "model.safetensors");
    for (const auto& [name, tensor] : tensors) file.declare(name, tensor.dtype, tensor.shape);
    for (const auto& [name, tensor] : tensors) file.write(name, tensor.bytes);
    file.finish();
  }
  const Look look = Session::open(folder).look(kTired);
  const std::string html = page_html({&look, 1}), plain = page_html(std::vector<Look>{tiny().look(kTired)});
  EXPECT_LE(farthest(look, html), kPageWithin);
  EXPECT_GT(html.size(), plain.size());
  std::filesystem::remove_all(folder);
}

TEST(PageFile, CarriesValuesOfShortTextsAlone) {
  const std::string words = "the cat sat on the mat";
  const Look look = tiny().look(words);
  const std::string html = page_html({&look, 1});
  const ReportJson facts = facts_of(html)["texts"][0]["layers"][1];
  EXPECT_EQ(facts["value_width"], 8);
  const ReadLayer layer(html, facts);
  const Explanation row = explain(look, 2, {2, 3}, true);
  // Head 3's first key, v = contribution / weight.
  const std::size_t at = 2 * look.tokens().size() * 8;
  for (std::size_t d = 0; d < 8; ++d) {
    EXPECT_NEAR(layer.values()[at + d], row.contributions[d] / row.keys[0].weight, 1e-3);
  }

  const std::filesystem::path folder = testing::temporary_path("long");
  testing::write_long_model(folder, 600);
  std::string text;
  for (int i = 0; i < 40; ++i) text += words + " ";
  const Look long_look = Session::open(folder).look(text);
  ASSERT_GT(long_look.tokens().size(), kPageValueTokens);
  EXPECT_EQ(facts_of(page_html({&long_look, 1}))["texts"][0]["layers"][0]["value_width"], 0);
  std::filesystem::remove_all(folder);
}

TEST(PageFile, ShowsTheMapsThatWereChosen) {
  const Look look = tiny().look(kTired);
  PageOptions options;
  options.maps = {{2, 3}, {2, 1}};
  const std::string html = page_html({&look, 1}, options);
  const ReportJson text = facts_of(html)["texts"][0];
  ASSERT_EQ(text["layers"].size(), 1u);
  EXPECT_EQ(text["layers"][0]["heads"], ReportJson({1, 3}));
  ASSERT_EQ(text["report"]["maps"].size(), 2u);
  EXPECT_EQ(text["report"]["maps"][0].contains("row"), false);
  EXPECT_LE(farthest(look, html), kPageWithin);
  options.maps = {{3, 1}};
  EXPECT_THROW(page_html({&look, 1}, options), BadArgument);
}

TEST(PageFile, HoldsSeveralTexts) {
  const std::vector<Look> looks = {tiny().look("the cat"), tiny().look(kTired)};
  const ReportJson page = facts_of(page_html(looks));
  ASSERT_EQ(page["texts"].size(), 2u);
  EXPECT_EQ(page["texts"][0]["report"]["text"], "the cat");
  EXPECT_EQ(page["texts"][1]["report"]["text"], kTired);
  EXPECT_NE(page["texts"][0]["layers"][0]["numbers"], page["texts"][1]["layers"][0]["numbers"]);
}

TEST(PageFile, SaysWhatToDoWhereItIsTooLarge) {
  const Look look = tiny().look(kTired);
  PageOptions options;
  options.max_bytes = 1000;
  try {
    page_html({&look, 1}, options);
    FAIL() << "a page of 1 kB";
  } catch (const BadArgument& error) {
    for (const char* part : {"--html-max allows 0.001", "--layer", "--head", "MB"}) {
      EXPECT_TRUE(has(error.what(), part)) << error.what();
    }
  }
  options.max_bytes = page_html({&look, 1}).size();
  EXPECT_EQ(page_html({&look, 1}, options).size(), options.max_bytes);
  --options.max_bytes;
  EXPECT_THROW(page_html({&look, 1}, options), BadArgument);
}

TEST(PageFile, NothingInATextIsMarkup) {
  const std::string text = "</script><script>alert(1) <!-- \"it\" & 'x' \xE2\x80\xA8\xE2\x80\xAE";
  const Look look = tiny().look(text);
  const std::string html = page_html({&look, 1}), plain = page_html(std::vector<Look>{tiny().look("the cat")});
  EXPECT_EQ(facts_of(html)["texts"][0]["report"]["text"], text);
  const auto count = [](const std::string& in, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = in.find(part); at != std::string::npos; at = in.find(part, at + 1)) ++found;
    return found;
  };
  for (const char* part : {"<script", "</script", "<!--"}) EXPECT_EQ(count(html, part), count(plain, part)) << part;
  EXPECT_TRUE(has(html, "Content-Security-Policy"));
  EXPECT_FALSE(has(html, "unsafe-inline"));
}

TEST(PageFile, IsTheSameEveryTime) {
  const Look look = tiny().look(kTired);
  EXPECT_EQ(page_html({&look, 1}), page_html({&look, 1}));
}

}  // namespace
}  // namespace sightline::engine
