/* The cache as a C program uses it: tokens of width 1 whose keys and values are small numbers, read back through the
 * page table, and attended to. */
#include "sightline/sightline_cache.h"

#include <math.h>
#include <string.h>

#include "src/capi/testing.h"

static char message[200];

static void check_status(int status, int expected, const char* part) {
  check(status == expected, part);
  check(strstr(message, part) != NULL, part);
}

static void must(int status, const char* what) { check(status == SIGHTLINE_OK && message[0] == '\0', what); }

static sightline_cache_options small_cache(void) {
  sightline_cache_options options = {0};
  options.struct_size = sizeof options;
  options.kv_heads = options.key_width = options.value_width = 1;
  options.page_size = 16;
  options.page_count = 3;
  options.max_sequences = 2;
  return options;
}

static sightline_cache* made(const sightline_cache_options* options) {
  sightline_cache* cache = NULL;
  must(sightline_cache_create(options, &cache, message, sizeof message), "a cache");
  return cache;
}

/* Adds `count` tokens whose keys are `key` and whose values count up from `value`. */
static int append(sightline_cache* cache, sightline_sequence_id sequence, int64_t count, float key, float value) {
  float k[64], v[64];
  for (int i = 0; i < count; ++i) {
    k[i] = key;
    v[i] = value + (float)i;
  }
  const sightline_tensor keys = scalars(k, count), values = scalars(v, count);
  const int status = sightline_cache_extend(cache, &sequence, 1, count, message, sizeof message);
  if (status != SIGHTLINE_OK) return status;
  return sightline_cache_write(cache, 0, &sequence, 1, &keys, &values, message, sizeof message);
}

/* The value of token `position` of the sequence that args are bound to. */
static float value_at(const sightline_attention_args* args, int64_t position) {
  const int64_t slot = position - args->sequences[0].key_position;
  const sightline_page_table* p = &args->pages;
  return ((const float*)args->v
              .data)[p->table[slot / p->page_size] * p->v_page_stride + slot % p->page_size * args->v.strides[2]];
}

static void bind(const sightline_cache* cache, sightline_cache_view* view, sightline_sequence_id sequence,
                 sightline_attention_args* args) {
  must(sightline_cache_fill(cache, &sequence, 1, view, message, sizeof message), "a view is filled");
  must(sightline_cache_bind(cache, view, 0, args, message, sizeof message), "args are bound");
}

