#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/kv_cache.h"
#include "sightline/sightline_cache.h"
#include "src/capi/arguments.h"
#include "src/capi/convert.h"
#include "src/capi/status.h"

struct sightline_cache {
  sightline::KvCache cache;
};

struct sightline_cache_view {
  sightline::KvView view;
  std::vector<sightline_sequence> sequences;  // those of the view, as C programs read them
};

namespace sightline::capi {
namespace {

// An id is the slot plus one, so that 0 is none, and above it the generation.
sightline_sequence_id packed(SequenceId id) {
  return static_cast<std::uint64_t>(id.generation) << 32 | (static_cast<std::uint32_t>(id.slot) + 1);
}

SequenceId sequence(sightline_sequence_id id) {
  return {static_cast<std::int32_t>(static_cast<std::uint32_t>(id) - 1), static_cast<std::uint32_t>(id >> 32)};
}

std::vector<SequenceId> sequences(const sightline_sequence_id* ids, std::int64_t count) {
  std::vector<SequenceId> all;
  for (const sightline_sequence_id id : array(ids, count, "sequences is null or its count negative")) {
    all.push_back(sequence(id));
  }
  return all;
}

template <class T>
T& given(T* pointer, const char* otherwise) {
  require(pointer != nullptr, otherwise);
  return *pointer;
}

template <class Cache>
auto& cache_of(Cache* passed) {
  return given(passed, "cache is null").cache;
}

KvCacheOptions options(const sightline_cache_options* passed) {
  const auto o =
      read_struct(&given(passed, "options is null"), sizeof(sightline_cache_options), "sightline_cache_options");
  KvCacheOptions options;
  options.layers = or_default(o.layers, options.layers);
  options.kv_heads = o.kv_heads;
  options.key_width = o.key_width;
  options.value_width = o.value_width;
  options.values_in_keys = o.values_in_keys != 0;
  options.dtype = dtype(o.dtype);
  options.page_size = or_default(o.page_size, options.page_size);
  options.page_count = o.page_count;
  options.max_sequences = or_default(o.max_sequences, options.max_sequences);
  options.max_tokens = o.max_tokens;
  options.window = o.window;
  options.touch = o.touch != 0;
  options.huge_pages = o.no_huge_pages == 0;
  return options;
}

void fill(const KvCache& cache, std::span<const SequenceId> ids, sightline_cache_view& filled) {
  cache.view(ids, filled.view);
  filled.sequences.clear();
  for (const SequenceSpan& span : filled.view.sequences) {
    filled.sequences.push_back({span.key_count, span.key_position, 0, 0});
  }
}

void bind(const KvCache& cache, const sightline_cache_view& filled, std::int64_t layer,
          sightline_attention_args& args) {
  require(args.struct_size >= offsetof(sightline_attention_args, relative_bias),
          "args has no pages: struct_size must be sizeof(sightline_attention_args)");
  AttentionProblem problem;
  problem.q.shape = std::to_array(args.q.shape);
  problem.alignment = alignment(args.alignment);
  if (args.has_window != 0) problem.window_left = args.window_left;
  cache.bind(filled.view, layer, problem);
  args.k = in_c(problem.k);
  args.v = in_c(problem.v);
  const PageTable& p = problem.pages;
  args.pages = {p.table, p.table_stride, p.page_size, p.page_count, p.k_page_stride, p.v_page_stride};
  args.sequences = filled.sequences.data();
  args.sequence_count = static_cast<std::int64_t>(filled.sequences.size());
}

}  // namespace
}  // namespace sightline::capi

namespace capi = sightline::capi;

int sightline_cache_create(const sightline_cache_options* options, sightline_cache** cache, char* message,
                           size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    sightline_cache*& made = capi::given(cache, "cache is null");
    made = new sightline_cache{sightline::KvCache(capi::options(options))};
  });
}

void sightline_cache_destroy(sightline_cache* cache) { delete cache; }

int sightline_cache_begin(sightline_cache* cache, sightline_sequence_id* sequence, char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    sightline_sequence_id& id = capi::given(sequence, "sequence is null");
    id = capi::packed(capi::cache_of(cache).create());
  });
}

int sightline_cache_fork(sightline_cache* cache, sightline_sequence_id sequence, sightline_sequence_id* forked,
                         char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    sightline_sequence_id& id = capi::given(forked, "forked is null");
    id = capi::packed(capi::cache_of(cache).fork(capi::sequence(sequence)));
  });
}

int sightline_cache_free(sightline_cache* cache, sightline_sequence_id sequence, char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] { capi::cache_of(cache).free(capi::sequence(sequence)); });
}

int sightline_cache_truncate(sightline_cache* cache, sightline_sequence_id sequence, int64_t length, char* message,
                             size_t message_size) {
  return capi::guarded({message, message_size},
                       [&] { capi::cache_of(cache).truncate(capi::sequence(sequence), length); });
}

int sightline_cache_extend(sightline_cache* cache, const sightline_sequence_id* sequences, int64_t count,
                           int64_t tokens, char* message, size_t message_size) {
  return capi::guarded({message, message_size},
                       [&] { capi::cache_of(cache).extend(capi::sequences(sequences, count), tokens); });
}

int sightline_cache_write(sightline_cache* cache, int64_t layer, const sightline_sequence_id* sequences, int64_t count,
                          const sightline_tensor* k, const sightline_tensor* v, char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    const auto keys = capi::view<sightline::TensorView>(capi::given(k, "k is null"));
    const auto values = v == nullptr ? sightline::TensorView{} : capi::view<sightline::TensorView>(*v);
    capi::cache_of(cache).write(layer, capi::sequences(sequences, count), keys, values);
  });
}

int sightline_cache_length(const sightline_cache* cache, sightline_sequence_id sequence, int64_t* length, char* message,
                           size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    capi::given(length, "length is null") = capi::cache_of(cache).length(capi::sequence(sequence));
  });
}

int64_t sightline_cache_pages_in_use(const sightline_cache* cache) {
  return cache == nullptr ? -1 : cache->cache.pages_in_use();
}

int64_t sightline_cache_bytes(const sightline_cache* cache) { return cache == nullptr ? -1 : cache->cache.bytes(); }

int sightline_cache_view_create(sightline_cache_view** view, char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    sightline_cache_view*& made = capi::given(view, "view is null");
    made = new sightline_cache_view{};
  });
}

void sightline_cache_view_destroy(sightline_cache_view* view) { delete view; }

int sightline_cache_fill(const sightline_cache* cache, const sightline_sequence_id* sequences, int64_t count,
                         sightline_cache_view* view, char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    capi::fill(capi::cache_of(cache), capi::sequences(sequences, count), capi::given(view, "view is null"));
  });
}

int sightline_cache_bind(const sightline_cache* cache, const sightline_cache_view* view, int64_t layer,
                         sightline_attention_args* args, char* message, size_t message_size) {
  return capi::guarded({message, message_size}, [&] {
    capi::bind(capi::cache_of(cache), capi::given(view, "view is null"), layer, capi::given(args, "args is null"));
  });
}
