#include "src/engine/knock_out.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "src/attention/reference.h"
#include "src/engine/explain.h"
#include "src/engine/look_data.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/testing.h"
#include "src/ops/sampling.h"

namespace sightline::engine {
namespace {

using format::error_of;
using testing::kTired;

std::string side_text(const KnockOutSide& side) {
  switch (side.kind) {
    case KnockOutSide::Kind::all:
      return "all";
    case KnockOutSide::Kind::segment:
      return "segment " + side.name;
    case KnockOutSide::Kind::words:
      return fmt::format("words {} to {}", side.first, side.last);
    case KnockOutSide::Kind::pieces:
      return fmt::format("pieces {} to {}", side.first, side.last);
    case KnockOutSide::Kind::name:
      break;
  }
  return "name " + side.name;
}

std::string read(std::string_view text) {
  const KnockOutSpec spec = parse_knock_out(text);
  std::string maps;
  for (const KnockOutMaps& one : spec.maps) {
    maps += fmt::format(", L{}-{} H{}-{}", one.first_layer, one.last_layer, one.first_head, one.last_head);
  }
  EXPECT_EQ(text, spec.text);
  return side_text(spec.from) + " | " + side_text(spec.to) + maps;
}

TEST(ParseKnockOut, ReadsSidesAndMaps) {
  const std::pair<const char*, const char*> cases[] = {
      {"it->street", "name it | name street"},
      {"  it ->\tstreet  @ L4H2 ", "name it | name street, L4-4 H2-2"},
      {"it->street@l4h2", "name it | name street, L4-4 H2-2"},
      {"it->street@L4", "name it | name street, L4-4 H0-0"},
      {"it->street@H2", "name it | name street, L0-0 H2-2"},
      {"it->street@L3-5H1-2, H7,L1", "name it | name street, L3-5 H1-2, L0-0 H7-7, L1-1 H0-0"},
      {"it->street@all", "name it | name street, L0-0 H0-0"},
      {"*->*", "all | all"},
      {":generated->:text", "segment generated | segment text"},
      {"#9->#3-5", "words 9 to 9 | words 3 to 5"},
      {"/9->/3-5@L1", "pieces 9 to 9 | pieces 3 to 5, L1-1 H0-0"},
      {"the:2->didn't/2", "name the:2 | name didn't/2"},
      {"#->/", "name # | name /"},
      {":->#x", "name : | name #x"},
      {"-->>", "name - | name >"},
      {"a->b->c", "name a | name b->c"},
      {R"("a->b"->"c@d"@L2)", "name a->b | name c@d, L2-2 H0-0"},
      {R"("*"->":text")", "name * | name :text"},
      {R"("\"" -> "\u00e9\\")", "name \" | name \u00e9\\"},
      {R"("a@b":2->"->"/1)", "name a@b:2 | name ->/1"},
      {"a@b->c", "name a@b | name c"},
      {"动物->它", "name 动物 | name 它"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(want, read(text)) << text;
}

TEST(ParseKnockOut, SaysWhatItCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no -> in it"},
      {"it", "knock-out \"it\": there is no -> in it: it is FROM->TO or FROM->TO@MAPS, as it->street@L4H2"},
      {"it-street", "there is no -> in it"},
      {"->street", "nothing stands before ->"},
      {"it->", "nothing stands after ->"},
      {"it-> @L4", "nothing stands after ->"},
      {"it->street@", "\"\" names no layers or heads: say L4H2"},
      {"it->street@4", "\"4\" names no layers or heads"},
      {"it->street@L", "names no layers or heads"},
      {"it->street@L0", "names no layers or heads"},
      {"it->street@L-1", "names no layers or heads"},
      {"it->street@L5-3", "names no layers or heads"},
      {"it->street@L3-", "names no layers or heads"},
      {"it->street@L4H2x", "\"L4H2x\" names no layers or heads"},
      {"it->street@H2L4", "names no layers or heads"},
      {"it->street@L4,", "\"\" names no layers or heads"},
      {"it->user@example", "a word that holds @ stands in double quotes"},
      {"it->street@L99999999999999999999999", "names no layers or heads"},
      {"\"it->street", "quotes are opened and not closed"},
      {"it->\"street", "quotes are opened and not closed"},
      {"\"it\"x->street", "\"x\" stands behind the quotes, where :2 or /2 can stand"},
      {"it->\"a\":0", "stands behind the quotes"},
      {R"("\x"->street)", "is no string of JSON"},
  };
  for (const auto& [text, want] : cases) {
    const std::string message = error_of<BadArgument>([&, spec = text] { parse_knock_out(spec); });
    EXPECT_NE(std::string::npos, message.find(want)) << text << ": " << message;
  }
}

// [CLS] the animal didn ' t cross the street because it was too tired . [SEP]: names of pieces differ from model to
// model, so tests ask the look where a word is.
const Session& tiny() {
  static const Session session = Session::open(testing::tiny_model());
  return session;
}

const Look& plain() {
  static const Look look = tiny().look(kTired);
  return look;
}

model::PositionRange tokens_of(std::string_view word) {
  const AxisItem& item = plain().words()[find_item(plain().words(), word)];
  return {item.token_begin, item.token_end};
}

std::vector<TextKnockOut> resolved(const std::vector<std::string>& specs, std::int32_t growing = -1) {
  const std::vector<std::string> names = {"special", "text", "first", "generated"};
  const std::vector<std::int32_t> segments = segments_of(plain().tokens(), false).of_token;
  return resolve_knock_outs(specs, {.model = plain().model(),
                                    .words = plain().words(),
                                    .tokens = plain().tokens(),
                                    .segment_names = names,
                                    .segment_of_token = segments,
                                    .growing = growing});
}

using Ranges = std::vector<model::PositionRange>;

TEST(ResolveKnockOuts, FindsTokensAndMaps) {
  const auto count = std::ssize(plain().tokens());
  const TextKnockOut one = resolved({"it->didn't@L2H3"}).front();
  EXPECT_EQ(Ranges{tokens_of("it")}, one.rows);
  EXPECT_EQ(Ranges{tokens_of("didn't")}, one.keys);
  EXPECT_LT(1, one.keys[0].end - one.keys[0].begin) << "a word of several pieces";
  EXPECT_TRUE(one.holds(2, 3));
  EXPECT_FALSE(one.holds(2, 2));
  EXPECT_FALSE(one.holds(1, 3));

  const TextKnockOut all = resolved({"*->:special"}).front();
  EXPECT_EQ((Ranges{{0, count}}), all.rows);
  EXPECT_EQ((Ranges{{0, 1}, {count - 1, count}}), all.keys);
  EXPECT_TRUE(all.holds(1, 1) && all.holds(2, 3));

  const auto words = resolved({"#2-3->/2-4@L1", "didn't/2->[CLS]@H3"});
  EXPECT_EQ((Ranges{{plain().words()[1].token_begin, plain().words()[2].token_end}}), words[0].rows);
  EXPECT_EQ((Ranges{{1, 4}}), words[0].keys);
  EXPECT_EQ((Ranges{{tokens_of("didn't").begin + 1, tokens_of("didn't").begin + 2}}), words[1].rows);
  EXPECT_EQ((Ranges{{0, 1}}), words[1].keys);
  EXPECT_TRUE(words[1].holds(1, 3) && words[1].holds(2, 3) && !words[1].holds(2, 1));
}

TEST(ResolveKnockOuts, OfATextThatGoesOnTheyHoldForWhatComes) {
  const auto count = std::ssize(plain().tokens());
  const auto blocked = resolved({"*->:generated", ":generated->it"}, 3);
  EXPECT_EQ((Ranges{{0, model::PositionRange::kOpen}}), blocked[0].rows);
  EXPECT_EQ((Ranges{{count, model::PositionRange::kOpen}}), blocked[0].keys);
  EXPECT_EQ(blocked[0].keys, blocked[1].rows);
  EXPECT_EQ("knock-out \"*->:generated\": no token of the text is of the segment \"generated\"",
            error_of<BadArgument>([] { resolved({"*->:generated"}); }));
}

TEST(ResolveKnockOuts, SaysWhatThereIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"it->streeet", "knock-out \"it->streeet\": there is no \"streeet\" in the text; it has \"[CLS]\", \"The\""},
      {"it:2->street", "there is no \"it\" number 2: it stands there 1 time"},
      {"#99->it", "there is no #99: the words are #1 to #14"},
      {"it->/1-99", "there is no /99: the pieces are /1 to /16"},
      {"it/2->street", "\"it\" has no piece 2: it has 1"},
      {"it->:system", "there is no segment \"system\": there are :special, :text, :first, :generated"},
      {"it->:first", "no token of the text is of the segment \"first\""},
      {"it->street@L3", "there is no layer 3: tiny-bert has layers 1 to 2"},
      {"it->street@L1-9H1", "there is no layer 9"},
      {"it->street@H4", "there is no head 4: tiny-bert has heads 1 to 3"},
  };
  for (const auto& [spec, want] : cases) {
    const std::string message = error_of<BadArgument>([&, text = spec] { resolved({text}); });
    EXPECT_NE(std::string::npos, message.find(want)) << message;
  }
}

