/* The C interface as a C program uses it. Expected values are worked out by hand: keys that are logarithms of 1, 2 and
 * 5 give the weights 1/8, 2/8 and 5/8. */
#include <math.h>
#include <string.h>

#include "sightline/sightline.h"
#include "src/capi/testing.h"

static void test_output(void) {
  Example e;
  char message[40] = "untouched";
  set_up(&e);
  check(sightline_attention(&e.args, message, sizeof message) == SIGHTLINE_OK, "a sound problem is computed");
  check(message[0] == '\0', "success leaves an empty message");
  check_near(e.out[0], 8 / 8.0 + 16 * 2 / 8.0, "the output");
  e.args.has_scale = 1; /* of 0: uniform */
  check(run(&e) == SIGHTLINE_OK, "a scale of 0");
  check_near(e.out[0], 8, "the mean of the values");
}

static void test_observations(void) {
  Example e;
  float row_max, row_sum, lse, entropy, position, distance, top_weight[2], offset_mass[2], segment_mass[2], overview[2];
  float key_mass[3], row_weights[3];
  int32_t top_index[2];
  const int64_t offsets[2] = {-1, 0}, rows[1] = {0};
  const int32_t segments[3] = {1, -1, 0};
  set_up(&e);
  e.args.out.data = NULL;
  e.args.row_max = &row_max;
  e.args.row_sum = &row_sum;
  e.args.lse = &lse;
  e.args.entropy = &entropy;
  e.args.position = &position;
  e.args.distance = &distance;
  e.args.top_k = 2;
  e.args.topk_index = top_index;
  e.args.topk_weight = top_weight;
  e.args.offsets = offsets;
  e.args.offset_count = 2;
  e.args.offset_mass = offset_mass;
  e.args.key_mass = key_mass;
  e.args.segment_of_key = segments;
  e.args.segment_key_count = 3;
  e.args.segments = 2;
  e.args.segment_mass = segment_mass;
  e.args.overview_rows = 1;
  e.args.overview_cols = 2;
  e.args.overview = overview;
  e.args.rows = rows;
  e.args.row_count = 1;
  e.args.row_weights = row_weights;
  check(run(&e) == SIGHTLINE_OK, "observations without an output");
  check_near(row_max, log(5), "row_max");
  check_near(row_sum, 8 / 5.0, "row_sum");
  check_near(lse, log(8), "lse");
  check_near(entropy, log(8) - (2 * log(2) + 5 * log(5)) / 8, "entropy");
  check_near(position, (2 + 2 * 5) / 8.0, "position");
  check_near(distance, (2 * 1 + 1 * 2) / 8.0, "distance from position 2");
  check(top_index[0] == 2 && top_index[1] == 1, "topk_index");
  check_near(top_weight[0], 5 / 8.0, "topk_weight[0]");
  check_near(top_weight[1], 2 / 8.0, "topk_weight[1]");
  check_near(offset_mass[0], 2 / 8.0, "offset_mass at -1");
  check_near(offset_mass[1], 5 / 8.0, "offset_mass at 0");
  check_near(segment_mass[0], 5 / 8.0, "segment_mass[0]");
  check_near(segment_mass[1], 1 / 8.0, "segment_mass[1]");
  check_near(key_mass[0], 1 / 8.0, "key_mass[0]");
  check_near(overview[0], 1 / 8.0, "overview of key 0");
  check_near(overview[1], 7 / 8.0, "overview of keys 1 and 2");
  check_near(row_weights[1], 2 / 8.0, "row_weights[1]");
}

