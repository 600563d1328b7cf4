#include "src/attention/geometry.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sightline/error.h"

namespace sightline {
namespace {

// q [2, 4, 3, 8], k and v [2, 2, 5, 8] and [2, 2, 5, 6].
struct Fixture {
  std::vector<float> numbers = std::vector<float>(2 * 4 * 5 * 8);
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(2 * 4 * 5 * 8);
  AttentionProblem problem;

  Fixture() {
    problem.q = dense_view(numbers.data(), {2, 4, 3, 8});
    problem.k = dense_view(numbers.data(), {2, 2, 5, 8});
    problem.v = dense_view(numbers.data(), {2, 2, 5, 6});
  }
  TensorView mask(std::array<std::int64_t, 4> shape) const {
    return {bytes.data(), DType::boolean, shape, dense_strides(shape)};
  }
};

std::string refusal(const std::function<void(Fixture&)>& change) {
  Fixture fixture;
  change(fixture);
  try {
    validate(fixture.problem);
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Geometry, FillsInDefaults) {
  const Fixture fixture;
  const Geometry g = validate(fixture.problem);
  EXPECT_EQ(g.width, 8);
  EXPECT_EQ(g.value_width, 6);
  EXPECT_EQ(g.scale, static_cast<float>(1 / std::sqrt(8.0)));
  EXPECT_EQ(g.group(), 2);
  ASSERT_EQ(g.sequences.size(), 2u);
  EXPECT_EQ(g.sequences[0].key_count, 5);
  EXPECT_EQ(g.sequences[0].query_position, 2);  // bottom right: the last query at the last key
}

TEST(Geometry, AlignsQueriesWithKeysInUse) {
  Fixture fixture;
  const SequenceSpan spans[] = {{.key_count = 4, .key_position = 10}, {.query_position = 7}};
  fixture.problem.sequences = spans;
  EXPECT_EQ(validate(fixture.problem).sequences[0].query_position, 11);
  EXPECT_EQ(validate(fixture.problem).sequences[1].query_position, 7);
  fixture.problem.alignment = Alignment::top_left;
  EXPECT_EQ(validate(fixture.problem).sequences[0].query_position, 10);
}

TEST(Geometry, NamesWhatIsNotSupported) {
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.q.dtype = DType::i8_row; }), "not supported: q in I8_ROW");
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.k.dtype = DType::f64; }), "not supported: k in F64");
  EXPECT_EQ(refusal([](Fixture& f) {
              f.problem.mask = f.mask({1, 1, 1, 5}), f.problem.mask.dtype = DType::f32;
            }),
            "not supported: a mask that is not boolean");
  EXPECT_EQ(refusal([](Fixture& f) {
              f.problem.bias = f.mask({1, 1, 1, 5}), f.problem.bias.dtype = DType::i32;
            }),
            "not supported: a bias that is not f32, f16 or bf16");
}

TEST(Geometry, RefusesNumbersThatNameNoType) {
  const auto none = static_cast<DType>(255);
  EXPECT_EQ(refusal([&](Fixture& f) { f.problem.q.dtype = none; }), "not supported: q in an unknown type");
  EXPECT_EQ(refusal([&](Fixture& f) { f.problem.k.dtype = none; }), "not supported: k in an unknown type");
  EXPECT_EQ(refusal([&](Fixture& f) { f.problem.v.dtype = none; }), "not supported: v in an unknown type");
  EXPECT_NE(refusal([&](Fixture& f) {
              f.problem.mask = f.mask({1, 1, 1, 5}), f.problem.mask.dtype = none;
            }),
            "accepted");
}

TEST(Geometry, RefusesBlocksOfWeights) {
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.q.dtype = DType::q8_0; }), "not supported: q in Q8_0");
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.k.dtype = DType::q4_0; }), "not supported: k in Q4_0");
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.v.dtype = DType::mxfp4; }), "not supported: v in MXFP4");
}

TEST(Geometry, RefusesNumbersThatAreNoValueOfAnEnum) {
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.alignment = static_cast<Alignment>(2); }),
            "alignment is 2, which is none of its values, 0 to 1");
  EXPECT_EQ(refusal([](Fixture& f) { f.problem.alignment = static_cast<Alignment>(255); }),
            "alignment is 255, which is none of its values, 0 to 1");
  const Geometry g = validate(Fixture().problem);
  EXPECT_THROW(validate_observations(g, {.measure = static_cast<Measure>(2)}), BadArgument);
}

