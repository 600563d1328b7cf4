#include "src/capi/testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failed = 0;

int failures(void) { return failed; }

void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "failed: %s\n", what);
  ++failed;
}

void check_near(float got, double expected, const char* what) {
  if (got == expected || fabs(got - expected) <= 2e-6 * fmax(1.0, fabs(expected))) return;
  fprintf(stderr, "failed: %s is %.9g, not %.9g\n", what, got, expected);
  ++failed;
}

sightline_tensor scalars(const float* data, int64_t length) {
  sightline_tensor tensor = {data, SIGHTLINE_F32, {1, 1, length, 1}, {length, length, 1, 1}};
  return tensor;
}

sightline_output scalars_out(float* data, int64_t length) {
  sightline_output tensor = {data, SIGHTLINE_F32, {1, 1, length, 1}, {length, length, 1, 1}};
  return tensor;
}

void set_up(Example* e) {
  memset(e, 0, sizeof *e);
  e->q[0] = 1;
  e->k[1] = logf(2);
  e->k[2] = logf(5);
  e->v[0] = 8;
  e->v[1] = 16;
  e->args.struct_size = sizeof e->args;
  e->args.q = scalars(e->q, 1);
  e->args.k = scalars(e->k, 3);
  e->args.v = scalars(e->v, 3);
  e->args.out = scalars_out(e->out, 1);
  e->args.threads = 1;
}

int run(const Example* e) { return sightline_attention(&e->args, NULL, 0); }

void check_refused(const sightline_attention_args* args, const char* part) {
  char message[200] = "untouched";
  check(sightline_attention(args, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT, part);
  if (strstr(message, part) != NULL) return;
  fprintf(stderr, "failed: \"%s\" does not say \"%s\"\n", message, part);
  ++failed;
}
