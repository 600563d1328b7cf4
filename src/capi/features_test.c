/* Every further field of a problem and of its observations, against closed forms worked out by hand from the weights
 * 1/8, 2/8 and 5/8 of the example. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sightline/sightline.h"
#include "src/capi/testing.h"

/* Whether the problem was computed, so that there are results to look at. */
static int computed(const Example* e, const char* feature) {
  char message[300];
  const int status = sightline_attention(&e->args, message, sizeof message);
  if (status != SIGHTLINE_OK) fprintf(stderr, "%s\n", message);
  check(status == SIGHTLINE_OK, feature);
  return status == SIGHTLINE_OK;
}

static void check_output(const Example* e, const char* feature, double expected) {
  if (computed(e, feature)) check_near(e->out[0], expected, feature);
}

static void test_windows(void) {
  const sightline_sequence at_first_key = {-1, 0, 1, 0};
  Example e;
  set_up(&e);
  e.args.window_left = 1;
  check_output(&e, "no window without has_window", 5);
  e.args.has_window = 1;
  e.args.window_right = -1;
  check_output(&e, "sliding window", 16 * 2 / 7.0);
  e.args.sequences = &at_first_key;
  e.args.sequence_count = 1;
  e.args.window_left = -1;
  e.args.window_right = 1;
  check_output(&e, "sliding window", (8 + 2 * 16) / 3.0);
}

static void test_scores(void) {
  const float slope = logf(2), eighth = logf(8), half = 0.5f;
  const float table[2] = {0, logf(3)};
  Example e;
  set_up(&e);
  e.args.softcap = 1; /* tanh(ln 2) = 3/5, tanh(ln 5) = 12/13 */
  check_output(&e, "softcap", (8 + 16 * exp(3 / 5.0)) / (1 + exp(3 / 5.0) + exp(12 / 13.0)));
  set_up(&e);
  e.args.alibi_slopes = &slope; /* halves a weight with each position away from key 2 */
  check_output(&e, "ALiBi", (8 / 4.0 + 16 * 2 / 2.0) / (1 / 4.0 + 2 / 2.0 + 5));
  set_up(&e);
  e.args.sinks = &eighth; /* as much as all keys together */
  check_output(&e, "attention sinks", 5 / 2.0);
  set_up(&e);
  e.args.head_scale = &half;
  check_output(&e, "head_scale", 5 / 2.0);
  set_up(&e);
  e.args.relative_bias.table = table; /* the query's own position, and all before it */
  e.args.relative_bias.buckets = 2;
  e.args.relative_bias.max_distance = 2;
  e.args.relative_bias.unidirectional = 1;
  check_output(&e, "relative bias", (3 * 8 + 6 * 16) / (3 + 6 + 5.0));
}

static void test_masks(void) {
  const int64_t last_key[1] = {2}, row_begin[2] = {0, 1};
  const sightline_edge_cut cut = {-1, NULL, 0, NULL, 0, last_key, 1};
  const sightline_block block = {0, 0};
  uint64_t bits[64] = {5}; /* keys 0 and 2 */
  Example e;
  set_up(&e);
  e.args.cuts = &cut;
  e.args.cut_count = 1;
  check_output(&e, "cuts", (8 + 2 * 16) / 3.0);
  set_up(&e);
  e.args.block_mask.row_begin = row_begin;
  e.args.block_mask.row_begin_count = 2;
  e.args.block_mask.blocks = &block;
  e.args.block_mask.block_count = 1;
  e.args.block_mask.bits = bits;
  e.args.block_mask.bits_count = 64;
  check_output(&e, "block mask", 8 / 6.0);
}

static void test_dropout(void) {
  const unsigned char keep[3] = {1, 0, 1};
  Example e;
  set_up(&e);
  e.args.keep.data = keep;
  e.args.keep.dtype = SIGHTLINE_BOOL;
  memcpy(e.args.keep.shape, (int64_t[4]){1, 1, 1, 3}, sizeof e.args.keep.shape);
  memcpy(e.args.keep.strides, (int64_t[4]){0, 0, 0, 1}, sizeof e.args.keep.strides);
  check_output(&e, "dropout", 8 / 8.0);
  e.args.keep_scale = 2;
  check_output(&e, "dropout", 2 * 8 / 8.0);
}

