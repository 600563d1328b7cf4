/* Sightline's C interface: attention and its observations behind one call. */
#ifndef SIGHTLINE_SIGHTLINE_H_
#define SIGHTLINE_SIGHTLINE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SIGHTLINE_API __attribute__((visibility("default")))
#else
#define SIGHTLINE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns. */
enum {
  SIGHTLINE_OK = 0,
  SIGHTLINE_BAD_ARGUMENT = 1,  /* what was passed cannot be used; the message says why */
  SIGHTLINE_OUT_OF_MEMORY = 2, /* memory for buffers could not be had */
  SIGHTLINE_INTERNAL_ERROR = 3 /* a fault of Sightline itself */
};

/* Element types. */
enum {
  SIGHTLINE_F32 = 0,
  SIGHTLINE_BOOL = 1 /* one byte, not 0 = true */
};

/* How causality lines queries up with keys. */
enum {
  SIGHTLINE_BOTTOM_RIGHT = 0, /* query i stands at key i + Nk - Nq */
  SIGHTLINE_TOP_LEFT = 1      /* query i stands at key i */
};

/* A strided tensor that is read. Strides are in elements; they may be 0 or negative. Null data: no tensor. */
typedef struct sightline_tensor {
  const void* data; /* element [0, 0, 0, 0] */
  int64_t dtype;
  int64_t shape[4];
  int64_t strides[4];
} sightline_tensor;

/* As sightline_tensor, for what is written. */
typedef struct sightline_output {
  void* data;
  int64_t dtype;
  int64_t shape[4];
  int64_t strides[4];
} sightline_output;

/* One sequence of the batch. */
typedef struct sightline_sequence {
  int64_t key_count;          /* keys in use, the first ones of the tensor; -1: all Nk */
  int64_t key_position;       /* position of key 0, >= 0 */
  int64_t has_query_position; /* 0: the alignment decides where query 0 stands */
  int64_t query_position;     /* position of query 0 */
} sightline_sequence;

/* A problem, and what to observe of it. Begin with all bytes 0, which is the default of every field but struct_size, q,
 * k and v. Fields have the meanings of AttentionProblem and Observations in sightline/attention.h.
 *
 * struct_size is sizeof(sightline_attention_args) as the caller was compiled. The struct grows at its end only: a
 * smaller one is read as if the rest were 0, a larger one is refused if what this library does not know is not 0. */
typedef struct sightline_attention_args {
  size_t struct_size;

  sightline_tensor q;   /* [B, Hq, Nq, D] */
  sightline_tensor k;   /* [B, Hkv, Nk, D] */
  sightline_tensor v;   /* [B, Hkv, Nk, Dv] */
  sightline_output out; /* [B, Hq, Nq, Dv]; null data when only observations are wanted */

  int32_t threads;   /* 0: as many as the machine has */
  int32_t has_scale; /* 0: the scale is 1/sqrt(D) */
  float scale;
  int32_t causal; /* not 0: hide keys that stand after the query */
  int64_t alignment;
  sightline_tensor mask;               /* SIGHTLINE_BOOL, true = attend; axes of [B, Hq, Nq, Nk] may have size 1 */
  sightline_tensor bias;               /* SIGHTLINE_F32, added to the scaled score; broadcasts as the mask */
  const sightline_sequence* sequences; /* [sequence_count], B or none */
  int64_t sequence_count;

  /* Observations: dense arrays of the caller's, each null where not asked for. */
  float* row_max;  /* [B, Hq, Nq] */
  float* row_sum;  /* [B, Hq, Nq] */
  float* lse;      /* [B, Hq, Nq] */
  float* entropy;  /* [B, Hq, Nq] nats */
  float* position; /* [B, Hq, Nq] */
  float* distance; /* [B, Hq, Nq] */

  int64_t top_k;       /* 1..64 where top keys are asked for */
  int32_t* topk_index; /* [B, Hq, Nq, top_k] */
  float* topk_weight;  /* [B, Hq, Nq, top_k] */

  const int64_t* offsets; /* [offset_count] key position minus query position */
  int64_t offset_count;
  float* offset_mass; /* [B, Hq, Nq, offset_count] */

  float* key_mass; /* [B, Hq, Nk] over rows mass_row_begin to mass_row_end - 1 */
  int64_t mass_row_begin;
  int64_t mass_row_end; /* 0: to the last row */

  const int32_t* segment_of_key; /* [segment_key_count], Nk or B * Nk; -1 = none */
  int64_t segment_key_count;
  int64_t segments;
  float* segment_mass; /* [B, Hq, Nq, segments] */

  int64_t overview_rows, overview_cols;
  float* overview; /* [B, Hq, overview_rows, overview_cols] */

  const int64_t* rows; /* [row_count] chosen rows, 0..Nq-1 */
  int64_t row_count;
  float* row_weights; /* [B, Hq, row_count, Nk] */
} sightline_attention_args;

/* Computes out = softmax(scale * q k^T, masked) v and the observations asked for, in one pass. Returns SIGHTLINE_OK or
 * what went wrong; then message, where it is not null, receives one line that says so, cut to message_size - 1 bytes
 * (an empty line on success). May be called from several threads at once. After a failure what is written is not
 * defined. */
SIGHTLINE_API int sightline_attention(const sightline_attention_args* args, char* message, size_t message_size);

/* The version of the order of floating-point operations: libraries with the same one give the same bits. */
SIGHTLINE_API int sightline_arithmetic_version(void);

/* The SIMD target in use: "AVX3" (AVX-512), "AVX2", "NEON" or "SCALAR". The environment variable SIGHTLINE_TARGET
 * forces one; null where it names one that cannot be used (then sightline_attention says why). */
SIGHTLINE_API const char* sightline_simd_target(void);

#ifdef __cplusplus
}
#endif

#endif /* SIGHTLINE_SIGHTLINE_H_ */