static void test_masks(void) {
  Example e;
  const unsigned char visible[3] = {1, 0, 2};
  const float bias[3] = {0, 0, -INFINITY};
  const sightline_sequence two_keys = {2, 0, 0, 0}, at_second_key = {-1, 0, 1, 1};
  set_up(&e);
  e.args.mask = scalars(e.k, 3);
  e.args.mask.dtype = SIGHTLINE_BOOL;
  e.args.mask.data = visible;
  memcpy(e.args.mask.shape, (int64_t[4]){1, 1, 1, 3}, sizeof e.args.mask.shape);
  memcpy(e.args.mask.strides, (int64_t[4]){0, 0, 0, 1}, sizeof e.args.mask.strides);
  check(run(&e) == SIGHTLINE_OK, "a mask");
  check_near(e.out[0], 8 / 6.0, "the output under a mask");

  e.args.bias = e.args.mask;
  e.args.bias.dtype = SIGHTLINE_F32;
  e.args.bias.data = bias;
  e.args.mask.data = NULL;
  check(run(&e) == SIGHTLINE_OK, "a bias");
  check_near(e.out[0], (8 + 2 * 16) / 3.0, "the output under a bias");

  set_up(&e);
  e.args.causal = 1;
  e.args.alignment = SIGHTLINE_TOP_LEFT;
  check(run(&e) == SIGHTLINE_OK, "causal, top left");
  check_near(e.out[0], 8, "the first value alone");
  e.args.alignment = SIGHTLINE_BOTTOM_RIGHT;
  check(run(&e) == SIGHTLINE_OK, "causal, bottom right");
  check_near(e.out[0], 5, "all values");
  e.args.sequences = &at_second_key;
  e.args.sequence_count = 1;
  check(run(&e) == SIGHTLINE_OK, "a query's position");
  check_near(e.out[0], (8 + 2 * 16) / 3.0, "the first two values");
  e.args.causal = 0;
  e.args.sequences = &two_keys;
  check(run(&e) == SIGHTLINE_OK, "fewer keys than the tensor has");
  check_near(e.out[0], (8 + 2 * 16) / 3.0, "the output over two keys");
}

static void test_mass_rows(void) {
  Example e;
  const float queries[2] = {1, 0};
  float mass[3];
  set_up(&e);
  e.args.q = scalars(queries, 2);
  e.args.out.data = NULL;
  e.args.key_mass = mass;
  check(run(&e) == SIGHTLINE_OK, "key mass of all rows");
  check_near(mass[2], 5 / 8.0 + 1 / 3.0, "key_mass over both rows");
  e.args.mass_row_end = 1;
  check(run(&e) == SIGHTLINE_OK, "key mass of the first row");
  check_near(mass[2], 5 / 8.0, "key_mass over the first row");
  e.args.mass_row_begin = 1;
  e.args.mass_row_end = 0;
  check(run(&e) == SIGHTLINE_OK, "key mass from the second row");
  check_near(mass[2], 1 / 3.0, "key_mass over the second row");
}

static void test_sizes(void) {
  struct {
    sightline_attention_args args;
    int64_t newer;
  } grown;
  Example e;
  set_up(&e);
  e.args.causal = 1;
  e.args.alignment = SIGHTLINE_TOP_LEFT;
  e.args.struct_size = offsetof(sightline_attention_args, threads);
  check(run(&e) == SIGHTLINE_OK, "the smallest struct");
  check_near(e.out[0], 5, "the output where causal was left out");
  e.args.struct_size -= sizeof(int64_t);
  check_refused(&e.args, "struct_size");
  e.args.struct_size = sizeof e.args - 1;
  check_refused(&e.args, "struct_size");
  e.args.struct_size = 0;
  check_refused(&e.args, "struct_size");
  e.args.struct_size = ~(size_t)7;
  check_refused(&e.args, "struct_size");

  set_up(&e);
  grown.args = e.args;
  grown.args.struct_size = sizeof grown;
  grown.newer = 0;
  check(sightline_attention(&grown.args, NULL, 0) == SIGHTLINE_OK, "a newer struct that asks for nothing new");
  grown.newer = 1;
  check_refused(&grown.args, "newer than this library");
}

static void test_refusals(void) {
  const sightline_edge_cut cut = {-1, NULL, 0, NULL, 1, NULL, 0};
  Example e;
  check_refused(NULL, "args is null");
  set_up(&e);
  e.args.k.data = NULL;
  check_refused(&e.args, "k has no data");
  set_up(&e);
  e.args.q.dtype = 6;
  check_refused(&e.args, "dtype");
  e.args.q.dtype = -1;
  check_refused(&e.args, "dtype");
  set_up(&e);
  e.args.q.dtype = SIGHTLINE_BOOL;
  check_refused(&e.args, "q in BOOL");
  set_up(&e);
  e.args.alignment = 2;
  check_refused(&e.args, "alignment");
  set_up(&e);
  e.args.v.shape[2] = 2;
  check_refused(&e.args, "different lengths");
  set_up(&e);
  e.args.out.shape[3] = 2;
  check_refused(&e.args, "out has shape");
  set_up(&e);
  e.args.sequence_count = 1;
  check_refused(&e.args, "sequences is null");
  set_up(&e);
  e.args.row_count = -1;
  check_refused(&e.args, "rows is null or its count negative");
  set_up(&e);
  e.args.offset_count = 1;
  check_refused(&e.args, "offsets is null");
  set_up(&e);
  e.args.segment_key_count = 3;
  check_refused(&e.args, "segment_of_key is null");
  set_up(&e);
  e.args.measure = 2;
  check_refused(&e.args, "measure");
  set_up(&e);
  e.args.cut_count = 1;
  check_refused(&e.args, "cuts is null");
  e.args.cuts = &cut;
  check_refused(&e.args, "rows of a cut is null");
  set_up(&e);
  e.args.block_mask.block_count = 1;
  check_refused(&e.args, "blocks of block_mask is null");
  set_up(&e);
  e.args.block_mask.row_begin_count = -1;
  check_refused(&e.args, "row_begin of block_mask is null or its count negative");
  set_up(&e);
  e.args.cu_seqlen_count = 2;
  check_refused(&e.args, "cu_seqlens_q is null");
  set_up(&e);
  e.args.tree_parent_count = 1;
  check_refused(&e.args, "tree_parents is null");
  set_up(&e);
  e.args.relative_bias.table = e.k;
  e.args.relative_bias.buckets = INT64_MAX;
  e.args.q.shape[1] = 2;
  check_refused(&e.args, "relative_bias.buckets");
  set_up(&e);
  e.args.top_k = (int64_t)1 << 32 | 2;
  check_refused(&e.args, "top_k");
  set_up(&e);
  e.args.segments = (int64_t)1 << 32 | 2;
  check_refused(&e.args, "segments");
}

