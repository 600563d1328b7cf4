#include "src/engine/report.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "sightline/error.h"
#include "src/engine/report_testing.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/safetensors.h"

namespace sightline::engine {
namespace {

constexpr char kText[] =
    "It didn't cross \ue000 the street.";  // a word of three pieces, and a character that is dropped

const Session& tiny() {
  static const Session session = Session::open(testing::tiny_model());
  return session;
}

const Look& tiny_look() {
  static const Look look = tiny().look(kText, {.top = 3});
  return look;
}

ReportOptions everything() {
  ReportOptions options;
  options.grid = MapId{2, 3};
  return options;
}

ReportJson full_report() {
  const Explanation row = explain(tiny_look(), 2, {1, 2}, true);
  return build_report(tiny_look(), everything(), {&row, 1});
}

// Of a text with an answer in it, which a model reads that writes.
ReportJson answered_report() {
  Prompt prompt("the cat sat.");
  prompt.segments = prompt.answers = {{"assistant", 4, 12}};
  return build_report(Session::open(testing::source_path("tests/data/tiny-decoder")).look(prompt));
}

TEST(Report, IsDocumentedFieldByField) {
  const std::set<std::string> documented = testing::documented_fields("## Fields");
  std::set<std::string> written = testing::fields_of(full_report());
  written.merge(testing::fields_of(answered_report()));
  written.merge(testing::fields_of(build_report(tiny().look(kText, {.knock_outs = {"it->didn't"}}))));
  ASSERT_GT(documented.size(), 90u);
  for (const std::string& field : written) EXPECT_TRUE(documented.count(field)) << field << " is not in docs/report.md";
  for (const std::string& field : documented) {
    if (field == "notes[]") continue;
    EXPECT_TRUE(written.count(field)) << field << " is in docs/report.md, not in the report";
  }
}

TEST(Report, SaysItsVersionAndItsCaveat) {
  const ReportJson report = full_report();
  EXPECT_EQ(report.begin().key(), "sightline_report");
  EXPECT_EQ(report["sightline_report"], 1);
  EXPECT_EQ(report["arithmetic_version"], kArithmeticVersion);
  EXPECT_EQ(report["caveat"], "Attention weights show where information flowed, not why.");
  EXPECT_TRUE(report["notes"].empty());
}

TEST(Report, DescribesTextAndModel) {
  const ReportJson report = full_report();
  EXPECT_EQ(report["text"], kText);
  EXPECT_EQ(report["model"]["name"], "tiny-bert");
  EXPECT_EQ(report["model"]["heads"], 3);
  EXPECT_EQ(report["tokens"][2]["piece"], "didn");
  EXPECT_EQ(report["tokens"][2]["text"], "didn");
  EXPECT_EQ(report["tokens"][2]["word"], 2);
  EXPECT_EQ(report["words"][2]["label"], "didn't");
  EXPECT_EQ(report["words"][2]["token_begin"], 2);
  EXPECT_EQ(report["words"][2]["token_end"], 5);
  const ReportJson& street = report["tokens"][7];  // the dropped character has three bytes and is one character
  EXPECT_EQ(street["text"], "street");
  EXPECT_EQ(street["byte_begin"].get<int>() - street["char_begin"].get<int>(), 2);
  EXPECT_EQ(report["dropped"][0]["text"], "\ue000");
  EXPECT_EQ(report["segments"], (ReportJson{"special", "text", "first"}));
  EXPECT_EQ(report["offsets"], (ReportJson{-1, 0, 1}));
}

TEST(Report, SaysWhatWasKnockedOut) {
  EXPECT_EQ(ReportJson::array(), full_report()["blocked"]);
  const ReportJson blocked = build_report(tiny().look(kText, {.knock_outs = {"didn't->street@L2H3, L1"}}))["blocked"];
  EXPECT_EQ(blocked, ReportJson::parse(R"([{"spec": "didn't->street@L2H3, L1", "rows": [[2, 5]], "keys": [[7, 8]],
    "maps": [{"layers": [2], "heads": [3]}, {"layers": [1], "heads": [1, 2, 3]}], "seen": true}])"));
}

TEST(Report, CountsLayersAndHeadsFromOne) {
  const ReportJson report = full_report();
  ASSERT_EQ(report["maps"].size(), 6u);
  EXPECT_EQ(report["maps"][0]["name"], "L1H1");
  EXPECT_EQ(report["maps"][5]["layer"], 2);
  EXPECT_EQ(report["maps"][5]["head"], 3);
  EXPECT_EQ(report["maps"][5]["kind"], "self");
  EXPECT_TRUE(report["maps"][5].contains("grid"));
  EXPECT_FALSE(report["maps"][4].contains("grid"));
}

TEST(Report, HoldsTheNumbersOfTheLook) {
  const ReportJson report = full_report();
  const MapId id{2, 3};
  const ReportJson& map = report["maps"][5];
  const MapObservations seen = tiny_look().observations(id);
  EXPECT_EQ(map["summary"]["entropy"].get<float>(), tiny_look().summary(id).entropy);
  for (std::size_t i = 0; i < seen.entropy.size(); ++i) {
    EXPECT_EQ(map["row"]["entropy"][i].get<float>(), seen.entropy[i]);
    EXPECT_EQ(map["row"]["segment_mass"][i][1].get<float>(), seen.on_segment(i, 1));
    EXPECT_EQ(map["row"]["top_key"][i].size(), 3u);
    EXPECT_EQ(map["row"]["top_key"][i][2], seen.top_index[5 * i + 2]);
    EXPECT_EQ(map["row"]["top_weight"][i][2].get<float>(), seen.top_weight[5 * i + 2]);
  }
  const Axis& words = tiny_look().words();
  const Grid grid = tiny_look().grid(id, words, words);
  EXPECT_EQ(map["grid"]["weights"][2][3].get<float>(), grid.at(2, 3));
  EXPECT_EQ(map["grid"]["set_aside"][2], 0);
}

TEST(Report, SetsSpecialTokensAsideWithoutRenormalising) {
  ReportOptions options = everything();
  options.special = false;
  options.maps = {{2, 3}};
  const ReportJson report = build_report(tiny_look(), options);
  EXPECT_EQ(report["special_in_top"], false);
  ASSERT_EQ(report["maps"].size(), 1u);
  const ReportJson& grid = report["maps"][0]["grid"];
  EXPECT_EQ(grid["row_items"], (ReportJson{1, 2, 3, 4, 5, 6}));
  for (std::size_t r = 0; r < 6; ++r) {
    double total = grid["set_aside"][r].get<double>();
    EXPECT_GT(total, 0);
    for (const ReportJson& weight : grid["weights"][r]) total += weight.get<double>();
    EXPECT_NEAR(total, 1, 1e-5);
  }
  for (const ReportJson& keys : report["maps"][0]["row"]["top_key"]) {
    ASSERT_EQ(keys.size(), 3u);
    for (const ReportJson& key : keys) EXPECT_FALSE(tiny_look().tokens()[key.get<std::size_t>()].special);
  }
}

TEST(Report, GivesAGridOfPieces) {
  ReportOptions options = everything();
  options.pieces = true;
  const ReportJson grid = build_report(tiny_look(), options)["maps"][5]["grid"];
  EXPECT_EQ(grid["row_axis"], "tokens");
  EXPECT_EQ(grid["weights"].size(), tiny_look().tokens().size());
}

TEST(Report, ReportsFewerKeysThanAskedForInAShortText) {
  const Look look = tiny().look("cat", {.top = 8});
  const ReportJson report = build_report(look);
  EXPECT_EQ(report["top"], 8);
  EXPECT_EQ(report["maps"][0]["row"]["top_key"][1].size(), 3u);
}

TEST(Report, AddsTheMapOfTheGridAndRefusesUnknownOnes) {
  ReportOptions options;
  options.maps = {{1, 1}};
  options.grid = MapId{2, 2};
  EXPECT_EQ(build_report(tiny_look(), options)["maps"].size(), 2u);
  options.grid = MapId{2, 4};
  EXPECT_THROW(build_report(tiny_look(), options), BadArgument);
  options = {.maps = {{3, 1}}};
  EXPECT_THROW(build_report(tiny_look(), options), BadArgument);
}

TEST(Report, SurvivesTheRoundTripThroughText) {
  const ReportJson report = full_report();
  const std::string text = report_text(report);
  EXPECT_TRUE(std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; }));
  EXPECT_EQ(ReportJson::parse(text), report);
  EXPECT_EQ(report_text(ReportJson::parse(text)), text);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Report, WritesFp32WithTheFewestDigits) {
  const ReportJson report = full_report();
  const ReportJson& masses = report["maps"][0]["row"]["segment_mass"];
  ASSERT_EQ(masses.size(), tiny_look().tokens().size());
  for (const ReportJson& mass : masses) {
    EXPECT_LE(mass[0].dump().size(), 15u) << mass[0].dump();  // 9 digits at most, "0.", an exponent
  }
}