TEST(ResolveKnockOuts, TellsWhatNoRowSees) {
  const Session decoder = Session::open(testing::source_path("tests/data/tiny-decoder"));
  const auto blocked = [&](std::vector<std::string> specs) {
    return decoder.look("one two three four", {.knock_outs = std::move(specs)}).knock_outs();
  };
  const auto both = blocked({"two->four", "four->two"});
  EXPECT_FALSE(both[0].seen);
  EXPECT_TRUE(both[1].seen);
  EXPECT_EQ(1U, knock_out_notes(both, true).size());
  EXPECT_NE(std::string::npos,
            error_of<BadArgument>([&] { blocked({"two->four"}); }).find("changes nothing: these rows see none"));
  EXPECT_TRUE(blocked({"two->two"})[0].seen);
}

// The layer's problem with a boolean mask in place of its cuts, in fp64.
reference::Result by_mask(const LayerRecord& layer, const std::vector<std::uint8_t>& sees) {
  AttentionProblem problem = layer.stored.problem();
  problem.cuts = {};
  const std::array<std::int64_t, 4> shape = {1, layer.heads, layer.rows, layer.keys};
  problem.mask = {sees.data(), DType::boolean, shape, dense_strides(shape)};
  return reference::attention(problem);
}

bool has(const model::PositionRange& range, std::int64_t at) { return range.has(at); }

