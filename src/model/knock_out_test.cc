// Edges that are taken out of a pass: against transformers, and bit by bit however the text is cut into calls.

#include <gtest/gtest.h>

#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::error_of;
using format::SafetensorsFile;

std::vector<PositionRange> ranges_of(const std::vector<std::int64_t>& positions) {
  std::vector<PositionRange> ranges;
  for (const std::int64_t position : positions) ranges.push_back({position, position + 1});
  return ranges;
}

KnockOut knock_out_of(const SafetensorsFile& file, const std::string& prefix) {
  KnockOut knock_out;
  for (const std::int64_t layer : integers(file.at(prefix + "layers"))) {
    knock_out.layers.push_back(static_cast<int>(layer));
  }
  knock_out.heads = integers(file.at(prefix + "heads"));
  knock_out.rows = ranges_of(integers(file.at(prefix + "rows")));
  knock_out.keys = ranges_of(integers(file.at(prefix + "keys")));
  return knock_out;
}

TEST(KnockOut, AgreesWithTransformers) {
  const SafetensorsFile file =
      SafetensorsFile::open(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/knock_outs.safetensors");
  for (const std::string model : {"bert", "llama"}) {
    const Transformer transformer = Transformer::load(conformance_model(model));
    const Text text = text_of(file.at(model + ".ids"));
    const TokenSequence view = text.view();
    for (const std::string title : {"edge", "many"}) {
      const std::string prefix = model + "." + title + ".";
      SCOPED_TRACE(prefix);
      const KnockOut knock_out = knock_out_of(file, prefix);
      MapKeeper keeper;
      const ForwardResult result =
          transformer.forward({&view, 1}, {.observer = &keeper, .knock_outs = {&knock_out, 1}});
      const std::vector<float> hidden = format::to_f32(file.at(prefix + "hidden")),
                               maps = format::to_f32(file.at(prefix + "attentions"));
      ASSERT_EQ(hidden.size(), result.last_hidden_state.size());
      for (std::size_t i = 0; i < hidden.size(); ++i) ASSERT_NEAR(hidden[i], result.last_hidden_state[i], 2e-5) << i;
      std::size_t at = 0;
      for (const auto& layer : keeper.maps) {
        for (const float weight : layer.front().weights) {
          // What is taken out is 0 to the bit, not merely small.
          ASSERT_NEAR(maps[at], weight, 1e-5) << at;
          ASSERT_EQ(maps[at] == 0, weight == 0) << at;
          ++at;
        }
      }
      EXPECT_EQ(maps.size(), at);
    }
  }
}

constexpr std::int64_t kLength = 40;

// One edge of a head, a column in a layer, and all that rows from 25 on see of the first keys.
const std::vector<KnockOut> kSome = {{.layers = {1}, .heads = {1}, .rows = {{30, 31}}, .keys = {{4, 5}, {27, 29}}},
                                     {.layers = {0}, .keys = {{2, 3}}},
                                     {.rows = {{25}}, .keys = {{0, 6}}}};

class KnockOutTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
  const Text text_ = random_text(transformer_, kLength, 4);

  ForwardResult run(std::span<const KnockOut> knock_outs, Context* context = nullptr, std::int64_t begin = 0,
                    std::int64_t end = kLength) const {
    ForwardOptions options = all_of(transformer_);
    options.knock_outs = knock_outs;
    const TokenSequence part{std::span(text_.ids).subspan(begin, end - begin), {}, context};
    return transformer_.forward({&part, 1}, options);
  }
  bool causal() const { return transformer_.config().causal; }
};

TEST_P(KnockOutTest, ChangesTheRowsThatItNamesAndThoseAfterThem) {
  const KnockOut late = {.rows = {{30, 31}}, .keys = {{4, 30}}};
  const ForwardResult without = run({}), with = run({&late, 1});
  EXPECT_FALSE(row_bits(without, 30, 31) == row_bits(with, 30, 31));
  EXPECT_EQ(causal(), row_bits(without, 0, 30) == row_bits(with, 0, 30));
}

class KnockOutOfDecoderTest : public KnockOutTest {};