// A directory with a copy of the tiny model, removed with the object.
class ModelCopy {
 public:
  ModelCopy() {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(testing::tiny_model(), path_);
    std::filesystem::permissions(path_ / "model.safetensors", std::filesystem::perms::owner_all);
  }
  ~ModelCopy() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

  // Overwrites the embedding of one token.
  void set_embedding(std::int64_t id, float value) const {
    const auto file = format::SafetensorsFile::open(testing::tiny_model() / "model.safetensors");
    const auto& embedding = file.at("embeddings.word_embeddings.weight");
    const std::byte* data = embedding.bytes.data();  // of all tensors: the lowest address
    for (const auto& [name, tensor] : file.tensors()) data = std::min(data, tensor.bytes.data());
    std::fstream out(path_ / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t header = 0;
    out.read(reinterpret_cast<char*>(&header), 8);
    out.seekp(static_cast<std::ptrdiff_t>(8 + header) + (embedding.bytes.data() - data) + id * embedding.shape[1] * 4);
    for (std::int64_t d = 0; d < embedding.shape[1]; ++d) out.write(reinterpret_cast<const char*>(&value), 4);
  }

 private:
  std::filesystem::path path_ = testing::temporary_path("model");
};

TEST(Report, WritesNullForWhatIsNotFiniteAndSaysSo) {
  const ModelCopy copy;
  const std::int32_t cat = tiny().look("cat").tokens()[1].id;
  copy.set_embedding(cat, std::numeric_limits<float>::quiet_NaN());
  const Look look = Session::open(copy.path()).look("the cat sat");
  const std::string text = report_text(build_report(look, {.grid = MapId{1, 1}}));
  EXPECT_EQ(text.find("nan"), std::string::npos);
  const ReportJson report = ReportJson::parse(text);
  EXPECT_TRUE(report["maps"][0]["row"]["entropy"][2].is_null());
  ASSERT_FALSE(report["notes"].empty());
  EXPECT_TRUE(report["notes"][0].get<std::string>().starts_with("L1H1: "));
}

TEST(Report, WithoutListsIsTheSameButForThem) {
  const Explanation row = explain(tiny_look(), 2, {1, 2}, true);
  ReportOptions options = everything();
  options.lists = false;
  ReportJson expected = full_report();
  for (ReportJson& map : expected["maps"]) {
    map.erase("row");
    map.erase("col");
  }
  EXPECT_EQ(build_report(tiny_look(), options, {&row, 1}), expected);
}

TEST(Report, SaysWhichMapsWereKept) {
  const Look look = tiny().look(kText, {.keep_layers = {1}});
  const ReportJson report = build_report(look), full = build_report(tiny().look(kText));
  ASSERT_EQ(report["maps"].size(), 6u);
  for (std::size_t m = 0; m < 6; ++m) {
    const ReportJson& map = report["maps"][m];
    EXPECT_EQ(map["kept"], m < 3);
    EXPECT_EQ(map.contains("row"), m < 3);
    EXPECT_EQ(map.contains("col"), m < 3);
    EXPECT_EQ(map["summary"], full["maps"][m]["summary"]);
    EXPECT_EQ(map["rows"], full["maps"][m]["rows"]);
  }
  EXPECT_EQ(report["sharpest"]["layer"], 1);
}

TEST(Report, ListsTheKeysWithTheLargestWeights) {
  Explanation row = explain(tiny_look(), 2, {1, 2}, true);
  const std::size_t count = row.keys.size();
  for (ExplainedKey& key : row.keys) key.weight = 0.01;
  row.keys[5].weight = 0.5;
  row.keys[1].weight = 0.3;
  row.keys[3].weight = std::numeric_limits<double>::quiet_NaN();
  const auto listed = [&](std::size_t limit) {
    std::vector<std::size_t> tokens;
    const ReportJson explanation =
        build_report(tiny_look(), {.lists = false, .explained_keys = limit}, {&row, 1})["explanations"][0];
    for (const ReportJson& key : explanation["keys"]) tokens.push_back(key["token"]);
    EXPECT_EQ(explanation["keys_left_out"], count - tokens.size());
    return tokens;
  };
  EXPECT_EQ(listed(0).size(), count);
  EXPECT_EQ(listed(count).size(), count);
  EXPECT_EQ(listed(2), (std::vector<std::size_t>{1, 5}));
  EXPECT_EQ(listed(3), (std::vector<std::size_t>{0, 1, 5}));  // of equals the lower
}

class ReportFile : public ::testing::Test {
 protected:
  ~ReportFile() override { std::filesystem::remove(path_); }
  std::filesystem::path path_ = testing::temporary_path("report.safetensors");
};

// Compares a JSON list of one map with its part of a stacked tensor.
void expect_same(const ReportJson& json, std::span<const float> values, const std::string& what) {
  std::size_t next = 0;
  for (const ReportJson& item : json) {
    if (!item.is_array()) {
      ASSERT_LT(next, values.size()) << what;
      EXPECT_EQ(item.get<float>(), values[next++]) << what;
      continue;
    }
    for (const ReportJson& number : item) {
      ASSERT_LT(next, values.size()) << what;
      EXPECT_EQ(number.get<float>(), values[next++]) << what;
    }
  }
  EXPECT_EQ(next, values.size()) << what;
}

std::vector<std::int32_t> integers(const format::Tensor& tensor) {
  std::vector<std::int32_t> values(tensor.bytes.size() / 4);
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST_F(ReportFile, HoldsTheNumbersOfTheJson) {
  const Explanation row = explain(tiny_look(), 2, {1, 2}, true);
  write_report(path_, tiny_look(), everything(), {&row, 1});
  const auto file = format::SafetensorsFile::open(path_);
  const ReportJson report = full_report();
  const std::size_t maps = report["maps"].size();
  for (std::size_t m = 0; m < maps; ++m) {
    const auto part = [&](const std::string& name) {
      const std::vector<float> all = format::to_f32(file.at(name));
      return std::vector(all.begin() + m * all.size() / maps, all.begin() + (m + 1) * all.size() / maps);
    };
    const ReportJson& map = report["maps"][m];
    EXPECT_EQ(integers(file.at("self.layer"))[m], map["layer"]);
    EXPECT_EQ(integers(file.at("self.head"))[m], map["head"]);
    for (const auto& [name, values] : map["row"].items()) {
      if (name != "top_key") expect_same(values, part("self.row." + name), name);
    }
    expect_same(map["col"]["mass"], part("self.col.mass"), "mass");
  }
  std::size_t slot = 0;
  const std::vector<std::int32_t> keys = integers(file.at("self.row.top_key"));
  for (const ReportJson& map : report["maps"]) {
    for (const ReportJson& of_row : map["row"]["top_key"]) {
      for (const ReportJson& key : of_row) EXPECT_EQ(key, keys.at(slot++));
    }
  }
  EXPECT_EQ(slot, keys.size());
  expect_same(report["maps"][5]["grid"]["weights"], format::to_f32(file.at("self.grid.weights")), "grid");
  expect_same(report["maps"][5]["grid"]["set_aside"], format::to_f32(file.at("self.grid.set_aside")), "set aside");
}

TEST_F(ReportFile, CarriesTheRestOfTheReportAsMetadata) {
  const Explanation row = explain(tiny_look(), 2, {1, 2}, true);
  write_report(path_, tiny_look(), everything(), {&row, 1});
  const auto file = format::SafetensorsFile::open(path_);
  ReportJson expected = full_report();
  for (ReportJson& map : expected["maps"]) {
    map.erase("row");
    map.erase("col");
    if (!map.contains("grid")) continue;
    map["grid"].erase("weights");
    map["grid"].erase("set_aside");
  }
  EXPECT_EQ(ReportJson::parse(file.metadata().at("sightline_report")), expected);
}

TEST_F(ReportFile, HoldsTheMapsThatWereKept) {
  write_report(path_, tiny().look(kText, {.keep_layers = {2}}));
  const auto file = format::SafetensorsFile::open(path_);
  EXPECT_EQ(integers(file.at("self.layer")), (std::vector<std::int32_t>{2, 2, 2}));
  const ReportJson report = ReportJson::parse(file.metadata().at("sightline_report"));
  ASSERT_EQ(report["maps"].size(), 3u);
  EXPECT_EQ(report["maps"][0]["name"], "L2H1");
}

TEST_F(ReportFile, PadsTopKeysOfAShortText) {
  write_report(path_, tiny().look("cat", {.top = 8}));
  const auto file = format::SafetensorsFile::open(path_);
  EXPECT_EQ(file.at("self.row.top_key").shape, (std::vector<std::int64_t>{6, 3, 8}));
  const auto keys = integers(file.at("self.row.top_key"));
  EXPECT_NE(keys[2], -1);
  EXPECT_EQ(keys[3], -1);
  EXPECT_EQ(format::to_f32(file.at("self.row.top_weight"))[3], 0);
  EXPECT_EQ(file.find("self.grid.weights"), nullptr);
}

TEST_F(ReportFile, LeavesNothingBehindWhereItCannotWrite) {
  EXPECT_THROW(write_report(path_ / "below" / "a-file", tiny_look()), BadFile);
  EXPECT_THROW(write_report(path_, tiny_look(), {.maps = {{9, 9}}}), BadArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace sightline::engine
