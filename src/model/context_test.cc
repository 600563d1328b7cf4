// A text in pieces, by a context, has the bits of the whole.

#include "sightline/context.h"

#include <gtest/gtest.h>

#include <thread>

#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::error_of;

constexpr std::int64_t kLength = 50;  // beyond every window of the set, and phi3's 16 positions

class ContextTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
  const Text text_ = random_text(transformer_, kLength, 1);

  ForwardResult add(Context& context, std::int64_t begin, std::int64_t end, const ForwardOptions& options) const {
    const TokenSequence part{std::span(text_.ids).subspan(begin, end - begin), {}, &context};
    return transformer_.forward({&part, 1}, options);
  }
  ForwardResult add(Context& context, std::int64_t begin, std::int64_t end) const {
    return add(context, begin, end, all_of(transformer_));
  }

  // Rows of the first `length` tokens run whole, without a context.
  RowBits whole(std::int64_t begin, std::int64_t end) const {
    const TokenSequence view{std::span(text_.ids).first(end)};
    return row_bits(transformer_.forward({&view, 1}, all_of(transformer_)), begin, end);
  }

  // Runs [0, ends[0]), [ends[0], ends[1]), ... and compares each part with the text run whole up to there.
  void expect_whole(Context& context, const std::vector<std::int64_t>& ends) const {
    std::int64_t begin = context.length();
    for (std::int64_t end : ends) {
      const ForwardResult part = add(context, begin, end);
      EXPECT_EQ(end, context.length());
      EXPECT_TRUE(whole(begin, end) == row_bits(part, 0, end - begin)) << begin << ".." << end;
      begin = end;
    }
  }
};

TEST_P(ContextTest, PiecesAreTheWhole) {
  for (std::int64_t page_size : {0, 16}) {
    for (const std::vector<std::int64_t>& ends :
         {std::vector<std::int64_t>{50}, {1, 2, 3, 4, 20, 21, 50}, {7, 8, 16, 17, 18, 50}, {17, 33, 34, 50}}) {
      Context context = transformer_.make_context(kLength, {.page_size = page_size});
      expect_whole(context, ends);
    }
  }
}

TEST_P(ContextTest, FastPiecesAreTheFastWhole) {
  if (!fast_available()) GTEST_SKIP() << "no instruction for bf16";
  ForwardOptions options = all_of(transformer_);
  options.precision = Precision::fast;
  Context context = transformer_.make_context(kLength, {.page_size = 16});
  std::int64_t begin = 0;
  for (std::int64_t end : {16L, 17L, 20L, kLength}) {
    const TokenSequence view{std::span(text_.ids).first(end)};
    const ForwardResult all = transformer_.forward({&view, 1}, options);
    EXPECT_TRUE(row_bits(all, begin, end) == row_bits(add(context, begin, end, options), 0, end - begin)) << end;
    EXPECT_FALSE(row_bits(all, begin, end) == whole(begin, end)) << "exact, though fast was asked for";
    begin = end;
  }
}

TEST_P(ContextTest, GoesOnAfterTruncation) {
  Context context = transformer_.make_context(kLength, {.page_size = 16});
  expect_whole(context, {40});
  for (std::int64_t length : {39, 17, 16, 5, 0}) {
    context.truncate(length);
    EXPECT_EQ(length, context.length());
    expect_whole(context, {length + 1, length + 4, kLength});
  }
}

TEST_P(ContextTest, BatchIsEachAlone) {
  Context first = transformer_.make_context(kLength), second = transformer_.make_context(kLength, {.page_size = 16});
  add(first, 0, 9);
  add(second, 0, 20);
  const std::span<const std::int32_t> ids = text_.ids;
  const TokenSequence batch[] = {{ids.subspan(9, 4), {}, &first}, {ids.first(6)}, {ids.subspan(20, 1), {}, &second}};
  const ForwardResult result = transformer_.forward(batch, all_of(transformer_, 2));
  EXPECT_TRUE(whole(9, 13) == row_bits(result, 0, 4));
  EXPECT_TRUE(whole(0, 6) == row_bits(result, 4, 10));
  EXPECT_TRUE(whole(20, 21) == row_bits(result, 10, 11));
}

TEST_P(ContextTest, ObserversSeeTheCache) {
  Context context = transformer_.make_context(kLength);
  add(context, 0, 30);
  MapKeeper keeper, want;
  ForwardOptions options = all_of(transformer_);
  options.observer = &keeper;
  const ForwardResult part = add(context, 30, kLength, options);
  EXPECT_TRUE(whole(30, kLength) == row_bits(part, 0, kLength - 30));
  const TokenSequence view = text_.view();
  transformer_.forward({&view, 1}, {.observer = &want});
  ASSERT_EQ(want.maps.size(), keeper.maps.size());
  for (std::size_t layer = 0; layer < want.maps.size(); ++layer) {
    const MapKeeper::Map &all = want.maps[layer][0], &rows = keeper.maps[layer][0];
    ASSERT_EQ(kLength, rows.keys);
    const std::int64_t first = kLength - rows.rows;  // 30
    for (std::int64_t h = 0; h < all.heads; ++h) {
      EXPECT_EQ(0, std::memcmp(&all.weights[(h * kLength + first) * kLength], &rows.weights[h * rows.rows * kLength],
                               rows.rows * kLength * sizeof(float)));
    }
  }
}