TEST(Geometry, RefusesTermsThatDoNotFit) {
  static const float values[4] = {};
  static const std::int32_t parents[] = {-1, 0, 3};
  static const std::int32_t table[] = {0, 7};
  static const std::int64_t lines[] = {0, 2, 2};
  static const BlockMask::Entry entries[] = {{0}, {0}};
  const std::vector<std::pair<std::string, std::function<void(Fixture&)>>> faults = {
      {"window_left", [](Fixture& f) { f.problem.window_left = -2; }},
      {"softcap", [](Fixture& f) { f.problem.softcap = -1; }},
      {"softcap", [](Fixture& f) { f.problem.softcap = NAN; }},
      {"alibi_slopes",
       [](Fixture& f) {
         f.problem.alibi_slopes = {values, 3};
       }},
      {"sinks",
       [](Fixture& f) {
         f.problem.sinks = {values, 1};
       }},
      {"relative_bias",
       [](Fixture& f) {
         f.problem.relative_bias = {{values, 4}, 32, 128};
       }},
      {"relative_bias",
       [](Fixture& f) {
         f.problem.relative_bias = {{values, 4}, 1, 128};
       }},
      {"block_mask.row_begin",
       [](Fixture& f) {
         f.problem.block_mask = {1, 1, lines, {}, {}};
       }},
      {"block_mask.entries[1]",
       [](Fixture& f) {
         f.problem.block_mask = {1, 1, {lines, 2}, entries, {}};
       }},
      {"pages.table", [](Fixture& f) { f.problem.pages = {table, 1, 8, 0, 0, 0}; }},
      {"pages.table_stride", [](Fixture& f) { f.problem.pages = {table, 1, 2, 8, 0, 0}; }},
      {"cu_seqlens_k", [](Fixture& f) { f.problem.cu_seqlens_k = parents; }},
      {"packed sequences need a batch of 1", [](Fixture& f) { f.problem.cu_seqlens_q = parents; }},
      {"a tree mask", [](Fixture& f) { f.problem.tree_parents = parents, f.problem.alignment = Alignment::top_left; }},
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_NE(refusal(faults[i].second).find(faults[i].first), std::string::npos) << i << refusal(faults[i].second);
  }
}

TEST(Geometry, RefusesShapesThatDoNotFit) {
  const std::vector<std::function<void(Fixture&)>> faults = {
      [](Fixture& f) { f.problem.q.shape[0] = 1; },
      [](Fixture& f) { f.problem.q.shape[1] = 3; },
      [](Fixture& f) { f.problem.k.shape[1] = f.problem.v.shape[1] = 0; },
      [](Fixture& f) { f.problem.v.shape[2] = 4; },
      [](Fixture& f) { f.problem.q.shape[3] = 7; },
      [](Fixture& f) { f.problem.v.shape[3] = 0; },
      [](Fixture& f) { f.problem.q.shape[3] = f.problem.k.shape[3] = 1025; },
      [](Fixture& f) { f.problem.q.shape[2] = -1; },
      [](Fixture& f) { f.problem.v.data = nullptr; },
      [](Fixture& f) {
        f.problem.mask = f.mask({1, 1, 2, 5});
      },
      [](Fixture& f) {
        f.problem.mask = f.mask({1, 2, 1, 5});
      },
      [](Fixture& f) { f.problem.scale = INFINITY; },
      [](Fixture& f) {
        f.problem.q.shape = {std::int64_t{1} << 32, std::int64_t{1} << 32, 0, 8};
      },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string message = refusal(faults[i]);
    EXPECT_NE(message, "accepted") << "fault " << i;
    EXPECT_EQ(message.find("not supported"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Geometry, RefusesSequencesOutsideTheTensors) {
  const SequenceSpan too_long[] = {{.key_count = 6}, {}};
  const SequenceSpan negative[] = {{.key_position = -(std::int64_t{1} << 31)}, {}};
  const SequenceSpan far[] = {{.query_position = INT64_MIN}, {}};
  const SequenceSpan only_one[] = {{}};
  EXPECT_NE(refusal([&](Fixture& f) { f.problem.sequences = too_long; }), "accepted");
  EXPECT_NE(refusal([&](Fixture& f) { f.problem.sequences = negative; }), "accepted");
  EXPECT_NE(refusal([&](Fixture& f) { f.problem.sequences = far; }), "accepted");
  EXPECT_NE(refusal([&](Fixture& f) { f.problem.sequences = only_one; }), "accepted");
}

TEST(Geometry, RefusesOutputsThatShareMemory) {
  const Geometry g = validate(Fixture().problem);
  std::vector<float> out(2 * 4 * 3 * 6);
  MutableTensorView view = dense_view(out.data(), {2, 4, 3, 6});
  EXPECT_NO_THROW(validate_output(g, view));
  view.strides[1] = 0;
  EXPECT_THROW(validate_output(g, view), BadArgument);
}

TEST(Geometry, RefusesObservationsThatCannotBe) {
  const Fixture fixture;
  const Geometry g = validate(fixture.problem);
  float out = 0;
  std::int32_t index = 0;
  const std::int32_t bad_segments[] = {0, 1, 2, 0, 0};
  const std::int64_t bad_row[] = {3};
  const std::vector<Observations> faults = {
      {.top_k = 65, .topk_index = &index},
      {.top_k = 0, .topk_weight = &out},
      {.offset_mass = &out},
      {.key_mass = &out, .mass_row_begin = 2, .mass_row_end = 1},
      {.segment_of_key = bad_segments, .segments = 2, .segment_mass = &out},
      {.segment_of_key = std::span(bad_segments).first(4), .segments = 3, .segment_mass = &out},
      {.overview_rows = 4, .overview_cols = 1, .overview = &out},
      {.overview_rows = 0, .overview_cols = 1, .overview = &out},
      {.overview_rows = 1, .overview_cols = 1, .overview_step = -1, .overview = &out},
      {.overview_rows = 1, .overview_cols = 3, .overview_step = 2, .overview = &out},
      {.overview_rows = 3, .overview_cols = 1, .overview_step = 2, .overview = &out},
      {.rows = bad_row, .row_weights = &out},
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_THROW(validate_observations(g, faults[i]), BadArgument) << "fault " << i;
  }
}

}  // namespace
}  // namespace sightline
