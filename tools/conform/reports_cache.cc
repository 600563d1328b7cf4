// Cases in which calls, or parts of a call, must agree: caches, chunks, batches, packed sequences, far-away tensors.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "sightline/error.h"
#include "sightline/kv_cache.h"
#include "tools/conform/report_problem.h"
#include "tools/conform/reports.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// Rows [begin, begin + count) of an axis-2 range.
TensorView rows_of(TensorView view, std::int64_t begin, std::int64_t count) {
  view.data = static_cast<const std::byte*>(view.data) +
              begin * view.strides[2] * static_cast<std::int64_t>(dtype_size(view.dtype));
  view.shape[2] = count;
  return view;
}

// Slots beyond those in use hold NaN.
void run_cache(const Report& report, const Engine& engine) {
  const json& given = report.given;
  const std::int64_t capacity = given.at("capacity"), used = given.at("cache_length");
  ReportProblem attention;
  attention.problem.q = attention.keep(case_input(given.at("q")));
  const auto slots = [&](const char* name) {
    const Input filled = case_input(given.at(name));
    const Shape rest{1, 1, capacity - used, filled.shape().at(3)};
    const Input poison = Input::of_floats(rest, std::vector<float>(element_count(rest), NAN));
    return attention.keep(concatenate(filled.view(), poison.view()));
  };
  attention.problem.k = slots("k_first_7");
  attention.problem.v = slots("v_first_7");
  attention.problem.causal = true;
  attention.sequences = {{used, 0, given.at("query_positions").at(0).get<std::int64_t>()}};
  attention.problem.sequences = attention.sequences;
  check_values(engine.run(attention.problem, {}), report.expected);
}

// A prompt in chunks over a growing cache gives the bits of the prompt in one call.
void run_chunked(const Report& report, const Engine& engine) {
  ReportProblem attention(report.given);
  attention.problem.causal = true;
  const AttentionValues whole = engine.run(attention.problem, {});
  check_values(whole, report.expected);
  for (const json& chunking : report.given.at("chunkings")) {
    std::int64_t begin = 0;
    for (const std::int64_t count : chunking) {
      AttentionProblem part = attention.problem;
      part.q = rows_of(part.q, begin, count);
      part.k = rows_of(part.k, 0, begin + count);
      part.v = rows_of(part.v, 0, begin + count);
      const Array out = engine.run(part, {}).out;
      const auto [batch, heads, queries, width] = attention.problem.q.shape;
      const std::int64_t value_width = out.shape[3];
      const Slice same_rows{begin * value_width,
                            {batch, heads, count, value_width},
                            {heads * queries * value_width, queries * value_width, value_width, 1}};
      expect_close(fmt::format("chunks {}: bits of out from row {}", chunking.dump(), begin), out,
                   take(whole.out, same_rows), {});
      begin += count;
    }
  }
}

// Rows [begin, begin + count) of queries in dense values of [B, H, N] or [B, H, N, D].
Array query_rows(const Array& all, std::int64_t begin, std::int64_t count) {
  Shape shape = all.shape;
  shape[2] = count;
  const Shape strides = dense_strides(all.shape);
  return take(all, {begin * strides[2], shape, strides});
}

// A sequence whose keys and values come and go in a cache. Pages have 16 tokens, the fewest that they may have.
class CachedSequence {
 public:
  CachedSequence(const AttentionProblem& whole, std::int64_t window)
      : whole_(whole), cache_(options_for(whole, window)), sequence_(cache_.create()) {}

  KvCache& cache() { return cache_; }
  SequenceId sequence() const { return sequence_; }
  const SequenceSpan& span() const { return view_.sequences.front(); }

  void append(const TensorView& k, const TensorView& v) { cache_.append({&sequence_, 1}, k, v); }
  void append_rows(std::int64_t begin, std::int64_t count) {
    append(rows_of(whole_.k, begin, count), rows_of(whole_.v, begin, count));
  }
  // The queries of these rows over all that the cache holds.
  AttentionValues run(const Engine& engine, const TensorView& q) {
    AttentionProblem problem = whole_;
    problem.q = q;
    cache_.view({&sequence_, 1}, view_);
    cache_.bind(view_, 0, problem);
    return engine.run(problem, {});
  }
  // Appends these rows, and runs their queries.
  AttentionValues step(const Engine& engine, std::int64_t begin, std::int64_t count) {
    append_rows(begin, count);
    return run(engine, rows_of(whole_.q, begin, count));
  }

