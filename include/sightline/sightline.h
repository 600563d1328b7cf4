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
  SIGHTLINE_BAD_ARGUMENT = 1,   /* what was passed cannot be used; the message says why */
  SIGHTLINE_OUT_OF_MEMORY = 2,  /* memory for buffers could not be had */
  SIGHTLINE_INTERNAL_ERROR = 3, /* a fault of Sightline itself */
  SIGHTLINE_STOPPED = 4         /* a function of the caller's returned what means: stop */
};

/* Element types. The last two pack a row of keys or values. */
enum {
  SIGHTLINE_F32 = 0,
  SIGHTLINE_BOOL = 1, /* one byte, not 0 = true */
  SIGHTLINE_F16 = 2,
  SIGHTLINE_BF16 = 3,
  SIGHTLINE_I8_ROW = 4, /* an f32 scale, then one i8 an element: i8 * scale */
  SIGHTLINE_Q4_1 = 5 /* blocks of 32 elements in 20 bytes: an f16 scale, an f16 minimum, then 16 bytes whose low halves
                        are elements 0-15 and whose high halves 16-31: q * scale + minimum */
};

/* How causality lines queries up with keys. */
enum {
  SIGHTLINE_BOTTOM_RIGHT = 0, /* query i stands at key i + Nk - Nq */
  SIGHTLINE_TOP_LEFT = 1      /* query i stands at key i */
};

/* What is ranked and summed over keys. */
enum {
  SIGHTLINE_WEIGHT = 0,      /* w */
  SIGHTLINE_VALUE_WEIGHT = 1 /* w ||v|| */
};

/* What a mask function shows of a tile. */
enum { SIGHTLINE_SEES_NOTHING = 0, SIGHTLINE_SEES_PART = 1, SIGHTLINE_SEES_ALL = 2 };

/* What a tile of the map holds. */
enum {
  SIGHTLINE_RAW = 0,    /* scale * dot */
  SIGHTLINE_CAPPED = 1, /* after the softcap */
  SIGHTLINE_BIASED = 2, /* after biases and masks; hidden = -inf */
  SIGHTLINE_WEIGHTS = 3 /* softmax weights; hidden = 0 */
};

/* A strided tensor that is read. Strides are in elements (of packed types in bytes, the last one not read); they may be
 * 0 or negative. Null data: no tensor. */
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
  int64_t key_position;       /* position of key 0; below 0 (left padding), keys before position 0 are hidden */
  int64_t has_query_position; /* 0: the alignment decides where query 0 stands */
  int64_t query_position;     /* position of query 0 */
} sightline_sequence;

/* Keys and values in pages of a pool: key j of sequence b lies in slot j % page_size of page table[b * table_stride +
 * j / page_size]. The data of k and v is then the pool, and the first of their strides is not read. Null table: none.
 */
typedef struct sightline_page_table {
  const int32_t* table; /* [B, table_stride] */
  int64_t table_stride;
  int64_t page_size;     /* keys a page */
  int64_t page_count;    /* of the pool */
  int64_t k_page_stride; /* elements from a page of k to the next (bytes of packed types) */
  int64_t v_page_stride;
} sightline_page_table;

/* A learned bias for each bucket of distances (T5). Null table: none. */
typedef struct sightline_relative_bias {
  const float* table;     /* [buckets, Hq] */
  int64_t buckets;        /* 0: 32 */
  int64_t max_distance;   /* 0: 128 */
  int64_t unidirectional; /* not 0: keys after the query share bucket 0 */
} sightline_relative_bias;

/* Edges taken out of the map: rows listed do not see keys listed, in heads listed. A count of 0 means all. */
typedef struct sightline_edge_cut {
  int64_t batch; /* sequence; -1: all */
  const int64_t* heads;
  int64_t head_count;
  const int64_t* rows;
  int64_t row_count;
  const int64_t* keys;
  int64_t key_count;
} sightline_edge_cut;

/* A block of 64 rows x 64 keys that is seen. */
typedef struct sightline_block {
  int32_t column; /* keys 64 column to 64 column + 63; ascending within a block row */
  int32_t bits;   /* -1: all of it; else bits[64 * this + row % 64], bit s for key 64 column + s */
} sightline_block;

/* Block row r of plane p sees the blocks row_begin[p * block rows + r] to row_begin[p * block rows + r + 1] - 1, and no
 * others. Null row_begin: no block mask. */
typedef struct sightline_block_mask {
  int64_t batch, heads; /* planes, each 1 or in full; 0: 1 */
  const int64_t* row_begin;
  int64_t row_begin_count; /* batch * heads * ceil(Nq / 64) + 1 */
  const sightline_block* blocks;
  int64_t block_count;
  const uint64_t* bits;
  int64_t bits_count;
} sightline_block_mask;

/* A rectangle of scores that a function of the caller's works on: scores[row * row_stride + key * key_stride]. One of
 * the strides is 1. */
typedef struct sightline_score_tile {
  float* scores; /* null where a mask is asked for a summary */
  int64_t row_stride, key_stride;
  int64_t rows, keys;
  int64_t batch, head;
  int64_t first_row, first_key;       /* indexes of the tensors (packed: of the sequence) */
  int64_t row_position, key_position; /* where those stand in the sequence */
} sightline_score_tile;

/* Changes scores. Called from any thread, and for keys that a mask then hides; the result must not depend on how the
 * map is cut into tiles. Returns 0, or anything else to make the call end with SIGHTLINE_STOPPED. */
