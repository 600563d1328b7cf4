#include "cli/head_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "src/engine/look_data.h"

namespace sightline::cli {
namespace {

// A Look that holds summaries alone.
engine::Look made(int layers, int heads, const engine::MapSummary& summary) {
  const auto data = std::make_shared<engine::Look::Data>();
  for (int layer = 1; layer <= layers; ++layer) {
    engine::LayerRecord record;
    record.layer = layer;
    record.heads = heads;
    data->layers.push_back(std::move(record));
  }
  data->summaries.assign(static_cast<std::size_t>(layers * heads), summary);
  return engine::Look(data);
}

engine::MapSummary sample() {
  engine::MapSummary summary;
  summary.entropy_normalised = 0.41f;
  summary.special_share = 0.52f;
  summary.previous_share = 0.996f;
  summary.same_share = 0.004f;
  summary.next_share = 0.07f;
  summary.distance = 3.4f;
  return summary;
}

std::vector<std::string> lines_of(const Terminal& terminal, const engine::Look& look, const engine::MapId& marked) {
  Painter painter(terminal);
  add_head_table(painter, look, marked);
  std::vector<std::string> lines;
  std::istringstream stream(painter.result());
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Terminal plain(int width, bool utf8) { return {width, ColourDepth::none, utf8, format::Theme::dark}; }

TEST(HeadTable, ShowsEachMeasureOfEachHead) {
  const auto lines = lines_of(plain(80, true), made(2, 12, sample()), {2, 1});
  const auto twelve = [](const std::string& cell) {
    std::string row;
    for (int i = 0; i < 12; ++i) row += cell;
    return row;
  };
  ASSERT_EQ(lines.size(), 13u);
  EXPECT_EQ(lines[0], "entropy, % of even                      mean distance, tokens");
  EXPECT_EQ(lines[2], " 1 " + twelve(" 41") + "  1 " + twelve("  3"));
  EXPECT_EQ(lines[4], "% on special tokens                     % on same token");
  EXPECT_EQ(lines[6], " 1 " + twelve(" 52") + "  1");
  EXPECT_EQ(lines[10], " 1 " + twelve(" 99") + "  1 " + twelve("  7"));
  EXPECT_EQ(lines[3].substr(0, 10), " 2 ›41 4");  // the arrow has three bytes
  EXPECT_EQ(lines[7].substr(lines[7].find("›", 10)), "› 0");
}

TEST(HeadTable, FitsEveryModelIntoEveryWidth) {
  for (const int width : {40, 80, 200}) {
    for (const auto& [layers, heads] :
         std::vector<std::pair<int, int>>{{1, 1}, {2, 3}, {6, 12}, {12, 12}, {24, 16}, {36, 32}, {3, 128}}) {
      for (const bool utf8 : {true, false}) {
        for (const std::string& line : lines_of(plain(width, utf8), made(layers, heads, sample()), {1, 1})) {
          EXPECT_LE(display_width(line), width) << layers << " x " << heads << ": " << line;
        }
      }
    }
  }
}

TEST(HeadTable, LargeModelsAreShades) {
  const auto lines = lines_of(plain(80, false), made(36, 32, sample()), {36, 32});
  EXPECT_NE(lines[2].find("::::::::"), std::string::npos) << lines[2];
  EXPECT_NE(lines[37].find('>'), std::string::npos);
  EXPECT_NE(lines.back().find("more shade is more"), std::string::npos);
}

TEST(HeadTable, LongDistancesAreToldInTens) {
  engine::MapSummary summary = sample();
  summary.distance = 1234;
  const auto lines = lines_of(plain(80, true), made(1, 12, summary), {1, 1});
  EXPECT_NE(lines[0].find("mean distance / 100"), std::string::npos) << lines[0];
  EXPECT_NE(lines[2].find(" 12 12"), std::string::npos);
}

TEST(HeadTable, NotANumberIsSaid) {
  engine::MapSummary summary = sample();
  summary.entropy_normalised = NAN;
  EXPECT_NE(lines_of(plain(80, true), made(1, 2, summary), {1, 1})[2].find("?"), std::string::npos);
}

}  // namespace
}  // namespace sightline::cli
