// Two texts side by side: against transformers, closed forms, and sums made here from whole maps.
#include "src/engine/compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "sightline/error.h"
#include "src/engine/compare_report.h"
#include "src/engine/report_testing.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

using format::error_of;
using format::SafetensorsFile;
using testing::kTired;
using testing::kWide;

const Session& session_of(const std::string& model) {
  static const Session bert = Session::open(testing::source_path("tests/data/tiny-bert"));
  static const Session decoder = Session::open(testing::source_path("tests/data/tiny-decoder"));
  return model == "tiny-bert" ? bert : decoder;
}

TextPair pair_of(const std::string& model, const std::string& a, const std::string& b, bool pieces = false) {
  return {session_of(model).look(a), session_of(model).look(b), pieces};
}

std::vector<double> doubles(const format::Tensor& tensor) {
  std::vector<double> values(tensor.bytes.size() / sizeof(double));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

double entropy(const std::vector<double>& row) {
  double sum = 0;
  for (const double weight : row) sum -= weight > 0 ? weight * std::log(weight) : 0;
  return sum;
}

// By its other definition: the entropy of the mean less the mean of the entropies.
double divergence(const std::vector<double>& p, const std::vector<double>& q) {
  std::vector<double> mean;
  for (std::size_t i = 0; i < p.size(); ++i) mean.push_back((p[i] + q[i]) / 2);
  return entropy(mean) - (entropy(p) + entropy(q)) / 2;
}

// The maps that transformers gives for one text: [layers, heads, n, n].
class ReferenceMaps {
 public:
  explicit ReferenceMaps(const format::Tensor& tensor)
      : heads_(tensor.shape[1]), tokens_(tensor.shape[2]), weights_(format::to_f32(tensor)) {}

  std::int64_t tokens() const { return tokens_; }
  // From a word the mean over its tokens, to a word the sum.
  double weight(const MapId& map, const AxisItem& row, const AxisItem& key) const {
    double sum = 0;
    for (std::int64_t i = row.token_begin; i < row.token_end; ++i) {
      for (std::int64_t j = key.token_begin; j < key.token_end; ++j) {
        sum +=
            weights_[static_cast<std::size_t>((((map.layer - 1) * heads_ + map.head - 1) * tokens_ + i) * tokens_ + j)];
      }
    }
    return sum / static_cast<double>(row.token_end - row.token_begin);
  }

 private:
  std::int64_t heads_, tokens_;
  std::vector<float> weights_;
};

std::vector<double> reference_row(const TextPair& pair, const ReferenceMaps& maps, bool first, std::size_t item,
                                  const MapId& map) {
  const Axis& axis = first ? pair.axis_a() : pair.axis_b();
  const auto index = [&](std::size_t i) { return first ? pair.items()[i].a : pair.items()[i].b; };
  std::vector<double> row;
  for (std::size_t key = 0; key < pair.items().size(); ++key) {
    const bool there = index(key) >= 0;
    row.push_back(there ? maps.weight(map, axis[static_cast<std::size_t>(index(item))],
                                      axis[static_cast<std::size_t>(index(key))])
                        : 0);
  }
  return row;
}

void expect_row(const std::vector<double>& expected, const std::vector<double>& row) {
  ASSERT_EQ(expected.size() + 1, row.size());
  for (std::size_t key = 0; key < expected.size(); ++key) ASSERT_NEAR(expected[key], row[key], 1e-5) << key;
  EXPECT_EQ(row.back(), 0) << "no head has a sink";
}

TEST(Compare, AgreesWithTransformers) {
  const auto file = SafetensorsFile::open(testing::source_path("tests/data/contrasts.safetensors"));
  std::size_t divergences = 0;
  for (const std::string model : {"tiny-bert", "tiny-decoder"}) {
    for (const std::string title : {"middle", "adjective"}) {
      const std::string prefix = model + "." + title + ".";
      const ReferenceMaps a(file.at(prefix + "a")), b(file.at(prefix + "b"));
      const std::vector<double> written =
          file.tensors().count(prefix + "divergence") ? doubles(file.at(prefix + "divergence")) : std::vector<double>();
      for (const bool pieces : {true, false}) {
        SCOPED_TRACE(prefix + (pieces ? "tokens" : "words"));
        const TextPair pair =
            pair_of(model, file.metadata().at(title + ".a"), file.metadata().at(title + ".b"), pieces);
        ASSERT_EQ(std::ssize(pair.a().tokens()), a.tokens());
        ASSERT_EQ(std::ssize(pair.b().tokens()), b.tokens());
        std::size_t map_index = 0;
        for (const MapId& map : pair.a().maps()) {
          for (std::size_t item = 0; item < pair.items().size(); ++item) {
            if (!pair.items()[item].paired()) continue;
            const RowPair rows = read_rows(pair, item, map);
            const auto in_a = reference_row(pair, a, true, item, map), in_b = reference_row(pair, b, false, item, map);
            expect_row(in_a, rows.a);
            expect_row(in_b, rows.b);
            CompareOptions one;
            one.token = fmt::format("A:#{}", pair.items()[item].a + 1);
            one.layer = map.layer;
            one.head = map.head;
            const double found = compare(pair, one).rows.at(0).divergence;
            EXPECT_NEAR(divergence(in_a, in_b), found, 2e-6);
            if (!pieces || written.empty()) continue;
            EXPECT_NEAR(written[map_index * static_cast<std::size_t>(a.tokens()) + item], found, 2e-6);
            ++divergences;
          }
          ++map_index;
        }
      }
    }
  }
  EXPECT_EQ(divergences, 6u * 8 + 8u * 6);
}

TEST(Compare, RanksHeadsAndWords) {
  const TextPair pair = pair_of("tiny-bert", kTired, "The animal didn't cross the street as it was cat.");
  const Comparison all = compare(pair, {.top = 1000});
  std::size_t paired = 0;
  for (const analysis::AlignedPair& item : pair.items()) paired += item.paired();
  EXPECT_EQ(all.words.size(), paired);
  EXPECT_EQ(all.rows.size(), paired * 6);
  EXPECT_TRUE(all.complete);
  for (std::size_t i = 0; i + 1 < all.rows.size(); ++i) EXPECT_GE(all.rows[i].divergence, all.rows[i + 1].divergence);
  for (const ItemContrast& word : all.words) {
    const Comparison one = compare(pair, {.token = fmt::format("A:#{}", pair.items()[word.item].a + 1)});
    ASSERT_EQ(one.rows.size(), 6u);
    EXPECT_EQ(one.rows.front().divergence, word.largest);
    EXPECT_EQ(one.rows.front().map, word.map);
    double sum = 0;
    for (const RowContrast& row : one.rows) {
      sum += row.divergence;
      const auto same = [&](const RowContrast& x) { return x.item == row.item && x.map == row.map; };
      const auto found = std::ranges::find_if(all.rows, same);
      ASSERT_NE(found, all.rows.end());
      EXPECT_EQ(found->divergence, row.divergence) << "rows read alone and in strips";
    }
    EXPECT_NEAR(word.mean, sum / 6, 1e-15);
  }
  const Comparison few = compare(pair, {.top = 3});
  ASSERT_EQ(few.rows.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(few.rows[i].divergence, all.rows[i].divergence);
}

TEST(Compare, TellsWhatWeighsMoreAndLess) {
  const TextPair pair = pair_of("tiny-bert", "the cat sat on the mat", "the cat was on the mat");
  const Comparison named = compare(pair, {.token = "on", .named = {"cat", "mat", "sat"}});
  EXPECT_EQ(named.by, RankBy::shift);
  for (const RowContrast& row : named.rows) {
    ASSERT_EQ(row.changes.size(), 3u);
    const RowPair rows = read_rows(pair, row.item, row.map);
    std::vector<double> changes;
    std::size_t first_a = row.changes[0].item, first_b = first_a;
    for (const Change& change : row.changes) {
      EXPECT_EQ(change.a, rows.a[change.item]);
      EXPECT_EQ(change.b, rows.b[change.item]);
      changes.push_back(change.b - change.a);
      if (rows.a[change.item] > rows.a[first_a]) first_a = change.item;
      if (rows.b[change.item] > rows.b[first_b]) first_b = change.item;
    }
    EXPECT_EQ(row.shift, *std::ranges::max_element(changes) - *std::ranges::min_element(changes));
    EXPECT_EQ(row.flip.has_value(), first_a != first_b);
    if (row.flip) {
      EXPECT_EQ(row.flip->a, first_a);
      EXPECT_EQ(row.flip->b, first_b);
    }
  }
  const Comparison usual = compare(pair, {.token = "on"});
  EXPECT_EQ(usual.by, RankBy::divergence);
  for (const RowContrast& row : usual.rows) {
    const RowPair rows = read_rows(pair, row.item, row.map);
    ASSERT_EQ(row.changes.size(), 2u);
    for (std::size_t item = 0; item < pair.items().size(); ++item) {
      if (pair.is_special(item)) continue;
      EXPECT_LE(row.changes[0].change(), rows.b[item] - rows.a[item]);
      EXPECT_GE(row.changes[1].change(), rows.b[item] - rows.a[item]);
    }
  }
  const Comparison one = compare(pair, {.token = "on", .named = {"cat"}});
  EXPECT_EQ(one.rows.front().shift, std::abs(one.rows.front().changes.front().change()));
  EXPECT_FALSE(one.rows.front().flip);
}

TEST(Compare, SaysThatACausalRowCannotSeeWhatFollows) {
  const TextPair pair = pair_of("tiny-decoder", "the cat sat on the mat because it was tired",
                                "the cat sat on the mat because it was very wide");
  ASSERT_TRUE(pair.first_difference());
  for (std::size_t item = 0; item < pair.items().size(); ++item) {
    if (!pair.items()[item].paired()) continue;
    EXPECT_EQ(pair.is_blind(item), pair.items()[item].same) << pair.label(item);
    if (!pair.is_blind(item)) continue;
    for (const MapId& map : pair.a().maps()) {
      const RowPair rows = read_rows(pair, item, map);
      EXPECT_EQ(rows.a, rows.b) << "to the bit";
    }
  }
  const Comparison it = compare(pair, {.token = "it", .top = 5});
  ASSERT_EQ(it.rows.size(), 8u);
  for (const RowContrast& row : it.rows) EXPECT_EQ(row.divergence, 0);
  EXPECT_TRUE(it.unmoved);
  ASSERT_EQ(it.offered.size(), 5u);
  for (const RowContrast& row : it.offered) EXPECT_GT(row.divergence, 0);
  EXPECT_EQ(it.blind, 9u);
  EXPECT_EQ(compare(pair, {}).rows.front().divergence, it.offered.front().divergence);
  const TextPair both_ways = pair_of("tiny-bert", kTired, kWide);
  EXPECT_FALSE(both_ways.is_blind(both_ways.find("it")));
  EXPECT_GT(compare(both_ways, {.token = "it"}).rows.front().divergence, 0);
}

// A rope that follows the text's length makes rows of equal beginnings differ: they are compared like others.
TEST(Compare, KnowsThatARopeMayFollowTheLength) {
  const std::filesystem::path directory = testing::temporary_path("dynamic-rope");
  testing::write_decoder(directory, "llama_llama3", false);
  auto config = nlohmann::json::parse(format::read_file(directory / "config.json", 1 << 20));
  config["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 4.0}};
  config["rope_parameters"] = {{"rope_type", "dynamic"}, {"factor", 4.0}, {"rope_theta", 10000.0}};
  config["max_position_embeddings"] = 4;
  std::filesystem::permissions(directory / "config.json", std::filesystem::perms::owner_all);
  std::ofstream(directory / "config.json") << config;
  const Session session = Session::open(directory);
  const TextPair pair(session.look("the cat sat on the mat"), session.look("the cat sat on the mat was it because"),
                      false);
  EXPECT_FALSE(pair.blind_rows_are_equal());
  const Comparison cat = compare(pair, {.token = "cat"});
  EXPECT_TRUE(pair.is_blind(*cat.item));
  EXPECT_FALSE(cat.unmoved);
  EXPECT_TRUE(cat.offered.empty());
  EXPECT_GT(cat.rows.front().divergence, 0);
  std::filesystem::remove_all(directory);
}

TEST(Compare, CountsTheSinkAsAKey) {
  const std::filesystem::path directory = testing::temporary_path("sinks");
  testing::write_decoder(directory, "gpt_oss", true);
  const Session session = Session::open(directory);
  const TextPair pair(session.look("the cat sat on the mat"), session.look("the animal sat on the mat"), false);
  for (const RowContrast& row : compare(pair, {.token = "mat"}).rows) {
    const RowPair rows = read_rows(pair, row.item, row.map);
    for (const std::vector<double>& side : {rows.a, rows.b}) {
      double sum = 0;
      for (const double weight : side) sum += weight;
      EXPECT_NEAR(sum, 1, 1e-5);
      EXPECT_GT(side.back(), 0);
    }
    EXPECT_NEAR(row.divergence, divergence(rows.a, rows.b), 1e-6);
  }
  std::filesystem::remove_all(directory);
}

TEST(Compare, NamesWordsInEitherText) {
  const TextPair pair =
      pair_of("tiny-bert", "the cat sat on the mat it was tired", "it sat on the mat it was so tired");
  EXPECT_EQ(pair.find("sat"), pair.find("A:sat"));
  EXPECT_EQ(pair.find("SAT"), pair.find("B:#3"));
  EXPECT_EQ(pair.find("A:it"), pair.find("B:it:2"));
  EXPECT_EQ(pair.find("cat"), pair.find("A:cat"));
  EXPECT_EQ(pair.label(pair.find("B:it:1")), "the/it");
  const auto message = [&](const std::string& spec) { return error_of<BadArgument>([&] { pair.find_row(spec); }); };
  EXPECT_EQ(
      message("cat"),
      "\"cat\" stands in the first text alone: nothing in the other is aligned with it, so there is no second row");
  EXPECT_NE(message("so").find("in the second text alone"), std::string::npos);
  EXPECT_NE(message("it").find("in the second text: \"it\" stands 2 times"), std::string::npos) << message("it");
  EXPECT_NE(message("#3").find("\"cat\" (#3) in the first text and \"sat\" (#3) in the second"), std::string::npos)
      << message("#3");
  EXPECT_NE(message("dog").find("there is no \"dog\" in either text"), std::string::npos) << message("dog");
  EXPECT_NE(message("A:so").find("there is no \"A:so\""), std::string::npos) << message("A:so");
  EXPECT_NE(message("#99").find("there is no \"#99\" in either text"), std::string::npos) << message("#99");
  const TextPair longer = pair_of("tiny-bert", "the cat", "the cat sat on");
  EXPECT_EQ(longer.find("#5"), longer.find("on")) << "the first text has four";
  EXPECT_EQ(
      error_of<BadArgument>([] { pair_of("tiny-bert", "the cat", "on it"); }),
      "the two texts have no word in common, so there is nothing to align: give two texts that differ in a few words");
}

TEST(Compare, FindsNothingBetweenIdenticalTexts) {
  const TextPair same = pair_of("tiny-bert", "the cat sat", "the  cat sat");
  EXPECT_FALSE(same.first_difference());
  EXPECT_TRUE(compare(same, {}).rows.empty());
  for (const RowContrast& row : compare(same, {.token = "cat"}).rows) {
    EXPECT_EQ(row.divergence, 0);
    EXPECT_TRUE(row.changes.empty());
  }
}

class StopAfter : public Progress {
 public:
  explicit StopAfter(std::int64_t calls) : left_(calls) {}
  bool advance(std::int64_t, std::int64_t) override { return --left_ > 0; }

 private:
  std::int64_t left_;
};

TEST(Compare, KeepsWhatIsDoneWhenItIsStopped) {
  std::string a, b;
  for (int i = 0; i < 60; ++i) a += i % 7 ? "the cat " : "it was ";
  b = a + "tired";
  const std::filesystem::path directory = testing::temporary_path("stopped");
  testing::write_long_model(directory, 200);
  const Session session = Session::open(directory);
  const TextPair pair(session.look(a + "wide"), session.look(b), false);
  StopAfter stop(9);
  const Comparison part = compare(pair, {.top = 1000, .threads = 1, .progress = &stop});
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(part.words.size(), 32u) << "one strip in all six heads";
  EXPECT_EQ(part.rows.size(), 32u * 6);
  const Comparison whole = compare(pair, {.top = 1000});
  for (const ItemContrast& word : part.words) {
    const auto found = std::ranges::find(whole.words, word.item, &ItemContrast::item);
    ASSERT_NE(found, whole.words.end());
    EXPECT_EQ(found->largest, word.largest);
  }
  StopAfter at_once(1);
  const Comparison none = compare(pair, {.token = "tired", .threads = 1, .progress = &at_once});
  EXPECT_FALSE(none.complete);
  EXPECT_EQ(none.rows.size(), 1u);
  std::filesystem::remove_all(directory);
}

TEST(Compare, LooksIntoOneLayerWhereNoOtherWasKept) {
  LookOptions how;
  how.keep_layers = {2};
  const TextPair pair(session_of("tiny-bert").look(kTired, how), session_of("tiny-bert").look(kWide, how), false);
  const TextPair whole = pair_of("tiny-bert", kTired, kWide);
  const Comparison one = compare(pair, {.token = "it", .layer = 2});
  ASSERT_EQ(one.rows.size(), 3u);
  const Comparison all = compare(whole, {.token = "it", .layer = 2});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(one.rows[i].divergence, all.rows[i].divergence);
  EXPECT_NE(error_of<BadArgument>([&] { compare(whole, {.layer = 3}); }).find("there is no layer 3"),
            std::string::npos);
}

TEST(CompareReport, IsDocumentedFieldByField) {
  const TextPair pair = pair_of("tiny-decoder", "the cat sat on the mat", "the cat was on the mat so");
  std::set<std::string> written;
  for (const CompareOptions& options :
       {CompareOptions{.token = "on", .named = {"cat", "mat"}}, CompareOptions{.token = "cat"}, CompareOptions{}}) {
    written.merge(testing::fields_of(compare_report(pair, compare(pair, options), 8)));
  }
  std::set<std::string> fields = {"notes[]"};  // there where something is not finite
  for (std::string field : written) {
    if (field.starts_with("offered[].")) field.replace(0, 7, "rows");
    fields.insert(field);
  }
  testing::expect_documented("## A comparison", fields);
}

TEST(CompareReport, HasWeightsOfTheFirstRowsAndNumbersOfAll) {
  const TextPair pair = pair_of("tiny-bert", kTired, kWide);
  const Comparison it = compare(pair, {.token = "it", .named = {"animal", "street"}});
  const ReportJson report = compare_report(pair, it, 2);
  EXPECT_EQ(report.begin().key(), "sightline_compare");
  EXPECT_EQ(report["caveat"], kCaveat);
  EXPECT_EQ(report["rows"].size(), 6u);
  EXPECT_TRUE(report["rows"][1].contains("a"));
  EXPECT_FALSE(report["rows"][2].contains("a"));
  EXPECT_EQ(report["rows"][0]["b"].size(), report["items"].size());
  const std::size_t animal = report["named"][0];
  EXPECT_EQ(report["texts"][0]["items"][report["items"][animal]["a"].get<std::size_t>()]["label"], "animal");
  EXPECT_EQ(report["rows"][0]["a"][animal], report["rows"][0]["changes"][0]["a"]);
}

// Layer, head and the four weights of the file beside the checkout.
struct MiniLmRow {
  int layer = 0, head = 0;
  double animal[2] = {}, street[2] = {};
};

std::vector<MiniLmRow> minilm_rows(const std::filesystem::path& path) {
  std::vector<MiniLmRow> rows;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::ranges::replace(line, ',', ' ');
    MiniLmRow row;
    std::istringstream(line) >> row.layer >> row.head >> row.animal[0] >> row.animal[1] >> row.street[0] >>
        row.street[1];
    rows.push_back(row);
  }
  return rows;
}

TEST(Compare, FindsTheCoreferenceHeadOfMiniLm) {
  if (!testing::has_minilm()) GTEST_SKIP() << testing::no_minilm();
  const Session session = Session::open(testing::minilm());
  const TextPair pair(session.look(kTired), session.look(kWide), false);
  const Comparison it = compare(pair, {.token = "it", .named = {"animal", "street"}});
  ASSERT_EQ(it.rows.size(), 72u);
  const RowContrast& first = it.rows.front();
  EXPECT_EQ(map_name(first.map), "L4H2");
  EXPECT_NEAR(first.shift, 0.467, 0.001);
  EXPECT_NEAR(first.changes[0].a, 0.677, 0.001);
  EXPECT_NEAR(first.changes[0].b, 0.281, 0.001);
  EXPECT_NEAR(first.changes[1].a, 0.050, 0.001);
  EXPECT_NEAR(first.changes[1].b, 0.121, 0.001);
  std::set<std::string> flips;
  for (const RowContrast& row : it.rows) {
    if (row.flip && row.flip->a == it.named[0]) flips.insert(map_name(row.map));
  }
  EXPECT_EQ(flips, (std::set<std::string>{"L4H4", "L4H6", "L5H1", "L5H6", "L5H8"}));
  EXPECT_EQ(map_name(compare(pair, {.token = "it"}).rows.front().map), "L4H2") << "by divergence, too";
  const std::filesystem::path csv = testing::source_path("../shared/data/reference/minilm_animal_it_heads.csv");
  if (!std::filesystem::exists(csv)) GTEST_SKIP() << "72 rows not compared: " << csv << " is not there";
  const std::vector<MiniLmRow> expected = minilm_rows(csv);
  ASSERT_EQ(expected.size(), 72u);
  for (const MiniLmRow& row : expected) {
    const auto found = std::ranges::find_if(it.rows, [&](const RowContrast& r) {
      return r.map == MapId{row.layer, row.head};
    });
    ASSERT_NE(found, it.rows.end());
    SCOPED_TRACE(map_name(found->map));
    EXPECT_NEAR(found->changes[0].a, row.animal[0], 0.001);
    EXPECT_NEAR(found->changes[0].b, row.animal[1], 0.001);
    EXPECT_NEAR(found->changes[1].a, row.street[0], 0.001);
    EXPECT_NEAR(found->changes[1].b, row.street[1], 0.001);
  }
}

}  // namespace
}  // namespace sightline::engine