 private:
  static KvCacheOptions options_for(const AttentionProblem& whole, std::int64_t window) {
    KvCacheOptions options;
    options.kv_heads = whole.k.shape[1];
    options.key_width = whole.k.shape[3];
    options.value_width = whole.v.shape[3];
    options.page_size = options.page_count = 16;
    options.window = window;
    return options;
  }

  AttentionProblem whole_;
  KvCache cache_;
  SequenceId sequence_;
  KvView view_;
};

Input filled(const TensorView& like, std::int64_t tokens, float value) {
  const Shape shape{1, like.shape[1], tokens, like.shape[3]};
  return Input::of_floats(shape, std::vector<float>(element_count(shape), value));
}

// Slots beyond those in use held NaN before the sequence was truncated.
void run_truncated_cache(const Report& report, const Engine& engine) {
  const std::int64_t capacity = report.given.at("capacity"), used = report.given.at("cache_length");
  ReportProblem attention;
  const TensorView q = attention.keep(case_input(report.given.at("q")));
  attention.problem.k = attention.keep(case_input(report.given.at("k_first_7")));
  attention.problem.v = attention.keep(case_input(report.given.at("v_first_7")));
  attention.problem.causal = true;
  CachedSequence cached(attention.problem, 0);
  const Input poison_k = filled(attention.problem.k, capacity - used, NAN);
  const Input poison_v = filled(attention.problem.v, capacity - used, NAN);
  cached.append_rows(0, used);
  cached.append(poison_k.view(), poison_v.view());
  cached.cache().truncate(cached.sequence(), used);
  check_values(cached.run(engine, q), report.expected);
}

// The same chunks through a cache.
void run_chunked_cache(const Report& report, const Engine& engine) {
  ReportProblem attention(report.given);
  attention.problem.causal = true;
  const AttentionValues whole = engine.run(attention.problem, {});
  for (const json& chunking : report.given.at("chunkings")) {
    CachedSequence cached(attention.problem, 0);
    std::int64_t begin = 0;
    for (const std::int64_t count : chunking) {
      const AttentionValues got = cached.step(engine, begin, count);
      const std::string where = fmt::format("row {}, chunks {} in a cache: bits of ", begin, chunking.dump());
      expect_close(where + "out", got.out, query_rows(whole.out, begin, count), {});
      expect_close(where + "lse", got.lse, query_rows(whole.lse, begin, count), {});
      begin += count;
    }
  }
}

// Positions that the last query gives weight to.
std::vector<std::int64_t> visible_positions(const AttentionValues& values, const SequenceSpan& span) {
  std::vector<std::int64_t> positions;
  const auto keys = static_cast<std::size_t>(values.weights.shape[3]);
  const auto row = values.weights.values.end() - static_cast<std::int64_t>(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    if (row[static_cast<std::int64_t>(j)] > 0) positions.push_back(span.key_position + static_cast<std::int64_t>(j));
  }
  return positions;
}

// The steps of the case from its first row on, `before` tokens of NaN standing before it. Those are seen by the rows of
// the first window - 1 alone, and pages of them are given back on the way.
void run_rotating_steps(const Report& report, const Engine& engine, const ReportProblem& attention,
                        std::int64_t before) {
  const std::int64_t window = report.given.at("window");
  const Array out = case_array(report.expected.at("out")), lse = case_array(report.expected.at("lse"));
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  CachedSequence cached(attention.problem, window);
  const Input nan_k = filled(attention.problem.k, before, NAN), nan_v = filled(attention.problem.v, before, NAN);
  cached.append(nan_k.view(), nan_v.view());
  std::int64_t begin = 0;
  AttentionValues got;
  for (const std::int64_t count : report.given.at("steps")) {
    got = cached.step(engine, begin, count);
    if (before == 0 || begin >= window - 1) {
      expect_close(fmt::format("out from row {} after {}", begin, before), got.out, query_rows(out, begin, count),
                   tolerance);
      expect_close(fmt::format("lse from row {} after {}", begin, before), got.lse, query_rows(lse, begin, count),
                   tolerance);
    }
    begin += count;
  }
  std::vector<std::int64_t> visible = report.expected.at("positions_visible_at_last_step");
  for (std::int64_t& position : visible) position += before;
  expect(visible_positions(got, cached.span()) == visible, "other positions are visible at the last step");
  expect(cached.cache().first_position(cached.sequence()) == visible.front(),
         "the cache keeps from another position on");
  try {
    cached.cache().truncate(cached.sequence(), before + 3);
  } catch (const BadArgument&) {
    return;
  }
  throw Mismatch("the cache went back to position 3, of whose window nothing is left");
}

