// Ropes whose frequencies follow the length of the text: the whole prefix is computed again.

#include <gtest/gtest.h>

#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::SafetensorsFile;

SafetensorsFile dynamic_reference() {
  return SafetensorsFile::open(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/dynamic_rope.safetensors");
}

void expect_logits(std::span<const float> got, const format::Tensor& reference, std::int64_t length) {
  const std::vector<float> want = format::to_f32(reference);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(want[i], got[i], 2e-5 * largest(reference)) << "length " << length;
  }
}

TEST(DynamicRope, AgreesWithTheReferenceAtEveryLength) {
  const Transformer transformer = dynamic_model();
  EXPECT_EQ(64, transformer.config().max_positions);
  const SafetensorsFile reference = dynamic_reference();
  const Text text = text_of(reference.at("ids"));
  Context context = transformer.make_context(64);
  for (std::int64_t length : {12, 16, 17, 18, 40, 64}) {
    const format::Tensor& want = reference.at("logits." + std::to_string(length));
    const std::span<const std::int32_t> ids(text.ids);
    const TokenSequence whole{ids.first(length)};
    expect_logits(transformer.forward({&whole, 1}, {.logits = LogitRows::last}).logits, want, length);
    const TokenSequence rest{ids.subspan(context.length(), length - context.length()), {}, &context};
    expect_logits(transformer.forward({&rest, 1}, {.logits = LogitRows::last}).logits, want, length);
  }
  context.truncate(15);  // back to where the frequencies are the plain ones
  const TokenSequence one{std::span<const std::int32_t>(text.ids).subspan(15, 1), {}, &context};
  expect_logits(transformer.forward({&one, 1}, {.logits = LogitRows::last}).logits, reference.at("logits.16"), 16);
}

TEST(DynamicRope, GeneratesTheTokensOfTheReference) {
  const SafetensorsFile reference = dynamic_reference();
  const Text want = text_of(reference.at("tokens"));
  EXPECT_EQ(want.ids, generate(dynamic_model(), text_of(reference.at("prompt")), want.ids.size()));
}

struct RowCounter : AttentionObserver {
  Observations request(const LayerAttention& call) override {
    rows = call.problem.q.shape[2];
    return {};
  }
  void done(const LayerAttention&) override {}
  std::int64_t rows = 0;
};

class CrossingTest : public testing::Test {
 protected:
  ForwardResult add(std::int64_t begin, std::int64_t end, ForwardOptions options = {}) {
    options.keep_hidden_states = true;
    options.logits = LogitRows::all;
    const TokenSequence part{std::span(text_.ids).subspan(begin, end - begin), {}, &context_};
    return transformer_.forward({&part, 1}, options);
  }

  const Transformer transformer_ =
      Transformer::load(conformance_model("phi3"));  // its short factors serve 16 positions
  const Text text_ = random_text(transformer_, 40, 4);
  Context context_ = transformer_.make_context(40);
};

// At the crossing observers see all rows, the result holds those of the new ids; before and after it only new rows run.
TEST_F(CrossingTest, ComputesThePrefixAgainOnce) {
  RowCounter counter;
  const ForwardOptions options{.observer = &counter};
  const std::pair<std::int64_t, std::int64_t> steps[] = {{10, 10}, {16, 6}, {18, 18}, {19, 1}, {40, 21}};
  for (const auto& [end, rows] : steps) {
    const std::int64_t begin = context_.length();
    const ForwardResult part = add(begin, end, options);
    EXPECT_EQ(rows, counter.rows);
    const TokenSequence view{std::span(text_.ids).first(end)};
    const ForwardResult whole = transformer_.forward({&view, 1}, all_of(transformer_));
    EXPECT_TRUE(row_bits(whole, begin, end) == row_bits(part, 0, end - begin)) << end;
  }
}

struct StopAtOnce : Progress {
  bool advance(std::int64_t, std::int64_t) override { return false; }
};

TEST_F(CrossingTest, KeepsTheOldKeysWhenItIsCancelled) {
  add(0, 16);
  StopAtOnce stop;
  EXPECT_THROW(add(16, 18, {.progress = &stop}), Cancelled);
  EXPECT_EQ(16, context_.length());
  context_.truncate(14);
  const ForwardResult part = add(14, 16);
  const TokenSequence view{std::span(text_.ids).first(16)};
  const ForwardResult whole = transformer_.forward({&view, 1}, all_of(transformer_));
  EXPECT_TRUE(row_bits(whole, 14, 16) == row_bits(part, 0, 2));
}

}  // namespace
}  // namespace sightline::model