TEST(LookWithKnockOuts, EverythingShowsTheCut) {
  // The second layer's heads 1 and 2: "it" does not see "animal"; its head 2: nobody sees the special tokens.
  const Look look = tiny().look(kTired, {.knock_outs = {"it->animal@L2H1-2", "*->:special@L2H2"}});
  const auto n = std::ssize(look.tokens());
  const model::PositionRange it = tokens_of("it"), animal = tokens_of("animal");
  const LayerRecord& layer = look.data().layers[1];
  std::vector<std::uint8_t> sees;
  for (std::int64_t h = 0; h < layer.heads; ++h) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const bool cut = (h < 2 && has(it, i) && has(animal, j)) || (h == 1 && (j == 0 || j == n - 1));
        sees.push_back(!cut);
        EXPECT_EQ(cut, look.is_cut({2, static_cast<int>(h) + 1}, i, j));
        EXPECT_FALSE(look.is_cut({1, static_cast<int>(h) + 1}, i, j));
      }
    }
  }
  const reference::Result want = by_mask(layer, sees);
  for (int head = 1; head <= 3; ++head) {
    SCOPED_TRACE(head);
    const MapId id{2, head};
    const std::vector<float> tile = look.tile(id, {0, 0, 0, n, 0, n}, Stage::weights);
    EXPECT_EQ(tile, look.block({{id}, false, 0, n, 0, n, 1}));
    const MapObservations seen = look.observations(id);
    double normalised = 0, text_rows = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double entropy = 0, special = 0, visible = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(((head - 1) * n + i) * n + j);
        const double w = want.weights[at];
        ASSERT_NEAR(w, tile[static_cast<std::size_t>(i * n + j)], 1e-6) << i << " " << j;
        ASSERT_EQ(sees[at] == 0, tile[static_cast<std::size_t>(i * n + j)] == 0);
        entropy -= w > 0 ? w * std::log(w) : 0;
        special += j == 0 || j == n - 1 ? w : 0;
        visible += sees[at];
      }
      EXPECT_NEAR(entropy, seen.entropy[static_cast<std::size_t>(i)], 1e-5);
      EXPECT_NEAR(special, seen.on_segment(static_cast<std::size_t>(i), kSegmentSpecial), 1e-5);
      if (i == 0 || i == n - 1) continue;
      normalised += entropy / std::log(visible);
      ++text_rows;
      if (head != 2) continue;
      EXPECT_NEAR(entropy, seen.text_entropy[static_cast<std::size_t>(i)], 1e-5);
    }
    EXPECT_NEAR(normalised / text_rows, look.summary(id).entropy_normalised, 1e-5);

    const Explanation row = explain(look, it.begin, id, true);
    EXPECT_EQ(static_cast<std::size_t>(n - (head < 3) - 2 * (head == 2)), row.visible.size());
    EXPECT_LT(row.weight_difference, 1e-6);
    for (std::int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(((head - 1) * n + it.begin) * n + j);
      EXPECT_NEAR(want.weights[at], row.keys[static_cast<std::size_t>(j)].weight, 1e-9);
    }
  }
}

