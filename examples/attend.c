/* Attention from C: four tokens, one head, and where each of them looked.
 *
 *     cc attend.c $(pkg-config --cflags --libs sightline) -Wl,-rpath,$(pkg-config --variable=libdir sightline) -lm
 *
 * The numbers are chosen so that the weights come out even: scores are logarithms, which the softmax undoes. */
#include <math.h>
#include <sightline/sightline.h>
#include <stdio.h>

enum { kTokens = 4 };

/* A tensor [batch, heads, sequence, width] of one batch, one head and numbers of width 1. */
static sightline_tensor column(const float* data) {
  sightline_tensor tensor = {data, SIGHTLINE_F32, {1, 1, kTokens, 1}, {kTokens, kTokens, 1, 1}};
  return tensor;
}

int main(void) {
  /* Every query is 1, so the score of key j is k[j], and its weight is in proportion to exp(k[j]) = 1, 1, 2, 4. */
  const float q[kTokens] = {1, 1, 1, 1};
  const float k[kTokens] = {0, 0, logf(2), logf(4)};
  const float v[kTokens] = {8, 0, 16, 32};
  const float expected[kTokens] = {8, 4, (8 + 2 * 16) / 4.0f, (8 + 2 * 16 + 4 * 32) / 8.0f};
  float out[kTokens], entropy[kTokens];
  int32_t top[kTokens];

  /* Bytes of 0 are the default of every field; what is set is what is asked for. */
  sightline_attention_args args = {0};
  args.struct_size = sizeof args;
  args.q = column(q);
  args.k = column(k);
  args.v = column(v);
  args.out = (sightline_output){out, SIGHTLINE_F32, {1, 1, kTokens, 1}, {kTokens, kTokens, 1, 1}};
  args.causal = 1; /* a token sees itself and those before it */
  args.entropy = entropy;
  args.top_k = 1;
  args.topk_index = top;

  char message[200];
  if (sightline_attention(&args, message, sizeof message) != SIGHTLINE_OK) {
    fprintf(stderr, "attend: %s\n", message);
    return 1;
  }

  printf("Sightline %s, arithmetic %d, %s\n", sightline_version(), sightline_arithmetic_version(),
         sightline_simd_target());
  printf("token  output  looks most at  entropy\n");
  int wrong = 0;
  for (int i = 0; i < kTokens; ++i) {
    printf("%5d  %6.3f  %13d  %7.3f\n", i, out[i], top[i], entropy[i]);
    if (!(fabsf(out[i] - expected[i]) <= 1e-5f)) wrong = 1;
  }
  if (wrong) fprintf(stderr, "attend: an output is not what it must be\n");
  return wrong;
}
