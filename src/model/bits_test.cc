// The bits of a row depend on its text alone: not on the batch, threads or the SIMD target.

#include <gtest/gtest.h>

#include "src/cpu/target.h"
#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

std::vector<Text> mixed_texts(const Transformer& transformer) {
  std::vector<Text> texts;
  for (std::int64_t length : {3, 1, 40, 17, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50}) {
    texts.push_back(random_text(transformer, length, static_cast<unsigned>(texts.size())));
  }
  return texts;
}

class BitsTest : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { cpu::force_target(""); }
};

TEST_P(BitsTest, DependOnTheTextAlone) {
  const Transformer transformer = Transformer::load(conformance("models") / GetParam());
  const std::vector<Text> texts = mixed_texts(transformer);
  const ForwardResult together = transformer.forward(views(texts), all_of(transformer));
  const std::int64_t rows = together.row_begin.back();
  ASSERT_GT(rows, 512);  // an MLP takes so many rows at a time
  const RowBits want = row_bits(together, 0, rows);
  for (int threads : {2, 3}) {
    EXPECT_TRUE(want == row_bits(transformer.forward(views(texts), all_of(transformer, threads)), 0, rows)) << threads;
  }
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    EXPECT_TRUE(want == row_bits(transformer.forward(views(texts), all_of(transformer)), 0, rows)) << target;
  }
  cpu::force_target("");
  for (std::size_t s = 0; s < texts.size(); ++s) {
    const TokenSequence view = texts[s].view();
    const ForwardResult alone = transformer.forward({&view, 1}, all_of(transformer));
    EXPECT_TRUE(row_bits(together, together.row_begin[s], together.row_begin[s + 1]) ==
                row_bits(alone, 0, alone.row_begin[1]));
    if (transformer.config().pooler) {
      EXPECT_EQ(bytes_of(alone.pooled),
                bytes_of(std::span<const float>(together.pooled)
                             .subspan(s * together.width, static_cast<std::size_t>(together.width))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BitsTest, testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sightline::model
