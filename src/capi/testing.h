/* What tests of the C interface share. The one example: a query that sees keys whose scores are the logarithms of 1, 2
 * and 5, so that their weights are 1/8, 2/8 and 5/8; their values are 8, 16 and 0. */
#ifndef SIGHTLINE_CAPI_TESTING_H_
#define SIGHTLINE_CAPI_TESTING_H_

#include "sightline/sightline.h"

typedef struct Example {
  float q[1], k[3], v[3], out[1];
  sightline_attention_args args;
} Example;

void set_up(Example* e);
/* One head of scalars: [1, 1, length, 1]. */
sightline_tensor scalars(const float* data, int64_t length);
sightline_output scalars_out(float* data, int64_t length);
int run(const Example* e);

void check(int holds, const char* what);
void check_near(float got, double expected, const char* what);
/* Calls, and looks for a status and for part of its message. */
void check_refused(const sightline_attention_args* args, const char* part);
/* How many checks did not hold. */
int failures(void);

#endif /* SIGHTLINE_CAPI_TESTING_H_ */