/* Two queries on the three keys of the example. */
static void test_trees_and_packing(void) {
  const float queries[2] = {1, 1};
  const int32_t siblings[2] = {-1, -1}, one_each[3] = {0, 1, 2}, one_and_two[3] = {0, 1, 3};
  float out[2];
  Example e;
  set_up(&e);
  e.args.q = scalars(queries, 2);
  e.args.out = scalars_out(out, 2);
  e.args.tree_parents = siblings;
  e.args.tree_parent_count = 2;
  if (computed(&e, "tree mask")) {
    check_near(out[0], (8 + 2 * 16) / 3.0, "the first sibling sees key 0 and itself");
    check_near(out[1], 8 / 6.0, "the second sibling sees key 0 and itself");
  }
  e.args.tree_parents = NULL;
  e.args.tree_parent_count = 0;
  e.args.cu_seqlens_q = one_each;
  e.args.cu_seqlens_k = one_and_two;
  e.args.cu_seqlen_count = 3;
  if (computed(&e, "packed sequences")) {
    check_near(out[0], 8, "the first sequence has one key");
    check_near(out[1], 16 * 2 / 7.0, "the second sequence has two keys");
  }
  e.args.tree_parents = siblings;
  e.args.tree_parent_count = 2;
  check_refused(&e.args, "a tree mask with packed sequences");
}

/* Seventeen keys in two pages of sixteen; the one in the second page is as heavy as the others together. */
static void test_pages(void) {
  const int32_t table[2] = {1, 0};
  float k[32] = {0}, v[32] = {0};
  Example e;
  set_up(&e);
  k[0] = logf(16);
  v[0] = 4;
  for (int j = 16; j < 32; ++j) v[j] = 2;
  e.args.k = scalars(k, 17);
  e.args.v = scalars(v, 17);
  e.args.pages.table = table;
  e.args.pages.table_stride = 2;
  e.args.pages.page_size = 16;
  e.args.pages.page_count = 2;
  e.args.pages.k_page_stride = 16;
  e.args.pages.v_page_stride = 16;
  check_output(&e, "pages", 3);
}

/* Keys 0, 1 and 2 with values 8, 16 and 0: what narrow types hold exactly. */
static double exponential_mean(void) { return (8 + 16 * exp(1)) / (1 + exp(1) + exp(2)); }

static void test_halves(void) {
  const uint16_t f16_one = 0x3c00, f16_k[3] = {0, 0x3c00, 0x4000}, f16_v[3] = {0x4800, 0x4c00, 0};
  const uint16_t bf16_one = 0x3f80, bf16_k[3] = {0, 0x3f80, 0x4000}, bf16_v[3] = {0x4100, 0x4180, 0};
  Example e;
  set_up(&e);
  e.args.q.data = &f16_one;
  e.args.k.data = f16_k;
  e.args.v.data = f16_v;
  e.args.q.dtype = e.args.k.dtype = e.args.v.dtype = SIGHTLINE_F16;
  check_output(&e, "q in F16", exponential_mean());
  e.args.q.data = &bf16_one;
  e.args.k.data = bf16_k;
  e.args.v.data = bf16_v;
  e.args.q.dtype = e.args.k.dtype = e.args.v.dtype = SIGHTLINE_BF16;
  check_output(&e, "q in BF16", exponential_mean());
}

static void test_halves_beside_floats(void) {
  const uint16_t bias[3] = {0, 0, 0xfc00}; /* -inf hides the last key */
  uint16_t out = 0;
  Example e;
  set_up(&e);
  e.args.bias = (sightline_tensor){bias, SIGHTLINE_F16, {1, 1, 1, 3}, {0, 0, 0, 1}};
  check_output(&e, "bias in F16", (8 + 2 * 16) / 3.0);
  set_up(&e);
  e.args.out.data = &out;
  e.args.out.dtype = SIGHTLINE_BF16;
  check(computed(&e, "out in BF16") && out == 0x40a0, "5 in BF16");
}

typedef struct ByteRow {
  float scale;
  int8_t values[4];
} ByteRow;

typedef struct NibbleRow {
  uint16_t scale, minimum;
  unsigned char values[16];
} NibbleRow;

static void set_packed(sightline_tensor* tensor, const void* data, int64_t dtype, int64_t row_bytes) {
  tensor->data = data;
  tensor->dtype = dtype;
  memcpy(tensor->strides, (int64_t[4]){3 * row_bytes, 3 * row_bytes, row_bytes, 0}, sizeof tensor->strides);
}

static void test_packed_rows(void) {
  const ByteRow byte_k[3] = {{1, {0}}, {0.5f, {2}}, {0.25f, {8}}}, byte_v[3] = {{2, {4}}, {8, {2}}, {1, {0}}};
  /* scale, minimum as f16: 1 is 0x3c00, 2 is 0x4000, 8 is 0x4800 */
  const NibbleRow nibble_k[3] = {{0x3c00, 0, {0}}, {0x3c00, 0, {1}}, {0x3c00, 0x3c00, {1}}};
  const NibbleRow nibble_v[3] = {{0x4000, 0, {4}}, {0x4000, 0x4800, {4}}, {0, 0, {0}}};
  Example e;
  set_up(&e);
  set_packed(&e.args.k, byte_k, SIGHTLINE_I8_ROW, sizeof *byte_k);
  set_packed(&e.args.v, byte_v, SIGHTLINE_I8_ROW, sizeof *byte_v);
  check_output(&e, "k in I8_ROW", exponential_mean());
  set_packed(&e.args.k, nibble_k, SIGHTLINE_Q4_1, sizeof *nibble_k);
  set_packed(&e.args.v, nibble_v, SIGHTLINE_Q4_1, sizeof *nibble_v);
  check_output(&e, "k in Q4_1", exponential_mean());
}