TEST(LookWithKnockOuts, LayersBeforeItKeepTheirBits) {
  const Look look = tiny().look(kTired, {.knock_outs = {"it->animal@L2"}});
  const auto n = std::ssize(look.tokens());
  for (int head = 1; head <= 3; ++head) {
    EXPECT_EQ(plain().tile({1, head}, {0, 0, 0, n, 0, n}, Stage::weights),
              look.tile({1, head}, {0, 0, 0, n, 0, n}, Stage::weights));
  }
  const Look early = tiny().look(kTired, {.knock_outs = {"it->animal@L1"}});
  EXPECT_NE(plain().tile({2, 1}, {0, 0, 0, n, 0, n}, Stage::weights),
            early.tile({2, 1}, {0, 0, 0, n, 0, n}, Stage::weights))
      << "what a layer after it makes of that";
}

// Whole passes without a cache give the same tokens, with the same probabilities to the bit.
TEST(GenerateWithKnockOuts, IsWhatPassesWithoutACacheGive) {
  const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  const model::Transformer transformer = model::Transformer::load(testing::source_path("tests/data/tiny-decoder"));
  const Prompt prompt("one two three four five six", false);
  const std::vector<std::string> specs = {":generated->two@L1", "*->:generated@L2H2", "six->one-"};
  const std::vector<std::string> some = {specs[0], specs[1], "#4-5->#1-2"};
  model::GenerationOptions options;
  options.max_tokens = 12;
  options.log_probability = true;
  options.piece = 3;
  for (const bool watched : {false, true}) {
    if (watched) options.watch = model::WatchOptions{};
    PromptedGeneration prompted = session.generate(prompt, options, some);
    std::vector<std::int32_t> ids = prompted.generation.prompt().ids;
    const std::vector<model::KnockOut> knock_outs = model_knock_outs(prompted.knock_outs, session.model().config);
    int differ = 0;
    for (int step = 0; step < 12; ++step) {
      const model::TokenSequence whole{ids};
      const auto logits =
          transformer.forward({&whole, 1}, {.logits = model::LogitRows::last, .knock_outs = knock_outs}).logits;
      const auto without = transformer.forward({&whole, 1}, {.logits = model::LogitRows::last}).logits;
      const auto token = prompted.generation.next();
      ASSERT_TRUE(token.has_value());
      EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(), token->id);
      EXPECT_EQ(ops::log_probability(logits, token->id), token->log_probability);
      differ += logits != without;
      ids.push_back(token->id);
    }
    EXPECT_EQ(12, differ) << "every row depends on what was knocked out";
  }
  EXPECT_NE("", error_of<BadArgument>([&] { session.generate(prompt, options, std::vector<std::string>{specs[2]}); }));
}

}  // namespace
}  // namespace sightline::engine