static void test_tokens(void) {
  const sightline_cache_options options = small_cache();
  sightline_cache* cache = made(&options);
  sightline_cache_view* view = NULL;
  sightline_sequence_id first = 0, forked = 0;
  int64_t length = -1;
  Example e;
  set_up(&e);
  must(sightline_cache_view_create(&view, message, sizeof message), "a view");
  must(sightline_cache_begin(cache, &first, message, sizeof message), "a sequence");
  check(first != 0, "a sequence is not 0");
  must(append(cache, first, 20, 0, 100), "20 tokens");
  check(sightline_cache_pages_in_use(cache) == 2, "20 tokens lie in two pages");
  must(sightline_cache_fork(cache, first, &forked, message, sizeof message), "a fork");
  check(forked != first && sightline_cache_pages_in_use(cache) == 2, "a fork shares its pages");
  must(append(cache, forked, 1, 0, 500), "a token of the fork's own");
  check(sightline_cache_pages_in_use(cache) == 3, "the last page is copied");

  bind(cache, view, forked, &e.args);
  check(e.args.sequence_count == 1 && e.args.sequences[0].key_count == 21, "21 keys");
  check(value_at(&e.args, 3) == 103 && value_at(&e.args, 19) == 119 && value_at(&e.args, 20) == 500,
        "the fork's values");
  must(append(cache, first, 1, 0, 700), "the first sequence goes on");
  bind(cache, view, first, &e.args);
  check(value_at(&e.args, 20) == 700, "and has a token of its own");

  must(sightline_cache_truncate(cache, first, 5, message, sizeof message), "truncated");
  must(sightline_cache_length(cache, first, &length, message, sizeof message), "its length");
  check(length == 5, "5 tokens are left");
  must(sightline_cache_free(cache, first, message, sizeof message), "forgotten");
  check_status(sightline_cache_length(cache, first, &length, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "sequence");
  sightline_cache_view_destroy(view);
  sightline_cache_destroy(cache);
}

/* Sixteen keys of score 0 in one page, one of ln 16 in the next: half of the weight for each. */
static void test_attention(void) {
  const sightline_cache_options options = small_cache();
  sightline_cache* cache = made(&options);
  sightline_cache_view* view = NULL;
  sightline_sequence_id sequence = 0;
  Example e;
  set_up(&e);
  must(sightline_cache_view_create(&view, message, sizeof message), "a view");
  must(sightline_cache_begin(cache, &sequence, message, sizeof message), "a sequence");
  must(append(cache, sequence, 16, 0, 0), "16 tokens with the mean value 7.5");
  must(append(cache, sequence, 1, logf(16), 32.5f), "a heavy token");
  bind(cache, view, sequence, &e.args);
  must(sightline_attention(&e.args, message, sizeof message), "attention over the cache");
  check_near(e.out[0], (7.5 + 32.5) / 2, "the output over the cache");
  sightline_cache_view_destroy(view);
  sightline_cache_destroy(cache);
}

static void test_windows(void) {
  sightline_cache_options options = small_cache();
  options.window = 4;
  sightline_cache* cache = made(&options);
  sightline_cache_view* view = NULL;
  sightline_sequence_id sequence = 0;
  Example e;
  set_up(&e);
  must(sightline_cache_view_create(&view, message, sizeof message), "a view");
  must(sightline_cache_begin(cache, &sequence, message, sizeof message), "a sequence");
  for (int i = 0; i < 40; ++i) must(append(cache, sequence, 1, 0, 100 + (float)i), "a token");
  must(sightline_cache_fill(cache, &sequence, 1, view, message, sizeof message), "a view is filled");
  check_status(sightline_cache_bind(cache, view, 0, &e.args, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "window_left");
  e.args.has_window = 1;
  e.args.window_left = 3;
  must(sightline_cache_bind(cache, view, 0, &e.args, message, sizeof message), "bound with the cache's window");
  check(e.args.sequences[0].key_position == 32 && e.args.sequences[0].key_count == 8, "older pages were given back");
  check(value_at(&e.args, 36) == 136, "a value in the window");
  sightline_cache_view_destroy(view);
  sightline_cache_destroy(cache);
}

static void test_refusals(void) {
  sightline_cache_options options = small_cache();
  sightline_cache* cache = NULL;
  sightline_cache_view* view = NULL;
  sightline_sequence_id sequence = 0, other = 0, third = 0;
  const sightline_tensor none = {NULL, SIGHTLINE_F32, {1, 1, 0, 1}, {0, 0, 1, 1}};
  Example e;
  set_up(&e);
  check_status(sightline_cache_create(NULL, &cache, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "options is null");
  check_status(sightline_cache_create(&options, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "cache is null");
  options.struct_size = 8;
  check_status(sightline_cache_create(&options, &cache, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "struct_size");
  options = small_cache();
  options.page_size = 15;
  check_status(sightline_cache_create(&options, &cache, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "page_size");
  options = small_cache();
  options.dtype = SIGHTLINE_BOOL;
  check_status(sightline_cache_create(&options, &cache, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "BOOL");
  check(cache == NULL, "nothing was made");

  options = small_cache();
  cache = made(&options);
  must(sightline_cache_view_create(&view, message, sizeof message), "a view");
  check_status(sightline_cache_begin(NULL, &sequence, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "cache is null");
  for (int i = 0; i < 5; ++i) {
    check_status(sightline_cache_begin(cache, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
                 "sequence is null");
  }
  must(sightline_cache_begin(cache, &sequence, message, sizeof message), "a sequence");
  must(sightline_cache_begin(cache, &other, message, sizeof message), "another, as none was lost above");
  check_status(sightline_cache_begin(cache, &third, message, sizeof message), SIGHTLINE_OUT_OF_MEMORY, "sequences");
  check_status(append(cache, sequence, 49, 0, 0), SIGHTLINE_OUT_OF_MEMORY, "page");
  check(sightline_cache_pages_in_use(cache) == 0, "all or nothing");
  check_status(sightline_cache_extend(cache, NULL, 1, 1, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "sequences is null");
  check_status(sightline_cache_write(cache, 1, &sequence, 1, &none, &none, message, sizeof message),
               SIGHTLINE_BAD_ARGUMENT, "layer");
  check_status(sightline_cache_free(cache, 0, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "sequence");
  must(sightline_cache_fill(cache, &sequence, 1, view, message, sizeof message), "a view is filled");
  must(append(cache, sequence, 1, 0, 0), "a token");
  check_status(sightline_cache_bind(cache, view, 0, &e.args, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "view");
  e.args.struct_size = offsetof(sightline_attention_args, pages);
  check_status(sightline_cache_bind(cache, view, 0, &e.args, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "struct_size");
  check(sightline_cache_pages_in_use(NULL) == -1 && sightline_cache_bytes(NULL) == -1, "of no cache");
  check(sightline_cache_bytes(cache) == 3 * 16 * 2 * (int64_t)sizeof(float), "three pages of keys and values");
  sightline_cache_view_destroy(view);
  sightline_cache_destroy(cache);
  sightline_cache_view_destroy(NULL);
  sightline_cache_destroy(NULL);
}

int main(void) {
  test_tokens();
  test_attention();
  test_windows();
  test_refusals();
  return failures() == 0 ? 0 : 1;
}
