// That every field of the C struct lands in the field of the C++ interface that it stands for, and lies where it always
// lay.
#include "src/capi/arguments.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "sightline/error.h"

namespace sightline::capi {
namespace {

using Args = sightline_attention_args;

Args minimal() {
  Args a{};
  a.struct_size = sizeof a;
  return a;
}

TEST(ArgumentsOfC, MeanTheDefaultsWhereTheyAreZero) {
  const Args a = minimal();
  const Arguments read(&a);
  const AttentionProblem& p = read.problem();
  EXPECT_FALSE(p.scale.has_value());
  EXPECT_EQ(p.alignment, Alignment::bottom_right);
  EXPECT_EQ(p.window_left, -1);
  EXPECT_EQ(p.window_right, -1);
  EXPECT_EQ(p.softcap, 0);
  EXPECT_EQ(p.keep_scale, 1);
  EXPECT_EQ(p.relative_bias.buckets, 32);
  EXPECT_EQ(p.relative_bias.max_distance, 128);
  EXPECT_TRUE(p.relative_bias.bidirectional);
  EXPECT_EQ(p.block_mask.batch, 1);
  EXPECT_EQ(p.block_mask.heads, 1);
  EXPECT_FALSE(p.q || p.mask || p.bias || p.keep || p.pages || p.relative_bias || p.block_mask);
  EXPECT_TRUE(p.alibi_slopes.empty() && p.sinks.empty() && p.head_scale.empty() && p.cuts.empty());
  EXPECT_TRUE(p.tree_parents.empty() && p.sequences.empty() && p.cu_seqlens_q.empty() && p.cu_seqlens_k.empty());
  EXPECT_TRUE(p.score_function == nullptr && p.mask_function == nullptr);
  EXPECT_EQ(read.observations().measure, Measure::weight);
  EXPECT_EQ(read.observations().mass_decay, 1);
  EXPECT_EQ(read.observations().mass_row_end, INT64_MAX);
}

TEST(ArgumentsOfC, CarryTheTypesOfElements) {
  const DType expected[] = {DType::f32, DType::boolean, DType::f16, DType::bf16, DType::i8_row, DType::q4_1};
  for (int code = 0; code < 6; ++code) {
    Args a = minimal();
    a.k.dtype = code;
    EXPECT_EQ(Arguments(&a).problem().k.dtype, expected[code]);
  }
}

TEST(ArgumentsOfC, CarryScoresAndWindows) {
  const float values[12] = {};
  Args a = minimal();
  a.q.shape[1] = 3;
  a.has_window = 1;
  a.window_left = 4;
  a.window_right = 5;
  a.softcap = 6;
  a.alibi_slopes = values;
  a.sinks = values + 1;
  a.head_scale = values + 2;
  a.relative_bias = {values + 3, 4, 9, 1};
  a.keep = {values, SIGHTLINE_BOOL, {1, 2, 3, 4}, {5, 6, 7, 8}};
  a.keep_scale = 2;
  const Arguments read(&a);
  const AttentionProblem& p = read.problem();
  EXPECT_EQ(p.window_left, 4);
  EXPECT_EQ(p.window_right, 5);
  EXPECT_EQ(p.softcap, 6);
  EXPECT_TRUE(p.alibi_slopes.data() == values && p.alibi_slopes.size() == 3);
  EXPECT_TRUE(p.sinks.data() == values + 1 && p.sinks.size() == 3);
  EXPECT_TRUE(p.head_scale.data() == values + 2 && p.head_scale.size() == 3);
  EXPECT_TRUE(p.relative_bias.table.data() == values + 3 && p.relative_bias.table.size() == 12);
  EXPECT_EQ(p.relative_bias.buckets, 4);
  EXPECT_EQ(p.relative_bias.max_distance, 9);
  EXPECT_FALSE(p.relative_bias.bidirectional);
  EXPECT_TRUE(p.keep.data == values && p.keep.dtype == DType::boolean);
  EXPECT_EQ(p.keep.shape, (std::array<std::int64_t, 4>{1, 2, 3, 4}));
  EXPECT_EQ(p.keep.strides, (std::array<std::int64_t, 4>{5, 6, 7, 8}));
  EXPECT_EQ(p.keep_scale, 2);
}

TEST(ArgumentsOfC, CarryPagesTreesAndPackedSequences) {
  const std::int32_t numbers[8] = {};
  Args a = minimal();
  a.pages = {numbers, 1, 2, 3, 4, 5};
  a.tree_parents = numbers + 1;
  a.tree_parent_count = 2;
  a.cu_seqlens_q = numbers + 2;
  a.cu_seqlens_k = numbers + 3;
  a.cu_seqlen_count = 4;
  const Arguments read(&a);
  const AttentionProblem& p = read.problem();
  EXPECT_TRUE(p.pages.table == numbers && p.pages.table_stride == 1 && p.pages.page_size == 2);
  EXPECT_TRUE(p.pages.page_count == 3 && p.pages.k_page_stride == 4 && p.pages.v_page_stride == 5);
  EXPECT_TRUE(p.tree_parents.data() == numbers + 1 && p.tree_parents.size() == 2);
  EXPECT_TRUE(p.cu_seqlens_q.data() == numbers + 2 && p.cu_seqlens_q.size() == 4);
  EXPECT_TRUE(p.cu_seqlens_k.data() == numbers + 3 && p.cu_seqlens_k.size() == 4);
}

TEST(ArgumentsOfC, CarryCutsAndBlocks) {
  const std::int64_t indexes[9] = {};
  const sightline_edge_cut cuts[2] = {{-1, indexes, 1, indexes + 1, 2, indexes + 2, 3},
                                      {7, nullptr, 0, nullptr, 0, nullptr, 0}};
  const sightline_block blocks[2] = {{3, -1}, {5, 64}};
  const std::uint64_t bits[5] = {};
  Args a = minimal();
  a.cuts = cuts;
  a.cut_count = 2;
  a.block_mask = {2, 3, indexes, 8, blocks, 2, bits, 5};
  const Arguments read(&a);
  const AttentionProblem& p = read.problem();
  ASSERT_EQ(p.cuts.size(), 2u);
  EXPECT_TRUE(p.cuts[0].batch == -1 && p.cuts[0].heads.size() == 1 && p.cuts[0].heads.data() == indexes);
  EXPECT_TRUE(p.cuts[0].rows.size() == 2 && p.cuts[0].rows.data() == indexes + 1);
  EXPECT_TRUE(p.cuts[0].keys.size() == 3 && p.cuts[0].keys.data() == indexes + 2);
  EXPECT_TRUE(p.cuts[1].batch == 7 && p.cuts[1].heads.empty() && p.cuts[1].rows.empty() && p.cuts[1].keys.empty());
  EXPECT_TRUE(p.block_mask.batch == 2 && p.block_mask.heads == 3);
  EXPECT_TRUE(p.block_mask.row_begin.data() == indexes && p.block_mask.row_begin.size() == 8);
  ASSERT_EQ(p.block_mask.entries.size(), 2u);
  EXPECT_TRUE(p.block_mask.entries[0].column == 3 && p.block_mask.entries[0].bits == -1);
  EXPECT_TRUE(p.block_mask.entries[1].column == 5 && p.block_mask.entries[1].bits == 64);
  EXPECT_TRUE(p.block_mask.bits.data() == bits && p.block_mask.bits.size() == 5);
}

TEST(ArgumentsOfC, CarryObservations) {
  float values[8] = {};
  Args a = minimal();
  a.measure = SIGHTLINE_VALUE_WEIGHT;
  a.sink_weight = values;
  a.entropy_with_sink = values + 1;
  a.mass_sums = values + 2;
  a.mass_sums_keys = 17;
  a.overview_step = 18;
  a.mass_decay = 0.25f;
  const Arguments read(&a);
  const Observations& see = read.observations();
  EXPECT_EQ(see.measure, Measure::value_weight);
  EXPECT_EQ(see.sink_weight, values);
  EXPECT_EQ(see.entropy_with_sink, values + 1);
  EXPECT_EQ(see.mass_sums, values + 2);
  EXPECT_EQ(see.mass_sums_keys, 17);
  EXPECT_EQ(see.overview_step, 18);
  EXPECT_EQ(see.mass_decay, 0.25f);
}

// A function of a C program's: notes what it was called with.
struct Called {
  sightline_score_tile tile{};
  int answer = 0;