struct Stop : Progress {
  explicit Stop(int pieces) : left(pieces) {}
  bool advance(std::int64_t, std::int64_t) override { return --left > 0; }
  int left;
};

TEST_P(ContextTest, ErrorsChangeNothing) {
  Context context = transformer_.make_context(kLength), other = transformer_.make_context(8);
  add(context, 0, 12);
  const auto unchanged = [&] {
    EXPECT_EQ(12, context.length());
    EXPECT_EQ(std::vector<std::int32_t>(text_.ids.begin(), text_.ids.begin() + 12),
              std::vector<std::int32_t>(context.tokens().begin(), context.tokens().end()));
    EXPECT_EQ(0, other.length());
  };
  for (int pieces : {1, 2, 3}) {  // into the layers that follow
    Stop stop(pieces);
    EXPECT_THROW(add(context, 12, 40, {.threads = 1, .progress = &stop}), Cancelled);
    unchanged();
  }
  const std::span<const std::int32_t> ids = text_.ids;
  const auto refuse = [&](const std::vector<TokenSequence>& batch) {
    error_of<BadArgument>([&] { transformer_.forward(batch, {.threads = 1}); });
    unchanged();
  };
  refuse({{ids.first(40), {}, &context}});                               // more than its room
  refuse({{ids.first(4), {}, &context}, {ids.first(9), {}, &other}});    // the second is too long
  refuse({{ids.first(4), {}, &context}, {ids.first(4), {}, &context}});  // twice the same
  refuse({{ids.first(4), {}, &context}, {std::span(ids).first(0), {}, &other}});
  const std::vector<std::int32_t> types(4, 0);
  refuse({{ids.first(4), types, &context}});  // a context keeps none
  error_of<BadArgument>([&] { context.truncate(13); });
  error_of<BadArgument>([&] { context.truncate(-1); });
  unchanged();
  expect_whole(context, {13, kLength});
}

INSTANTIATE_TEST_SUITE_P(Models, ContextTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

TEST(Context, KeepsKeysAndValuesInOtherTypes) {
  const Transformer transformer = Transformer::load(conformance("models") / "llama");
  const Text text = random_text(transformer, 40, 2);
  const TokenSequence view = text.view();
  const std::vector<float> exact = transformer.forward({&view, 1}, all_of(transformer)).logits;
  const auto run = [&](const ContextOptions& options, std::int64_t cut) {
    Context context = transformer.make_context(40, options);
    const TokenSequence parts[] = {{std::span(text.ids).first(cut), {}, &context},
                                   {std::span(text.ids).subspan(cut), {}, &context}};
    std::vector<float> logits = transformer.forward({&parts[0], 1}, all_of(transformer)).logits;
    const std::vector<float> rest = transformer.forward({&parts[1], 1}, all_of(transformer)).logits;
    logits.insert(logits.end(), rest.begin(), rest.end());
    return std::pair(logits, context.bytes());
  };
  const std::int64_t full = run({}, 20).second;
  const std::pair<DType, DType> types[] = {
      {DType::f16, DType::f16}, {DType::bf16, DType::f32}, {DType::i8_row, DType::i8_row}, {DType::f16, DType::q4_1}};
  for (const auto& [keys, values] : types) {
    for (std::int64_t page_size : {0, 16}) {
      const ContextOptions options{keys, values, page_size};
      const auto result = run(options, 20);
      EXPECT_EQ(bytes_of(result.first), bytes_of(run(options, 33).first));
      EXPECT_LT(result.second, full + (page_size > 0 ? full / 4 : 0));
      double worst = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(exact[i] - result.first[i])));
      }
      EXPECT_GT(worst, 0);
      EXPECT_LT(worst, values == DType::q4_1 ? 2 : 0.3) << dtype_name(keys) << " " << dtype_name(values);
    }
  }
}

TEST(Context, BelongsToItsModel) {
  const Transformer llama = Transformer::load(conformance("models") / "llama");
  const Transformer mistral = Transformer::load(conformance("models") / "mistral");
  Context context = llama.make_context(8);
  const std::vector<std::int32_t> ids = {1, 2};
  const TokenSequence text{ids, {}, &context};
  error_of<BadArgument>([&] { mistral.forward({&text, 1}); });
  error_of<BadArgument>([&] { llama.make_context(0); });
  error_of<BadArgument>([&] { llama.make_context(llama.config().max_positions + 1); });
  error_of<BadArgument>([&] { llama.make_context(8, {.page_size = 3}); });
  EXPECT_EQ(8, context.room());
}

TEST(Context, ContextsGrowAtTheSameTime) {
  const Transformer transformer = Transformer::load(conformance("models") / "gpt_oss");
  std::vector<std::vector<std::int32_t>> alone, together(4);
  for (unsigned seed = 0; seed < 4; ++seed) {
    alone.push_back(generate(transformer, random_text(transformer, 9, seed), 30));
  }
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&transformer, &together, seed] {
      together[seed] = generate(transformer, random_text(transformer, 9, seed), 30);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alone, together);
}

}  // namespace
}  // namespace sightline::model