void run_rotating_cache(const Report& report, const Engine& engine) {
  ReportProblem attention(report.given);
  attention.problem.causal = true;
  for (const std::int64_t before : {0, 32, 100, 201}) run_rotating_steps(report, engine, attention, before);
}

// [total, heads, width] as sequences that follow one another.
void run_packed(const Report& report, const Engine& engine) {
  const json& given = report.given;
  const Input q = case_input(given.at("q")), k = case_input(given.at("k")), v = case_input(given.at("v"));
  const auto tokens = [](const Input& input, std::int64_t begin, std::int64_t count) {
    const Shape& shape = input.shape();
    const std::int64_t row = shape.at(1) * shape.at(2);
    return input.view({1, shape[1], count, shape[2]}, {0, shape[2], row, 1}, begin * row);
  };
  const auto run = [&](std::int64_t q_begin, std::int64_t queries, std::int64_t k_begin, std::int64_t keys) {
    AttentionProblem problem;
    problem.q = tokens(q, q_begin, queries);
    problem.k = tokens(k, k_begin, keys);
    problem.v = tokens(v, k_begin, keys);
    problem.causal = true;
    return engine.run(problem, {});
  };
  Array out{case_array(report.expected.at("out")).shape, {}}, lse{case_array(report.expected.at("lse")).shape, {}};
  const std::vector<std::int64_t> q_lengths = given.at("q_lengths"), k_lengths = given.at("k_lengths");
  for (std::size_t n = 0, q_begin = 0, k_begin = 0; n < q_lengths.size(); ++n) {  // one head: rows simply follow
    const AttentionValues got = run(q_begin, q_lengths[n], k_begin, k_lengths[n]);
    out.values.insert(out.values.end(), got.out.values.begin(), got.out.values.end());
    lse.values.insert(lse.values.end(), got.lse.values.begin(), got.lse.values.end());
    q_begin += q_lengths[n];
    k_begin += k_lengths[n];
  }
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  expect_close("out", out, case_array(report.expected.at("out")), tolerance);
  expect_close("lse", lse, case_array(report.expected.at("lse")), tolerance);

  const AttentionValues no_keys = run(0, 2, 0, 0), no_queries = run(0, 0, 0, 3);
  expect_close("out without keys", no_keys.out, {no_keys.out.shape, std::vector<double>(no_keys.out.values.size(), 0)},
               {});
  expect_close("lse without keys", no_keys.lse, {no_keys.lse.shape, {-INFINITY, -INFINITY}}, {});
  expect(no_queries.out.values.empty(), "out without queries: expected nothing");
}

// The chosen rows of a batch as a batch of their own.
void gather(const ReportProblem& from, const std::vector<std::int64_t>& rows, ReportProblem& to) {
  const auto pick = [&](const TensorView& view) {
    const std::int64_t size = view.strides[0];
    std::vector<float> values;
    for (const std::int64_t row : rows) {
      const float* begin = static_cast<const float*>(view.data) + row * size;
      values.insert(values.end(), begin, begin + size);
    }
    return to.keep(Input::of_floats(
        {static_cast<std::int64_t>(rows.size()), view.shape[1], view.shape[2], view.shape[3]}, values));
  };
  to.problem.q = pick(from.problem.q);
  to.problem.k = pick(from.problem.k);
  to.problem.v = pick(from.problem.v);
}