  static int note(void* user, const sightline_score_tile* tile) {
    auto& called = *static_cast<Called*>(user);
    called.tile = *tile;
    return called.answer;
  }
};

TEST(ArgumentsOfC, CarryFunctions) {
  float scores[4] = {};
  const ScoreTile tile{scores, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  Called score, mask;
  Args a = minimal();
  a.score_function = {&Called::note, &score};
  a.mask_function = {&Called::note, &Called::note, &mask};
  const Arguments read(&a);
  read.problem().score_function->apply(tile);
  static_assert(sizeof score.tile == sizeof tile);
  EXPECT_EQ(std::memcmp(&score.tile, &tile, sizeof tile), 0);
  read.problem().mask_function->hide(tile);
  EXPECT_EQ(std::memcmp(&mask.tile, &tile, sizeof tile), 0);
  for (const auto& [code, sees] :
       {std::pair(SIGHTLINE_SEES_NOTHING, Sees::nothing), std::pair(SIGHTLINE_SEES_PART, Sees::part),
        std::pair(SIGHTLINE_SEES_ALL, Sees::all)}) {
    mask.answer = code;
    EXPECT_EQ(read.problem().mask_function->summary(tile), sees);
  }
}

TEST(ArgumentsOfC, StopWhereAFunctionSaysSo) {
  Called called;
  called.answer = 3;
  Args a = minimal();
  a.score_function = {&Called::note, &called};
  a.mask_function = {&Called::note, &Called::note, &called};
  const Arguments read(&a);
  EXPECT_THROW(read.problem().score_function->apply({}), Stopped);
  EXPECT_THROW(read.problem().mask_function->hide({}), Stopped);
  EXPECT_THROW(read.problem().mask_function->summary({}), Stopped);
  a.mask_function.summary = nullptr;
  EXPECT_EQ(Arguments(&a).problem().mask_function->summary({}), Sees::part);
}

// Programs that were compiled with an older header go on: what lay somewhere once lies there for good.
TEST(LayoutOfC, IsThatOfEarlierVersions) {
  EXPECT_EQ(sizeof(sightline_tensor), 80u);
  EXPECT_EQ(offsetof(Args, q), 8u);
  EXPECT_EQ(offsetof(Args, threads), 328u);
  EXPECT_EQ(offsetof(Args, mask), 352u);
  EXPECT_EQ(offsetof(Args, row_max), 528u);
  EXPECT_EQ(offsetof(Args, row_weights), 720u);
  EXPECT_EQ(offsetof(Args, has_window), 728u);
}

}  // namespace
}  // namespace sightline::capi
