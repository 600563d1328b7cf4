// Cases of where queries and keys stand: biases by distance, and sequences packed into one call.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/conform/report_problem.h"
#include "tools/conform/reports.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// A table whose entries are their own numbers shows the buckets as scores: queries and keys are 0.
class Buckets {
 public:
  Buckets(const json& given, bool bidirectional) : table_(given.at("num_buckets").get<std::size_t>()) {
    std::iota(table_.begin(), table_.end(), 0.0f);
    bias_ = {table_, given.at("num_buckets"), given.at("max_distance"), bidirectional};
  }

  // The buckets of keys [key_position, key_position + keys) for a query at `query_position`.
  std::vector<double> of(const Engine& engine, std::int64_t query_position, std::int64_t key_position,
                         std::int64_t keys) const {
    ReportProblem attention;
    attention.problem.q = attention.keep(Input::of_floats({1}, {0}));
    attention.problem.k = attention.problem.v =
        attention.keep(Input::of_floats({keys, 1}, std::vector<float>(keys, 0)));
    attention.problem.relative_bias = bias_;
    attention.sequences = {{keys, key_position, query_position}};
    attention.problem.sequences = attention.sequences;
    return engine.stage(attention.problem, Stage::biased).values;
  }

 private:
  std::vector<float> table_;
  RelativeBias bias_;
};

void check_buckets(const std::string& what, const std::vector<double>& got, const json& expected) {
  const Shape shape{static_cast<std::int64_t>(expected.size())};
  expect_close(what, {shape, got}, {shape, expected.get<std::vector<double>>()}, {});
}

void check_offsets(const Report& report, const Engine& engine, bool bidirectional) {
  const std::vector<std::int64_t> offsets = report.given.at("relative_positions_key_minus_query");
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  const std::vector<double> all = Buckets(report.given, bidirectional).of(engine, -*low, 0, *high - *low + 1);
  std::vector<double> got;
  for (const std::int64_t offset : offsets) got.push_back(all[offset - *low]);
  const char* name = bidirectional ? "encoder_buckets" : "decoder_buckets";
  check_buckets(name, got, report.expected.at(name));
}

void run_bucket_function(const Report& report) {
  const json& given = report.given;
  for (const bool bidirectional : {true, false}) {
    const RelativeBias bias{{}, given.at("num_buckets"), given.at("max_distance"), bidirectional};
    std::vector<double> got;
    for (const std::int64_t offset : given.at("relative_positions_key_minus_query"))
      got.push_back(static_cast<double>(relative_bucket(bias, offset)));
    const char* name = bidirectional ? "encoder_buckets" : "decoder_buckets";
    check_buckets(name, got, report.expected.at(name));
  }
}

void run_alibi_slopes(const Report& report) {
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  for (const std::int64_t heads : report.given.at("heads")) {
    const std::vector<float> slopes = alibi_slopes(heads);
    const std::vector<double> expected = report.expected.at("slopes").at(std::to_string(heads));
    expect_close(fmt::format("slopes of {} heads", heads), {{heads}, {slopes.begin(), slopes.end()}},
                 {{heads}, expected}, tolerance);
  }
}

void run_t5_bias(const Report& report, const Engine& engine) {
  check_offsets(report, engine, true);
  check_offsets(report, engine, false);
  const json& decode = report.given.at("cached_decode");
  const Buckets decoder(report.given, false);
  const auto keys = static_cast<std::int64_t>(decode.at("keys").size());
  const auto row = decoder.of(engine, decode.at("query_position"), 0, keys);
  check_buckets("cached row", row, report.expected.at("cached_row"));
  expect(row != report.expected.at("wrong_cached_row_if_query_at_0").get<std::vector<double>>(),
         "cached row: expected another than that of a query at 0");
}

// Sequences of given lengths in one call. What is left of the tensors belongs to none of them.
class PackedCall {
 public:
  PackedCall(const json& given, const std::vector<std::int64_t>& q_lengths, const std::vector<std::int64_t>& k_lengths)
      : q_begins_(begins(q_lengths)), k_begins_(begins(k_lengths)) {
    attention_.problem.q = tokens(given.at("q"), q_begins_.back());
    attention_.problem.k = tokens(given.at("k"), k_begins_.back());
    attention_.problem.v = tokens(given.at("v"), k_begins_.back());
    attention_.problem.causal = true;
    if (q_lengths.empty()) {  // no sequence at all is a batch of none
      for (TensorView* view : {&attention_.problem.q, &attention_.problem.k, &attention_.problem.v}) view->shape[0] = 0;
      return;
    }
    attention_.problem.cu_seqlens_q = q_begins_;
    attention_.problem.cu_seqlens_k = k_begins_;
  }
  AttentionValues run(const Engine& engine) const { return engine.run(attention_.problem, {}); }

 private:
  static std::vector<std::int32_t> begins(const std::vector<std::int64_t>& lengths) {
    std::vector<std::int32_t> all{0};
    for (const std::int64_t length : lengths) all.push_back(all.back() + static_cast<std::int32_t>(length));
    return all;
  }

  // [total, heads, width] as [1, heads, count, width].
  TensorView tokens(const json& value, std::int64_t count) {
    TensorView view = attention_.keep(case_input(value));
    const std::int64_t heads = view.shape[2], width = view.shape[3];
    view.shape = {1, heads, count, width};
    view.strides = {0, width, heads * width, 1};
    return view;
  }

  ReportProblem attention_;
  std::vector<std::int32_t> q_begins_, k_begins_;
};

// Without keys a row is 0, and its lse -inf.
void check_empty(const AttentionValues& got) {
  expect_close("out without keys", got.out, {got.out.shape, std::vector<double>(got.out.values.size(), 0)}, {});
  expect_close("lse without keys", got.lse, {got.lse.shape, std::vector<double>(got.lse.values.size(), -INFINITY)}, {});
}

void run_packed(const Report& report, const Engine& engine) {
  const json& given = report.given;
  AttentionValues got = PackedCall(given, given.at("q_lengths"), given.at("k_lengths")).run(engine);
  const Array out = case_array(report.expected.at("out")), lse = case_array(report.expected.at("lse"));
  got.out.shape = out.shape;  // one head
  got.lse.shape = lse.shape;
  const Tolerance tolerance = case_tolerance(report.expected.at("tol"));
  expect_close("out", got.out, out, tolerance);
  expect_close("lse", got.lse, lse, tolerance);
  for (const json& other : given.at("also_try")) {
    check_empty(PackedCall(given, other.at("q_lengths"), other.at("k_lengths")).run(engine));
  }
}

constexpr ReportKind kKinds[] = {
    {"t5_bias", run_t5_bias},
    {"t5_bias", nullptr, run_bucket_function, nullptr, "/function"},
    {"alibi_slopes", nullptr, run_alibi_slopes},
    {"attention_varlen", run_packed, nullptr, nullptr, "/packed"},
};

}  // namespace

std::span<const ReportKind> position_kinds() { return kKinds; }

}  // namespace sightline::conform