AttentionValues batch_entry(const AttentionValues& all, std::int64_t entry) {
  const auto part = [&](const Array& array) {
    Shape shape = array.shape;
    const std::int64_t size = element_count(shape) / shape[0];
    shape[0] = 1;
    return take(array, {entry * size, shape, dense_strides(shape)});
  };
  AttentionValues one{part(all.out),
                      part(all.lse),
                      part(all.row_max),
                      part(all.entropy),
                      part(all.column_mass),
                      part(all.topk_weight),
                      {},
                      part(all.weights),
                      part(all.row_weights)};
  const std::int64_t size = element_count(one.topk_weight.shape);
  one.topk_index.assign(all.topk_index.begin() + entry * size, all.topk_index.begin() + (entry + 1) * size);
  return one;
}

void run_batch_invariance(const Report& report, const Engine& engine) {
  constexpr std::int64_t kRow = 3;
  const ReportProblem all(report.given);
  const auto row3 = [&](const std::vector<std::int64_t>& rows, int threads) {
    ReportProblem batch;
    gather(all, rows, batch);
    const auto entry = std::find(rows.begin(), rows.end(), kRow) - rows.begin();
    return batch_entry(engine.run(batch.problem, {4, threads, {}}), entry);
  };
  const AttentionValues alone = row3({kRow}, 1);
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  const auto check = [&](const char* name, Array got) {
    got.shape.erase(got.shape.begin());
    expect_close(name, got, case_array(report.expected.at(name)), tolerance);
  };
  check("row3_out", alone.out);
  check("row3_lse", alone.lse);
  for (const auto& rows : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3, 4}, {3, 0}, {4, 3, 2, 1, 0}}) {
    for (const int threads : {1, 2, 4}) {
      expect_same_bits(fmt::format("{} rows, {} threads", rows.size(), threads), row3(rows, threads), alone);
    }
  }
  for (int repeat = 0; repeat < 100; ++repeat) expect_same_bits("repeated", row3({0, 1, 2, 3, 4}, 2), alone);
}

// Address space without memory behind it.
class Reservation {
 public:
  explicit Reservation(std::size_t size)
      : size_(size),
        data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw Skipped(fmt::format("no address space of {} bytes here", size));
  }
  ~Reservation() { munmap(data_, size_); }
  Reservation(const Reservation&) = delete;
  float* data() { return static_cast<float*>(data_); }

 private:
  std::size_t size_;
  void* data_;
};

// Batch 1 stands more than 2^31 elements after batch 0.
void run_offsets(const Report& report, const Engine& engine) {
  constexpr std::int64_t kBatchStride = 2147483712;
  Reservation memory((kBatchStride + 1024) * sizeof(float));
  std::int64_t next = 0;
  const auto place = [&](const char* name) {
    const Array array = case_array(report.given.at(name));
    const Shape& shape = array.shape;
    const std::int64_t size = element_count(shape) / shape.at(0);
    float* begin = memory.data() + next;
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      for (std::int64_t i = 0; i < size; ++i)
        begin[b * kBatchStride + i] = static_cast<float>(array.values[b * size + i]);
    }
    next += size;
    TensorView view = dense_view(static_cast<const float*>(begin), {shape[0], shape[1], shape[2], shape[3]});
    view.strides[0] = kBatchStride;
    return view;
  };
  AttentionProblem problem;
  problem.q = place("q");
  problem.k = place("k");
  problem.v = place("v");
  check_values(engine.run(problem, {}), report.expected);
}

constexpr ReportKind kKinds[] = {
    {"attention_cache", run_cache},
    {"attention_cache", run_truncated_cache, nullptr, nullptr, "/cache"},
    {"attention_chunked", run_chunked},
    {"attention_chunked", run_chunked_cache, nullptr, nullptr, "/cache"},
    {"attention_rotating_cache", run_rotating_cache},
    {"attention_varlen", run_packed},
    {"offset_arithmetic", run_offsets},
    {"batch_invariance", run_batch_invariance},
};

}  // namespace

std::span<const ReportKind> cache_kinds() { return kKinds; }

}  // namespace sightline::conform
