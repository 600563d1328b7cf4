/* How calls run, as a C program has it: two heads of 160 queries over 128 keys, of which each way to run gives the same
 * bits. */
#include "sightline/sightline_execution.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/capi/testing.h"

enum { kHeads = 2, kQueries = 160, kKeys = 128, kWidth = 8, kOut = kHeads * kQueries * kWidth };

static char message[200];

typedef struct Problem {
  float q[kOut], k[kHeads * kKeys * kWidth], out[kOut], lse[kHeads * kQueries];
  sightline_sequence sequence;
  sightline_attention_args args;
} Problem;

static sightline_tensor dense(const float* data, int64_t rows) {
  const sightline_tensor t = {
      data, SIGHTLINE_F32, {1, kHeads, rows, kWidth}, {kHeads * rows * kWidth, rows * kWidth, kWidth, 1}};
  return t;
}

static sightline_output dense_out(float* data, int64_t rows) {
  const sightline_output t = {
      data, SIGHTLINE_F32, {1, kHeads, rows, kWidth}, {kHeads * rows * kWidth, rows * kWidth, kWidth, 1}};
  return t;
}

static void fill(float* values, int count, unsigned seed) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
  }
}

/* Keys from `first` on, as of a sequence of all. */
static void set_keys(Problem* p, int64_t first, int64_t count) {
  p->args.k = dense(p->k, kKeys);
  p->args.k.data = p->k + first * kWidth;
  p->args.k.shape[2] = count;
  p->args.v = p->args.k;
  p->sequence.key_position = first;
}

static Problem* made(void) {
  Problem* p = calloc(1, sizeof *p);
  fill(p->q, kOut, 1);
  fill(p->k, kHeads * kKeys * kWidth, 2);
  p->args.struct_size = sizeof p->args;
  p->args.q = dense(p->q, kQueries);
  p->args.out = dense_out(p->out, kQueries);
  p->args.lse = p->lse;
  p->args.threads = 2;
  p->sequence.key_count = -1;
  p->sequence.has_query_position = 1;
  p->args.sequences = &p->sequence;
  p->args.sequence_count = 1;
  set_keys(p, 0, kKeys);
  return p;
}

/* What one plain call gives; then the arrays are cleared. */
static Problem* expected_of(Problem* p) {
  Problem* expected = malloc(sizeof *expected);
  check(sightline_attention(&p->args, NULL, 0) == SIGHTLINE_OK, "a plain call");
  memcpy(expected, p, sizeof *p);
  memset(p->out, 0, sizeof p->out);
  memset(p->lse, 0, sizeof p->lse);
  return expected;
}

static void check_same(Problem* p, const Problem* expected, const char* what) {
  check(memcmp(p->out, expected->out, sizeof p->out) == 0, what);
  check(memcmp(p->lse, expected->lse, sizeof p->lse) == 0, what);
  memset(p->out, 0, sizeof p->out);
}

static void must(int status, const char* what) { check(status == SIGHTLINE_OK && message[0] == '\0', what); }

static void check_status(int status, int expected, const char* part) {
  check(status == expected, part);
  check(strstr(message, part) != NULL, part);
}

static sightline_options none(void) {
  sightline_options options = {0};
  options.struct_size = sizeof options;
  return options;
}

static int run_with(const Problem* p, const sightline_options* options) {
  return sightline_attention_run(&p->args, options, message, sizeof message);
}

/* An allocator that counts, and fails at a chosen request. */
typedef struct Counter {
  int64_t requests, failing, held;
} Counter;