typedef struct sightline_score_function {
  int (*apply)(void* user, const sightline_score_tile* tile); /* null: none */
  void* user;
} sightline_score_function;

/* Hides keys. Called from any thread. */
typedef struct sightline_mask_function {
  /* SIGHTLINE_SEES_NOTHING lets the tile be skipped, _ALL the call of hide; null: always _PART. Anything else ends the
   * call with SIGHTLINE_STOPPED. */
  int (*summary)(void* user, const sightline_score_tile* tile);
  /* Sets the scores of hidden pairs to -inf. Returns as a score function does. Null: there is no mask function. */
  int (*hide)(void* user, const sightline_score_tile* tile);
  void* user;
} sightline_mask_function;

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
  sightline_tensor bias;               /* added to the score, F32, F16 or BF16; broadcasts as the mask */
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

  /* The rest of the problem. */
  int32_t has_window;                /* not 0: window_left and window_right hold */
  float softcap;                     /* c > 0: scores become c * tanh(score / c) */
  int64_t window_left, window_right; /* keys visible before and after the query's own position; -1: all */
  const float* alibi_slopes;         /* [Hq] or null: score - slope * |query position - key position| */
  const float* sinks;                /* [Hq] or null: one more logit in the denominator */
  const float* head_scale;           /* [Hq] or null: factor of each head's output */
  sightline_page_table pages;
  sightline_relative_bias relative_bias;
  const sightline_edge_cut* cuts; /* [cut_count] */
  int64_t cut_count;
  sightline_block_mask block_mask;
  const int32_t* tree_parents; /* [tree_parent_count], Nq or B * Nq or none: the last keys are nodes of a forest */
  int64_t tree_parent_count;
  const int32_t* cu_seqlens_q; /* [cu_seqlen_count]: packed sequences, one more than there are, or none */
  const int32_t* cu_seqlens_k;
  int64_t cu_seqlen_count;
  sightline_tensor keep; /* SIGHTLINE_BOOL, dropout: false = the weight is not mixed; broadcasts as the mask */
  float keep_scale;      /* factor of the weights that are mixed; 0: 1 */
  float mass_decay;      /* with each position after it a row's mass counts this much less; 0: 1 */
  sightline_score_function score_function;
  sightline_mask_function mask_function;

  /* The rest of the observations. */
  int64_t measure;          /* what top-k ranks by and masses and the overview sum */
  float* sink_weight;       /* [B, Hq, Nq] */
  float* entropy_with_sink; /* [B, Hq, Nq] */
  float* mass_sums;         /* [B, Hq, 16, mass_sums_keys] running mass, which the call adds its rows to */
  int64_t mass_sums_keys;   /* room, at least Nk */
  int64_t overview_step;    /* above 0: bins of so many rows and keys */
} sightline_attention_args;

/* A block of one head's map. */
typedef struct sightline_tile_range {
  int64_t batch, head;
  int64_t row_begin, row_end; /* rows row_begin to row_end - 1 */
  int64_t key_begin, key_end;
} sightline_tile_range;

/* Gradients of a loss from dout, its gradient of the output. Null data: not asked for. They are written, not added to,
 * and are SIGHTLINE_F32. struct_size is as in sightline_attention_args. */
typedef struct sightline_gradients {
  size_t struct_size;
  sightline_tensor dout; /* [B, Hq, Nq, Dv] */
  sightline_output q, k, v;
  sightline_output bias; /* the shape of the bias, summed over the axes that it broadcasts */
  float* sinks;          /* [Hq] */
  float* alibi_slopes;   /* [Hq] */
  float* relative_bias;  /* [buckets, Hq] */
} sightline_gradients;

/* Computes out = softmax(scale * q k^T, masked) v and the observations asked for, in one pass. Returns SIGHTLINE_OK or
 * what went wrong; then message, where it is not null, receives one line that says so, cut to message_size - 1 bytes
 * (an empty line on success). May be called from several threads at once. After a failure what is written is not
 * defined. */
SIGHTLINE_API int sightline_attention(const sightline_attention_args* args, char* message, size_t message_size);

/* Writes a block of the map at a stage to out, dense [rows, keys]. For SIGHTLINE_WEIGHTS args->row_max and row_sum are
 * what sightline_attention wrote there for the same problem; other observations and args->out are not looked at.
 * Returns as sightline_attention does. */
SIGHTLINE_API int sightline_tile(const sightline_attention_args* args, const sightline_tile_range* range, int64_t stage,
                                 float* out, char* message, size_t message_size);

/* Computes the gradients asked for, in one pass. args are those of the forward pass, with what it wrote to out, row_max
 * and row_sum; other observations are not looked at. Returns as sightline_attention does. */
SIGHTLINE_API int sightline_attention_backward(const sightline_attention_args* args,
                                               const sightline_gradients* gradients, char* message,
                                               size_t message_size);

/* The version of the library, as SIGHTLINE_VERSION in sightline/version.h is that of the headers. */
SIGHTLINE_API const char* sightline_version(void);

/* The version of the order of floating-point operations: libraries with the same one give the same bits. */
SIGHTLINE_API int sightline_arithmetic_version(void);

/* The SIMD target in use: "AVX3" (AVX-512), "AVX2", "NEON" or "SCALAR". The environment variable SIGHTLINE_TARGET
 * forces one; null where it names one that cannot be used (then sightline_attention says why). */
SIGHTLINE_API const char* sightline_simd_target(void);

#ifdef __cplusplus
}
#endif

#endif /* SIGHTLINE_SIGHTLINE_H_ */