static void test_observations(void) {
  const float eighth = logf(8), queries[2] = {1, 1};
  float sink_weight, with_sink, top_weight, mass[3], sums[3 * 16] = {0};
  int32_t top_index;
  Example e;
  set_up(&e);
  e.args.out.data = NULL;
  e.args.sink_weight = &sink_weight;
  e.args.entropy_with_sink = &with_sink;
  if (computed(&e, "the weight of sinks")) {
    check_near(sink_weight, 0, "the weight of a sink that is not there");
  }
  e.args.sinks = &eighth;
  if (computed(&e, "attention sinks")) {
    check_near(sink_weight, 1 / 2.0, "sink_weight"); /* and the keys weigh 1/16, 2/16 and 5/16 */
    check_near(with_sink, log(16) - (8 * log(8) + 2 * log(2) + 5 * log(5)) / 16, "entropy_with_sink");
  }
  set_up(&e);
  e.args.measure = SIGHTLINE_VALUE_WEIGHT; /* 1, 4 and 0 */
  e.args.top_k = 1;
  e.args.topk_index = &top_index;
  e.args.topk_weight = &top_weight;
  e.args.key_mass = mass;
  if (computed(&e, "the measure value_weight")) {
    check(top_index == 1, "the key that adds most");
    check_near(top_weight, 2 / 8.0, "its weight");
    check_near(mass[0], 8 / 8.0, "the first key's w ||v||");
    check_near(mass[1], 16 * 2 / 8.0, "the second key's w ||v||");
  }
  set_up(&e);
  e.args.q = scalars(queries, 2);
  e.args.out.data = NULL;
  e.args.key_mass = mass;
  e.args.mass_sums = sums;
  e.args.mass_sums_keys = 3;
  e.args.mass_decay = 0.5f;
  if (computed(&e, "running mass")) check_near(mass[2], 5 / 8.0 * 1.5, "mass that halves with each row");
}

static int double_first_key(void* user, const sightline_score_tile* tile) {
  if (tile->key_stride != 1 && tile->row_stride != 1) return 1;
  for (int64_t key = 0; key < tile->keys; ++key) {
    for (int64_t row = 0; row < tile->rows; ++row) {
      if (tile->first_key + key == 0) tile->scores[row * tile->row_stride + key * tile->key_stride] += *(float*)user;
    }
  }
  return 0;
}

static int hide_last_key(void* user, const sightline_score_tile* tile) {
  const int64_t last = *(const int64_t*)user;
  for (int64_t key = 0; key < tile->keys; ++key) {
    for (int64_t row = 0; row < tile->rows; ++row) {
      if (tile->first_key + key == last) tile->scores[row * tile->row_stride + key * tile->key_stride] = -INFINITY;
    }
  }
  return 0;
}

static int stop(void* user, const sightline_score_tile* tile) {
  (void)user;
  (void)tile;
  return -1;
}

static int sees_what_user_says(void* user, const sightline_score_tile* tile) {
  (void)tile;
  return *(const int*)user;
}

static void check_stopped(const Example* e, const char* feature) {
  char message[100];
  const int status = sightline_attention(&e->args, message, sizeof message);
  check(status == SIGHTLINE_STOPPED && strstr(message, "stopped") != NULL, feature);
}

static void test_functions(void) {
  float ln_2 = logf(2);
  int64_t last_key = 2;
  int nothing = SIGHTLINE_SEES_NOTHING, all = SIGHTLINE_SEES_ALL, neither = 3;
  Example e;
  set_up(&e);
  e.args.score_function.apply = double_first_key;
  e.args.score_function.user = &ln_2;
  check_output(&e, "score function", (2 * 8 + 2 * 16) / 9.0);
  e.args.score_function.apply = stop;
  check_stopped(&e, "score function");

  set_up(&e);
  e.args.mask_function.hide = hide_last_key;
  e.args.mask_function.user = &last_key;
  check_output(&e, "mask function", (8 + 2 * 16) / 3.0);
  e.args.mask_function.hide = stop;
  check_stopped(&e, "mask function");
  e.args.mask_function.summary = sees_what_user_says;
  e.args.mask_function.user = &all;
  check_output(&e, "mask function", 5);
  e.args.mask_function.user = &nothing;
  check_output(&e, "mask function", 0);
  e.args.mask_function.user = &neither;
  check_stopped(&e, "mask function");
}

int main(void) {
  test_windows();
  test_scores();
  test_masks();
  test_dropout();
  test_trees_and_packing();
  test_pages();
  test_halves();
  test_halves_beside_floats();
  test_packed_rows();
  test_observations();
  test_functions();
  return failures() == 0 ? 0 : 1;
}