static void* count_allocation(void* user, size_t bytes, size_t alignment) {
  Counter* counter = user;
  if (++counter->requests == counter->failing) return NULL;
  counter->held += (int64_t)bytes;
  return aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

static void count_release(void* user, void* data, size_t bytes, size_t alignment) {
  Counter* counter = user;
  (void)alignment;
  counter->held -= (int64_t)bytes;
  free(data);
}

static void test_workspaces(void) {
  Problem* p = made();
  Problem* expected = expected_of(p);
  Counter counter = {0, 0, 0};
  const sightline_allocator allocator = {count_allocation, count_release, &counter};
  sightline_options options = none();
  size_t bytes = 0;
  must(sightline_workspace_create(&allocator, &options.workspace, message, sizeof message), "a workspace");
  must(sightline_workspace_size(&p->args, &options, &bytes, message, sizeof message), "its size");
  check(bytes > 10000 && sightline_workspace_capacity(options.workspace) == 0, "nothing is taken before it is needed");
  must(sightline_workspace_reserve(options.workspace, bytes, message, sizeof message), "reserved");
  const int64_t before = counter.requests;
  for (int n = 0; n < 3; ++n) {
    must(run_with(p, &options), "a call in a workspace");
    check_same(p, expected, "its result");
  }
  check(counter.requests == before && sightline_workspace_capacity(options.workspace) == bytes, "the size is exact");
  sightline_workspace_destroy(options.workspace);
  check(counter.held == 0, "all memory went back");

  for (int failing = 1; failing < 4; ++failing) {
    counter.requests = 0;
    counter.failing = failing;
    must(sightline_workspace_create(&allocator, &options.workspace, message, sizeof message), "a workspace");
    const int status = sightline_workspace_reserve(options.workspace, 1000, message, sizeof message);
    check(status == (failing <= 2 ? SIGHTLINE_OUT_OF_MEMORY : SIGHTLINE_OK), "a list and the memory itself");
    if (failing == 3) check_status(run_with(p, &options), SIGHTLINE_OUT_OF_MEMORY, "memory");
    must(run_with(p, &options), "a call after that");
    check_same(p, expected, "its result");
    sightline_workspace_destroy(options.workspace);
    check(counter.held == 0, "all memory went back");
  }

  const sightline_allocator half = {count_allocation, NULL, NULL};
  check_status(sightline_workspace_create(&half, &options.workspace, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "a function of the allocator is null");
  check(options.workspace == NULL, "no workspace");
  check_status(sightline_workspace_reserve(NULL, 1, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "is null");
  check(sightline_workspace_capacity(NULL) == 0, "of null");
  sightline_workspace_destroy(NULL);

  must(sightline_workspace_create(sightline_huge_pages(), &options.workspace, message, sizeof message), "huge pages");
  must(sightline_workspace_reserve(options.workspace, (size_t)5 << 20, message, sizeof message), "three of them");
  must(run_with(p, &options), "a call in huge pages");
  check_same(p, expected, "its result");
  check_status(sightline_workspace_reserve(options.workspace, SIZE_MAX, message, sizeof message),
               SIGHTLINE_OUT_OF_MEMORY, "no memory");
  sightline_workspace_destroy(options.workspace);
  free(expected);
  free(p);
}

/* The pieces of a call on threads of the program's. */
typedef struct Threads {
  int calls, missing, status;
} Threads;

typedef struct Body {
  void (*call)(void* data);
  void* data;
} Body;

static void* start(void* passed) {
  const Body* body = passed;
  body->call(body->data);
  return NULL;
}

static int run_threads(void* user, int64_t count, void (*call)(void* data), void* data) {
  Threads* threads = user;
  Body body = {call, data};
  pthread_t started[8];
  const int64_t wanted = count - threads->missing;
  ++threads->calls;
  check(count >= 1 && count <= 3, "no more bodies than there is room for");
  for (int64_t i = 0; i < wanted; ++i) pthread_create(&started[i], NULL, start, &body);
  for (int64_t i = 0; i < wanted; ++i) pthread_join(started[i], NULL);
  return threads->status;
}

static void test_executors(void) {
  Problem* p = made();
  Problem* expected = expected_of(p);
  Threads threads = {0, 0, 0};
  sightline_executor executor = {3, run_threads, &threads};
  sightline_options options = none();
  options.executor = &executor;
  for (threads.missing = 0; threads.missing < 3; ++threads.missing) {
    must(run_with(p, &options), "a call on the program's threads");
    check_same(p, expected, "its result");
  }
  check(threads.calls == 3, "the threads were asked for");
  threads.missing = 0;
  executor.concurrency = INT64_MIN;
  must(run_with(p, &options), "one body at least");
  threads.status = 7;
  check_status(run_with(p, &options), SIGHTLINE_STOPPED, "stopped by the executor");
  executor.run = NULL;
  check_status(run_with(p, &options), SIGHTLINE_BAD_ARGUMENT, "run of the executor is null");
  free(expected);
  free(p);
}

typedef struct Watch {
  int64_t done, total, stop_at;
} Watch;

static int watch(void* user, int64_t done, int64_t total) {
  Watch* seen = user;
  check(done == seen->done + 1, "one after the other");
  seen->done = done;
  seen->total = total;
  return done == seen->stop_at;
}

static void test_progress(void) {
  Problem* p = made();
  Watch seen = {0, 0, -1};
  sightline_progress progress = {watch, &seen};
  sightline_options options = none();
  options.progress = &progress;
  must(run_with(p, &options), "a watched call");
  check(seen.total >= 4 && seen.done == seen.total, "all is done");
  const int64_t total = seen.total;
  for (int64_t k = 1; k <= total; ++k) {
    seen.done = 0;
    seen.stop_at = k;
    check_status(run_with(p, &options), SIGHTLINE_STOPPED, "stopped by the caller");
    check(seen.done == k, "it stopped at once");
  }
  progress.advance = NULL;
  check_status(run_with(p, &options), SIGHTLINE_BAD_ARGUMENT, "advance of the progress is null");
  free(p);
}

static void test_plans(void) {
  Problem* p = made();
  Problem* expected = expected_of(p);
  sightline_options options = none();
  sightline_plan* plan = NULL;
  must(sightline_plan_create(&p->args, &options, &plan, message, sizeof message), "a plan");
  for (int n = 0; n < 3; ++n) {
    must(sightline_plan_run(plan, &p->args, message, sizeof message), "a call of a plan");
    check_same(p, expected, "its result");
  }
  set_keys(p, 0, 100);
  check_status(sightline_plan_run(plan, &p->args, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "than the plan");
  sightline_plan_destroy(plan);
  sightline_plan_destroy(NULL);
  check_status(sightline_plan_run(NULL, &p->args, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "plan is null");
  check_status(sightline_plan_create(&p->args, NULL, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "plan is null");
  plan = (sightline_plan*)p;
  p->args.softcap = -1;
  check_status(sightline_plan_create(&p->args, NULL, &plan, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "softcap");
  check(plan == NULL, "no plan");
  free(expected);
  free(p);
}

static sightline_state* new_state(void) {
  sightline_state* state = NULL;
  must(sightline_state_create(&state, message, sizeof message), "a state");
  check(sightline_state_is_empty(state), "is empty");
  return state;
}

/* Half of the keys in one pass, and half in another, or both halves apart. */
static void test_states(void) {
  Problem* p = made();
  Problem* expected = expected_of(p);
  sightline_state *state = new_state(), *other = new_state();
  sightline_options options = none();
  options.resume = state;
  check_status(run_with(p, &options), SIGHTLINE_BAD_ARGUMENT, "nothing in the state");
  options.resume = NULL;
  options.save = state;
  set_keys(p, 0, 64);
  must(run_with(p, &options), "the first half");
  check(!sightline_state_is_empty(state), "was saved");
  set_keys(p, 64, 64);
  options.save = other;
  must(run_with(p, &options), "the second half alone");
  options.resume = state;
  options.save = NULL;
  must(run_with(p, &options), "the second half");
  check_same(p, expected, "resumed = whole");
  must(sightline_merge_states(state, other, message, sizeof message), "both halves");
  must(sightline_finish_state(&p->args, state, message, sizeof message), "finished");
  for (int i = 0; i < kOut; ++i) check_near(p->out[i], expected->out[i], "merged = whole");
  check_status(sightline_merge_states(NULL, other, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "left is null");
  check_status(sightline_merge_states(state, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "right is null");
  check_status(sightline_finish_state(&p->args, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "state is null");
  check_status(sightline_state_create(NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "state is null");
  check(sightline_state_is_empty(NULL), "null is empty");
  sightline_state_destroy(state);
  sightline_state_destroy(other);
  sightline_state_destroy(NULL);
  free(expected);
  free(p);
}

static void test_merged_outputs(void) {
  const float a[2] = {2, 8}, b[2] = {6, 8}, lse_a[2] = {0, 1}, lse_b[2] = {logf(3), -INFINITY};
  float out[2], lse[2];
  const sightline_tensor of_a = scalars(a, 2), of_b = scalars(b, 2);
  const sightline_output to = scalars_out(out, 2);
  must(sightline_merge_outputs(&of_a, lse_a, &of_b, lse_b, &to, lse, message, sizeof message), "merged");
  check_near(out[0], (2 + 3 * 6) / 4.0, "a quarter and three");
  check_near(lse[0], log(4), "their sum");
  check(out[1] == 8 && lse[1] == 1, "an empty part is neutral");
  check_status(sightline_merge_outputs(&of_a, NULL, &of_b, lse_b, &to, lse, message, sizeof message),
               SIGHTLINE_BAD_ARGUMENT, "the first part");
  check_status(sightline_merge_outputs(&of_a, lse_a, NULL, lse_b, &to, lse, message, sizeof message),
               SIGHTLINE_BAD_ARGUMENT, "is null");
}

static void test_slopes(void) {
  float slopes[3] = {7, 7, 7};
  must(sightline_alibi_slopes(3, slopes, message, sizeof message), "slopes");
  check(slopes[0] == 0.0625f && slopes[1] == 0.00390625f && slopes[2] == 0.25f, "of three heads");
  must(sightline_alibi_slopes(0, NULL, message, sizeof message), "of none");
  check_status(sightline_alibi_slopes(3, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "slopes is null");
  check_status(sightline_alibi_slopes(-1, slopes, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "heads");
  check_status(sightline_alibi_slopes(INT64_MAX, slopes, message, sizeof message), SIGHTLINE_BAD_ARGUMENT, "heads");
}

/* Near the exact result where the machine has an instruction, refused where it has none. */
static void test_precision(void) {
  Problem* p = made();
  Problem* expected = expected_of(p);
  sightline_options options = none();
  options.precision = SIGHTLINE_FAST;
  if (sightline_fast_available()) {
    must(run_with(p, &options), "a fast call");
    check(memcmp(p->out, expected->out, sizeof p->out) != 0, "is not exact");
    for (int i = 0; i < kOut; ++i) check(fabsf(p->out[i] - expected->out[i]) < 0.02f, "but near");
  } else {
    check_status(run_with(p, &options), SIGHTLINE_BAD_ARGUMENT, "not supported");
  }
  options.precision = 2;
  check_status(run_with(p, &options), SIGHTLINE_BAD_ARGUMENT, "precision must be");
  free(expected);
  free(p);
}

/* Smaller structs are read as if the rest were 0; newer fields are refused if they ask for something. */
static void test_versions(void) {
  struct {
    sightline_options known;
    void* newer;
  } later;
  Problem* p = made();
  Watch seen = {0, 0, -1};
  sightline_progress progress = {watch, &seen};
  memset(&later, 0, sizeof later);
  later.known.struct_size = sizeof later;
  later.known.progress = &progress;
  must(run_with(p, &later.known), "a newer program that asks for nothing new");
  check(seen.done > 0, "the progress was told");
  later.newer = p;
  check_status(run_with(p, &later.known), SIGHTLINE_BAD_ARGUMENT, "newer than this library");
  later.known.struct_size = offsetof(sightline_options, progress);
  seen.done = 0;
  must(run_with(p, &later.known), "an older program");
  check(seen.done == 0, "what it does not know is not read");
  later.known.struct_size = 0;
  check_status(run_with(p, &later.known), SIGHTLINE_BAD_ARGUMENT, "struct_size");
  must(run_with(p, NULL), "no options");
  check_status(sightline_workspace_size(&p->args, NULL, NULL, message, sizeof message), SIGHTLINE_BAD_ARGUMENT,
               "bytes is null");
  free(p);
}

int main(void) {
  test_workspaces();
  test_executors();
  test_progress();
  test_plans();
  test_states();
  test_merged_outputs();
  test_slopes();
  test_precision();
  test_versions();
  return failures() != 0;
}
