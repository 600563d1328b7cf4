/* Sightline's C interface: how calls run. Memory that is reused, the caller's allocator and threads, progress, plans,
 * and states of passes over parts of the keys. sightline/execution.h and sightline/state.h say more of each. */
#ifndef SIGHTLINE_SIGHTLINE_EXECUTION_H_
#define SIGHTLINE_SIGHTLINE_EXECUTION_H_

#include "sightline/sightline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every function that has a message returns a status, as sightline_attention does. Functions of the caller's are called
 * from any thread of a call, and must not leave by longjmp or an exception. */

/* Where memory comes from. allocate returns `bytes` bytes at a multiple of `alignment`, a power of two, or null where
 * there are none; bytes may be 0. deallocate is told what allocate was. */
typedef struct sightline_allocator {
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*deallocate)(void* user, void* data, size_t bytes, size_t alignment);
  void* user;
} sightline_allocator;

/* Gives memory in pages of 2 MiB where the system has them, untouched, so that a page lies near the thread that first
 * writes it. */
SIGHTLINE_API const sightline_allocator* sightline_huge_pages(void);

/* Memory that calls reuse one after the other; two at once are refused. */
typedef struct sightline_workspace sightline_workspace;

/* allocator: null, or where all memory of the workspace comes from; it is copied, and what its `user` points to must
 * outlive the workspace. */
SIGHTLINE_API int sightline_workspace_create(const sightline_allocator* allocator, sightline_workspace** workspace,
                                             char* message, size_t message_size);
SIGHTLINE_API void sightline_workspace_destroy(sightline_workspace* workspace);
/* Grows to `bytes` at least. */
SIGHTLINE_API int sightline_workspace_reserve(sightline_workspace* workspace, size_t bytes, char* message,
                                              size_t message_size);
/* Bytes held; 0 of null. Not while a call uses the workspace. */
SIGHTLINE_API size_t sightline_workspace_capacity(const sightline_workspace* workspace);

/* Threads of the caller's. run calls body(data) `count` times, at once where it can, and returns 0 when all have
 * returned; anything else makes the call end with SIGHTLINE_STOPPED. Fewer calls, and late ones, do no harm. A thread
 * that is inside a body must not begin another body. */
typedef struct sightline_executor {
  int64_t concurrency; /* how many bodies may run at once, at least 1 */
  int (*run)(void* user, int64_t count, void (*body)(void* data), void* data);
  void* user;
} sightline_executor;

/* Told of what is done, by one thread at a time. advance returns 0, or anything else to make the call end with
 * SIGHTLINE_STOPPED; what was written until then is incomplete. */
typedef struct sightline_progress {
  int (*advance)(void* user, int64_t done, int64_t total);
  void* user;
} sightline_progress;

/* What the rows of a problem have seen after a pass over some of their keys. */
typedef struct sightline_state sightline_state;

SIGHTLINE_API int sightline_state_create(sightline_state** state, char* message, size_t message_size);
SIGHTLINE_API void sightline_state_destroy(sightline_state* state);
/* Not 0: nothing was saved yet (or the state is null). */
SIGHTLINE_API int sightline_state_is_empty(const sightline_state* state);

/* The arithmetic of a call. */
enum {
  SIGHTLINE_EXACT = 0, /* fp32 */
  SIGHTLINE_FAST = 1   /* products on bf16, summed in fp32; refused where the machine has no instruction for it */
};

/* Not 0: this machine has an instruction for SIGHTLINE_FAST. The first call asks the kernel for permission to use AMX
 * tiles, where the machine has them. */
SIGHTLINE_API int sightline_fast_available(void);

/* How a call runs. Begin with all bytes 0. struct_size is as in sightline_attention_args; the structs pointed to do not
 * grow. The threads are those of the args. */
typedef struct sightline_options {
  size_t struct_size;
  const sightline_executor* executor; /* null: Sightline's threads */
  sightline_workspace* workspace;     /* null: from the heap */
  const sightline_progress* progress; /* null: not told */
  const sightline_state* resume;      /* the state to go on from, or null */
  sightline_state* save;              /* where to save what a later pass resumes from, or null */
  int64_t precision;                  /* SIGHTLINE_EXACT or SIGHTLINE_FAST */
} sightline_options;

/* As sightline_attention. options: null, or how the call runs. */
SIGHTLINE_API int sightline_attention_run(const sightline_attention_args* args, const sightline_options* options,
                                          char* message, size_t message_size);

/* Bytes that a workspace needs so that the call takes no memory from elsewhere (but for a state that is saved). */
SIGHTLINE_API int sightline_workspace_size(const sightline_attention_args* args, const sightline_options* options,
                                           size_t* bytes, char* message, size_t message_size);

/* What is worked out once for problems that differ only in their numbers, as the layers of a model do. What options
 * point to must outlive the plan. */
typedef struct sightline_plan sightline_plan;

SIGHTLINE_API int sightline_plan_create(const sightline_attention_args* args, const sightline_options* options,
                                        sightline_plan** plan, char* message, size_t message_size);
SIGHTLINE_API void sightline_plan_destroy(sightline_plan* plan);
/* As sightline_attention_run with the plan's options and threads, of args that have the plan's shapes, sequences and
 * kinds of masks. */
SIGHTLINE_API int sightline_plan_run(sightline_plan* plan, const sightline_attention_args* args, char* message,
                                     size_t message_size);

/* left = left merged with right, states of the same queries over different keys. */
SIGHTLINE_API int sightline_merge_states(sightline_state* left, const sightline_state* right, char* message,
                                         size_t message_size);
/* Writes what the keys of the state come to, to the out and the observations of args, which are those of any of the
 * passes. */
SIGHTLINE_API int sightline_finish_state(const sightline_attention_args* args, const sightline_state* state,
                                         char* message, size_t message_size);

/* Joins finished outputs of passes over different keys, F32 [B, Hq, Nq, Dv], by their log-sum-exps, [B, Hq, Nq]. out
 * and lse may be those of a or b; lse may be null. */
SIGHTLINE_API int sightline_merge_outputs(const sightline_tensor* out_a, const float* lse_a,
                                          const sightline_tensor* out_b, const float* lse_b,
                                          const sightline_output* out, float* lse, char* message, size_t message_size);

/* Writes ALiBi's slopes for any number of heads, [heads]. */
SIGHTLINE_API int sightline_alibi_slopes(int64_t heads, float* slopes, char* message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* SIGHTLINE_SIGHTLINE_EXECUTION_H_ */
