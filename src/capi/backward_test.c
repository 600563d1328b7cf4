/* Gradients from C, against the chain rule by hand. With weights w, values v and dout = 1 the output is o = sum w v,
 * the gradient of a value is its weight, and that of a score is s = w (v - o): here 3/8, 22/8 and -25/8, with o = 5. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sightline/sightline.h"
#include "src/capi/testing.h"

static const float kOne = 1;

typedef struct Case {
  Example example;
  float row_max, row_sum, dq, dk[3], dv[3];
  sightline_gradients gradients;
} Case;

/* The forward pass, and gradients of queries, keys and values asked for. */
static void begin(Case* c) {
  memset(&c->gradients, 0, sizeof c->gradients);
  c->example.args.row_max = &c->row_max;
  c->example.args.row_sum = &c->row_sum;
  check(run(&c->example) == SIGHTLINE_OK, "the forward pass");
  c->gradients.struct_size = sizeof c->gradients;
  c->gradients.dout = scalars(&kOne, 1);
  c->gradients.q = scalars_out(&c->dq, 1);
  c->gradients.k = scalars_out(c->dk, 3);
  c->gradients.v = scalars_out(c->dv, 3);
}

static void backward(const Case* c) {
  char message[200];
  const int status = sightline_attention_backward(&c->example.args, &c->gradients, message, sizeof message);
  check(status == SIGHTLINE_OK && message[0] == '\0', "the backward pass");
}

static void test_queries_keys_and_values(void) {
  const double weights[3] = {1 / 8.0, 2 / 8.0, 5 / 8.0}, scores[3] = {3 / 8.0, 22 / 8.0, -25 / 8.0};
  Case c;
  set_up(&c.example);
  begin(&c);
  backward(&c);
  for (int j = 0; j < 3; ++j) {
    check_near(c.dv[j], weights[j], "the gradient of a value");
    check_near(c.dk[j], scores[j], "the gradient of a key, which a query of 1 reads");
  }
  check_near(c.dq, 22 / 8.0 * log(2) - 25 / 8.0 * log(5), "the gradient of the query");
}

static void test_learned_scores(void) {
  const float zeros[3] = {0, 0, 0};
  float dbias[3], dslope, dtable[2];
  Case c;
  set_up(&c.example);
  c.example.args.bias = (sightline_tensor){zeros, SIGHTLINE_F32, {1, 1, 1, 3}, {3, 3, 3, 1}};
  c.example.args.alibi_slopes = zeros;
  c.example.args.relative_bias.table = zeros; /* one bucket for the query's own position, one for all before it */
  c.example.args.relative_bias.buckets = 2;
  c.example.args.relative_bias.max_distance = 2;
  c.example.args.relative_bias.unidirectional = 1;
  begin(&c);
  c.gradients.bias = (sightline_output){dbias, SIGHTLINE_F32, {1, 1, 1, 3}, {3, 3, 3, 1}};
  c.gradients.alibi_slopes = &dslope;
  c.gradients.relative_bias = dtable;
  backward(&c);
  check_near(dbias[1], 22 / 8.0, "the gradient of a bias is that of its score");
  check_near(dslope, -(2 * 3 / 8.0 + 22 / 8.0), "the gradient of a slope: scores times distances 2, 1, 0, negated");
  check_near(dtable[0], -25 / 8.0, "the gradient of the first bucket");
  check_near(dtable[1], 25 / 8.0, "the gradient of the second bucket");
}

static void test_sinks(void) {
  const float eighth = logf(8); /* halves all weights; the output is 5/2 */
  float dsink;
  Case c;
  set_up(&c.example);
  c.example.args.sinks = &eighth;
  begin(&c);
  c.gradients.sinks = &dsink;
  backward(&c);
  check_near(dsink, -5 / 4.0, "the gradient of a sink, -w o");
  check_near(c.dv[2], 5 / 16.0, "the gradient of a value beside a sink");
}

static void check_refusal(const Case* c, const char* part) {
  char message[200] = "untouched";
  check(sightline_attention_backward(&c->example.args, &c->gradients, message, sizeof message) ==
                SIGHTLINE_BAD_ARGUMENT &&
            strstr(message, part) != NULL,
        part);
}

static void test_refusals(void) {
  char message[200];
  float dsink;
  Case c;
  set_up(&c.example);
  begin(&c);
  check(sightline_attention_backward(NULL, &c.gradients, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT, "args");
  check(sightline_attention_backward(&c.example.args, NULL, message, sizeof message) == SIGHTLINE_BAD_ARGUMENT &&
            strcmp(message, "gradients is null") == 0,
        "gradients is null");
  c.gradients.sinks = &dsink;
  check_refusal(&c, "sinks");
  c.gradients.sinks = NULL;
  c.gradients.dout.data = NULL;
  check_refusal(&c, "dout");
  c.gradients.dout.data = &kOne;
  c.gradients.struct_size = 8;
  check_refusal(&c, "struct_size");
  c.gradients.struct_size = sizeof c.gradients;
  c.example.args.row_sum = NULL;
  check_refusal(&c, "row_sum");
}

int main(void) {
  test_queries_keys_and_values();
  test_learned_scores();
  test_sinks();
  test_refusals();
  return failures() == 0 ? 0 : 1;
}