TEST_P(KnockOutOfDecoderTest, PiecesAndTokensAreTheWhole) {
  for (const std::vector<std::int64_t>& ends :
       {std::vector<std::int64_t>{40}, {8, 9, 27, 30, 31, 32, 40}, {25, 26, 40}, {30, 40}}) {
    Context context = transformer_.make_context(kLength + 5);
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      const ForwardResult part = run(kSome, &context, begin, end);
      // A range that ends beyond a whole text names positions that are not there: the context has room for them.
      std::vector<KnockOut> so_far = kSome;
      if (end < 31) so_far.erase(so_far.begin());
      if (end < 25) so_far.pop_back();
      EXPECT_TRUE(row_bits(run(so_far, nullptr, 0, end), begin, end) == row_bits(part, 0, end - begin))
          << begin << ".." << end;
      begin = end;
    }
  }
}

TEST_P(KnockOutOfDecoderTest, WhatARowDoesNotSeeChangesNoBit) {
  const KnockOut later = {.rows = {{0, 21}}, .keys = {{21, 40}}};
  EXPECT_TRUE(row_bits(run({}), 0, kLength) == row_bits(run({&later, 1}), 0, kLength));
}

TEST_P(KnockOutTest, BelongsToItsSequence) {
  ForwardOptions options = all_of(transformer_);
  KnockOut second = kSome.back();
  second.sequence = 1;
  options.knock_outs = {&second, 1};
  const TokenSequence batch[] = {{std::span(text_.ids).first(17)}, {text_.ids}};
  const ForwardResult both = transformer_.forward(batch, options);
  EXPECT_TRUE(row_bits(run({}, nullptr, 0, 17), 0, 17) == row_bits(both, 0, 17));
  EXPECT_TRUE(row_bits(run({&kSome.back(), 1}), 0, kLength) == row_bits(both, 17, 17 + kLength));
}

TEST_P(KnockOutTest, ARowWithoutKeysLooksAtNothing) {
  const KnockOut blind = {.layers = {1}, .heads = {0}, .rows = {{12, 13}}};
  MapKeeper keeper;
  ForwardOptions options = all_of(transformer_);
  options.observer = &keeper;
  options.knock_outs = {&blind, 1};
  const TokenSequence view{text_.ids};
  const ForwardResult result = transformer_.forward({&view, 1}, options);
  for (const float x : result.last_hidden_state) ASSERT_TRUE(std::isfinite(x));
  const MapKeeper::Map& map = keeper.maps.at(1).front();
  for (std::int64_t head = 0; head < 2; ++head) {
    const auto row = std::span(map.weights).subspan((head * kLength + 12) * kLength, kLength);
    EXPECT_EQ(head == 0, std::ranges::all_of(row, [](float weight) { return weight == 0; })) << head;
  }
}

INSTANTIATE_TEST_SUITE_P(, KnockOutTest, testing::ValuesIn(model_names()), [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(, KnockOutOfDecoderTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

TEST(KnockOut, OfWhatThereIsNotIsRefused) {
  const Transformer transformer = Transformer::load(conformance_model("llama"));
  const Text text = random_text(transformer, 10, 1);
  const auto error = [&](const KnockOut& knock_out, Context* context = nullptr) {
    const TokenSequence view{text.ids, {}, context};
    return error_of<BadArgument>([&] { transformer.forward({&view, 1}, {.knock_outs = {&knock_out, 1}}); });
  };
  EXPECT_EQ("a knock-out names layer 3, outside 0..2", error({.layers = {0, 3}}));
  EXPECT_EQ("a knock-out names layer -1, outside 0..2", error({.layers = {-1}}));
  EXPECT_EQ("a knock-out names head 4, outside 0..3", error({.heads = {4}}));
  EXPECT_EQ("a knock-out names sequence 1, outside 0..0", error({.sequence = 1}));
  EXPECT_EQ("a knock-out names sequence -2, outside 0..0", error({.sequence = -2}));
  EXPECT_EQ("a knock-out names rows 9..10, outside 0..9", error({.rows = {{9, 11}}}));
  EXPECT_EQ("a knock-out names keys 11..11, outside 0..9", error({.keys = {{11}}}));
  EXPECT_EQ("a knock-out names keys 5..3, outside 0..9", error({.keys = {{5, 4}}}));
  EXPECT_EQ("a knock-out names keys -1..3, outside 0..9", error({.keys = {{-1, 4}}}));
  Context context = transformer.make_context(12);
  EXPECT_EQ("a knock-out names rows 3..12, outside 0..11", error({.rows = {{3, 13}}}, &context));
  EXPECT_EQ(0, context.length());
  const KnockOut to_come = {.rows = {{11, 12}, {12}}};
  const TokenSequence view{text.ids, {}, &context};
  transformer.forward({&view, 1}, {.knock_outs = {&to_come, 1}});
  EXPECT_EQ(10, context.length());
}

}  // namespace
}  // namespace sightline::model