static void check_tile(const Example* e, const sightline_tile_range* range, int64_t stage, double first,
                       double second) {
  float tile[2] = {-7, -7};
  check(sightline_tile(&e->args, range, stage, tile, NULL, 0) == SIGHTLINE_OK, "a tile of the map");
  check_near(tile[0], first, "the tile's first number");
  check_near(tile[1], second, "the tile's second number");
}

static void test_tiles(void) {
  const sightline_tile_range keys_1_and_2 = {0, 0, 0, 1, 1, 3}, outside = {0, 0, 0, 1, 1, 4};
  const sightline_sequence at_second_key = {-1, 0, 1, 1};
  float row_max, row_sum, tile[2];
  char message[100];
  Example e;
  set_up(&e);
  check_tile(&e, &keys_1_and_2, SIGHTLINE_RAW, log(2), log(5));
  check_tile(&e, &keys_1_and_2, SIGHTLINE_CAPPED, log(2), log(5));
  e.args.row_max = &row_max;
  e.args.row_sum = &row_sum;
  check(run(&e) == SIGHTLINE_OK, "the row state");
  check_tile(&e, &keys_1_and_2, SIGHTLINE_WEIGHTS, 2 / 8.0, 5 / 8.0);
  e.args.causal = 1;
  e.args.sequences = &at_second_key;
  e.args.sequence_count = 1;
  check_tile(&e, &keys_1_and_2, SIGHTLINE_BIASED, log(2), -INFINITY);

  e.args.row_max = NULL;
  check(sightline_tile(&e.args, &keys_1_and_2, SIGHTLINE_WEIGHTS, tile, message, sizeof message) ==
                SIGHTLINE_BAD_ARGUMENT &&
            strstr(message, "row state") != NULL,
        "weights without a row state");
  check(sightline_tile(&e.args, &outside, SIGHTLINE_RAW, tile, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT &&
            strstr(message, "outside the map") != NULL,
        "a tile outside the map");
  check(sightline_tile(&e.args, &keys_1_and_2, 4, tile, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT &&
            strstr(message, "stage") != NULL,
        "a stage that is none");
  check(sightline_tile(&e.args, NULL, SIGHTLINE_RAW, tile, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT &&
            strstr(message, "range") != NULL,
        "no range");
  check(
      sightline_tile(&e.args, &keys_1_and_2, SIGHTLINE_RAW, NULL, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT &&
          strstr(message, "out is null") != NULL,
      "nowhere to write to");
}

static void test_message_is_cut(void) {
  char message[8] = "abcdefg";
  check(sightline_attention(NULL, message, 5) == SIGHTLINE_BAD_ARGUMENT, "a null struct");
  check(strcmp(message, "args") == 0, "a message is cut to its size");
  check(message[5] == 'f', "nothing is written behind a message");
  check(sightline_attention(NULL, message, 0) == SIGHTLINE_BAD_ARGUMENT, "no room for a message");
  check(message[0] == 'a', "nothing is written where there is no room");
}

int main(void) {
  test_output();
  test_observations();
  test_masks();
  test_mass_rows();
  test_sizes();
  test_refusals();
  test_tiles();
  test_message_is_cut();
  return failures() == 0 ? 0 : 1;
}
