/* Sightline's C interface: keys and values of the tokens so far, in pages of a pool. KvCache in sightline/kv_cache.h
 * says more of each function. */
#ifndef SIGHTLINE_SIGHTLINE_CACHE_H_
#define SIGHTLINE_SIGHTLINE_CACHE_H_

#include "sightline/sightline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every function that has a message returns a status, as sightline_attention does. After SIGHTLINE_BAD_ARGUMENT and
 * SIGHTLINE_OUT_OF_MEMORY a cache is what it was before the call. */

typedef struct sightline_cache sightline_cache;
/* Where the tokens of a batch of sequences lie: made once, filled for each step of decoding. */
typedef struct sightline_cache_view sightline_cache_view;
/* A sequence of a cache. 0 is none, and one that was freed names no other sequence. */
typedef uint64_t sightline_sequence_id;

/* Begin with all bytes 0. struct_size is as in sightline_attention_args. */
typedef struct sightline_cache_options {
  size_t struct_size;
  int64_t layers; /* 0: 1 */
  int64_t kv_heads;
  int64_t key_width;
  int64_t value_width;
  int64_t values_in_keys; /* not 0: values are the first columns of the keys, kept once */
  int64_t dtype;          /* as kept: F32, F16, BF16, I8_ROW or Q4_1 */
  int64_t page_size;      /* tokens a page, at least 16; 0: 64 */
  int64_t page_count;     /* pages of the pool */
  int64_t max_sequences;  /* at one time; 0: 1 */
  int64_t max_tokens;     /* that a sequence keeps; 0: what the pool holds */
  int64_t window;         /* > 0: tokens that a query sees, its own included; older ones go */
  int64_t touch;          /* not 0: writes to the memory at once, so that none is faulted in later */
  int64_t no_huge_pages;  /* not 0: does not ask the system for large pages */
} sightline_cache_options;

SIGHTLINE_API int sightline_cache_create(const sightline_cache_options* options, sightline_cache** cache, char* message,
                                         size_t message_size);
SIGHTLINE_API void sightline_cache_destroy(sightline_cache* cache);

/* A sequence without tokens; one with the same tokens as another, shared until either changes. */
SIGHTLINE_API int sightline_cache_begin(sightline_cache* cache, sightline_sequence_id* sequence, char* message,
                                        size_t message_size);
SIGHTLINE_API int sightline_cache_fork(sightline_cache* cache, sightline_sequence_id sequence,
                                       sightline_sequence_id* forked, char* message, size_t message_size);
/* Forgets a sequence; forgets its tokens from `length` on. */
SIGHTLINE_API int sightline_cache_free(sightline_cache* cache, sightline_sequence_id sequence, char* message,
                                       size_t message_size);
SIGHTLINE_API int sightline_cache_truncate(sightline_cache* cache, sightline_sequence_id sequence, int64_t length,
                                           char* message, size_t message_size);

/* Makes room for `tokens` more tokens of each of `count` sequences, of all or none; then write fills them, layer by
 * layer, with k [count, Hkv, n, D] and v [count, Hkv, n, Dv], the last n tokens of each (v null where values are in
 * keys). */
SIGHTLINE_API int sightline_cache_extend(sightline_cache* cache, const sightline_sequence_id* sequences, int64_t count,
                                         int64_t tokens, char* message, size_t message_size);
SIGHTLINE_API int sightline_cache_write(sightline_cache* cache, int64_t layer, const sightline_sequence_id* sequences,
                                        int64_t count, const sightline_tensor* k, const sightline_tensor* v,
                                        char* message, size_t message_size);

/* Tokens of a sequence, those that a window gave back too: the position of the next one. */
SIGHTLINE_API int sightline_cache_length(const sightline_cache* cache, sightline_sequence_id sequence, int64_t* length,
                                         char* message, size_t message_size);
/* Of a cache; -1 of null. */
SIGHTLINE_API int64_t sightline_cache_pages_in_use(const sightline_cache* cache);
SIGHTLINE_API int64_t sightline_cache_bytes(const sightline_cache* cache);

SIGHTLINE_API int sightline_cache_view_create(sightline_cache_view** view, char* message, size_t message_size);
SIGHTLINE_API void sightline_cache_view_destroy(sightline_cache_view* view);
/* Fills a view with the pages of these sequences, for all layers. It holds until the cache changes otherwise than by
 * write. */
SIGHTLINE_API int sightline_cache_fill(const sightline_cache* cache, const sightline_sequence_id* sequences,
                                       int64_t count, sightline_cache_view* view, char* message, size_t message_size);
/* Lets args, whose q and window are set, read a layer: sets k, v, pages and sequences, which point into the view and
 * the cache. */
SIGHTLINE_API int sightline_cache_bind(const sightline_cache* cache, const sightline_cache_view* view, int64_t layer,
                                       sightline_attention_args* args, char* message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* SIGHTLINE_SIGHTLINE_CACHE_H_ */
