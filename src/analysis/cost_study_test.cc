#include "src/analysis/cost_study.h"

#include <gtest/gtest.h>

#include "sightline/error.h"
#include "src/analysis/scale_study.h"
#include "src/model/testing.h"

namespace sightline::analysis {
namespace {

const Table& table_of(const Study& study, const std::string& key) {
  for (const Table& table : study.tables) {
    if (table.key == key) return table;
  }
  throw std::out_of_range(key);
}

StudyInput short_input() {
  StudyInput input;
  input.options.longest = 2048;
  input.options.repetitions = 1;
  input.options.threads = 1;
  return input;
}

class StopAfter : public Progress {
 public:
  explicit StopAfter(double share) : share_(share) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_GE(done, last_);
    EXPECT_LE(done, total);
    last_ = done;
    return static_cast<double>(done) < share_ * static_cast<double>(total);
  }

 private:
  double share_;
  std::int64_t last_ = 0;
};

TEST(StudyCost, FitsThePowersOfItsPatterns) {
  const Study study = study_cost(short_input());
  const Table& pairs = table_of(study, "pairs");
  EXPECT_EQ(pairs.columns[0].values, (std::vector<double>{1024, 2048}));
  EXPECT_EQ(pairs.columns[1].values, (std::vector<double>{1024 * 1025 / 2, 2048 * 2049 / 2}));
  EXPECT_EQ(pairs.columns[2].values[0], 1024 * 1025 / 2 - 512 * 513 / 2);
  const Table& fit = table_of(study, "exponents");
  ASSERT_EQ(fit.labels.size(), 4u);
  EXPECT_NEAR(fit.columns[2].values[0], 2, 0.01);
  for (const double loss : table_of(study, "lost_mean").columns[1].values) EXPECT_EQ(loss, 0);  // full loses nothing
  EXPECT_GT(table_of(study, "lost_mean").columns[2].values.back(), 0.1);
  EXPECT_TRUE(study.complete);
}

TEST(StudyCost, KeepsWhatIsDoneWhereItIsStopped) {
  const Study whole = study_cost(short_input());
  StudyInput input = short_input();
  StopAfter at_half(0.6), at_once(0);
  input.options.progress = &at_half;
  const Study half = study_cost(input);
  EXPECT_FALSE(half.complete);
  EXPECT_EQ(table_of(half, "pairs").columns[0].values, (std::vector<double>{1024}));
  EXPECT_EQ(table_of(half, "lost_mean").columns[2].values[0], table_of(whole, "lost_mean").columns[2].values[0]);
  input.options.progress = &at_once;
  const Study none = study_cost(input);
  EXPECT_FALSE(none.complete);
  EXPECT_TRUE(none.tables.empty());
}

TEST(StudyCost, RefusesLengthsThatItDoesNotMeasure) {
  for (const std::int64_t longest : {2047, (1 << 20) + 1}) {
    StudyInput input;
    input.options.longest = longest;
    EXPECT_THROW(study_cost(input), BadArgument);
  }
}

// A model with a text, in every layer: what is lost lies between nothing and all, and scale 1 is the sharper one.
TEST(Studies, MeasureAModelOnItsText) {
  for (const std::string& name : model::model_names()) {
    const model::Transformer transformer = model::Transformer::load(model::conformance("models") / name);
    StudyInput input = short_input();
    input.transformer = &transformer;
    for (std::int32_t i = 0; i < 40; ++i) input.ids.push_back(i % 20 + 5);
    const auto layers = static_cast<std::size_t>(transformer.config().layers);
    const Study cost = study_cost(input);
    const Table& mass = table_of(cost, "model_mass");
    ASSERT_EQ(mass.columns.size(), 7u) << name;
    for (std::size_t c = 1; c < mass.columns.size(); ++c) {
      ASSERT_EQ(mass.columns[c].values.size(), layers);
      for (const double lost : mass.columns[c].values) {
        EXPECT_GE(lost, 0) << name;
        EXPECT_LE(lost, 1) << name;
      }
    }
    if (transformer.config().pattern[0].window == 0) {
      EXPECT_GT(mass.columns[1].values[0], 0) << name;  // 40 tokens, a window of 16
    }
    const Study scale = study_scale(input);
    EXPECT_EQ(table_of(scale, "model").columns[2].values.size(), layers);
  }
}

}  // namespace
}  // namespace sightline::analysis
