// Cases of models given whole, as recipes of their parameters, and of rotary positions.
#include <fmt/format.h>

#include <cmath>

#include "src/ops/rope.h"
#include "tools/conform/case_values.h"
#include "tools/conform/forward.h"
#include "tools/conform/reports.h"
#include "tools/conform/temporary_directory.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

model::Transformer build(const json& recipe) {
  const TemporaryDirectory directory;
  json config = recipe.at("config");
  config["architectures"] = {"GPT2LMHeadModel"};  // the recipe leaves it out
  directory.put("config.json", config.dump());
  format::SafetensorsWriter writer(directory.path() / "model.safetensors");
  for (const json& parameter : recipe.at("parameters")) {
    writer.declare(parameter.at("name").get<std::string>(), DType::f32, parameter.at("shape").get<Shape>());
  }
  for (const json& parameter : recipe.at("parameters")) {
    const Array values = case_array(parameter);
    const std::vector<float> numbers(values.values.begin(), values.values.end());
    writer.write(parameter.at("name").get<std::string>(), std::as_bytes(std::span(numbers)));
  }
  writer.finish();
  return model::Transformer::load(directory.path());  // stays mapped when the directory goes
}

// Logits of all tokens, given to one context in pieces.
std::vector<float> logits_in_pieces(const model::Transformer& transformer, const Ids& ids, const json& sizes) {
  auto context = transformer.make_context(static_cast<std::int64_t>(ids.size()));
  model::ForwardOptions options;
  options.logits = model::LogitRows::all;
  std::vector<float> all;
  std::size_t begin = 0;
  for (const std::size_t size : sizes) {
    const model::TokenSequence piece{std::span(ids).subspan(begin, size), {}, &context};
    const auto logits = transformer.forward({&piece, 1}, options).logits;
    all.insert(all.end(), logits.begin(), logits.end());
    begin += size;
  }
  return all;
}

void expect_row(const json& expected, const char* what, const std::vector<float>& logits, std::size_t row) {
  const Array wanted = case_array(expected.at(what));
  const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * wanted.values.size());
  expect_close(what, {wanted.shape, {begin, begin + static_cast<std::ptrdiff_t>(wanted.values.size())}}, wanted,
               case_tolerance(expected.at("tol")));
}

// What layer 1 (from 0) sees with head 0.
class HeadCollector : public model::AttentionObserver {
 public:
  explicit HeadCollector(std::size_t tokens) : tokens_(tokens) {
    for (std::size_t row = 0; row < tokens; ++row) rows_.push_back(static_cast<std::int64_t>(row));
  }
  Observations request(const model::LayerAttention& call) override {
    if (call.layer != 1) return {};
    const auto heads = static_cast<std::size_t>(call.problem.q.shape[1]);
    weights_.resize(heads * tokens_ * tokens_);
    lse_.resize(heads * tokens_);
    Observations see;
    see.rows = rows_;
    see.row_weights = weights_.data();
    see.lse = lse_.data();
    return see;
  }
  void done(const model::LayerAttention&) override {}
  std::vector<double> weights() const { return {weights_.begin(), weights_.begin() + tokens_ * tokens_}; }
  std::vector<double> lse() const { return {lse_.begin(), lse_.begin() + tokens_}; }

 private:
  std::size_t tokens_;
  std::vector<std::int64_t> rows_;
  std::vector<float> weights_, lse_;
};

void check_head(const model::Transformer& transformer, const Ids& ids, const json& expected) {
  HeadCollector head(ids.size());
  model::ForwardOptions options;
  options.observer = &head;
  const model::TokenSequence sequence{ids};
  transformer.forward({&sequence, 1}, options);
  const Tolerance tolerance = case_tolerance(expected.at("tol"));
  const Array probs = case_array(expected.at("layer1_head0_probs")), lse = case_array(expected.at("layer1_head0_lse"));
  expect_close("layer1_head0_probs", {probs.shape, head.weights()}, probs, tolerance);
  expect_close("layer1_head0_lse", {lse.shape, head.lse()}, lse, tolerance);
}

void run_tiny_model(Context& context, const Report& report) {
  const Ids ids = report.given.at("token_ids");
  const json& splits = report.given.at("splits");
  for (const json& split : splits) {
    context.recorder.run(fmt::format("{}/{}", report.name, split.dump()), [&] {
      const auto transformer = build(report.given.at("model"));
      const auto logits = logits_in_pieces(transformer, ids, split);
      expect_row(report.expected, "logits_last", logits, ids.size() - 1);
      expect_row(report.expected, "logits_position_2", logits, 2);
      expect(logits == logits_in_pieces(transformer, ids, splits.at(0)), "other bits than in one piece");
      check_head(transformer, ids, report.expected);
    });
  }
}

void run_tiny_model_batch(const Report& report) {
  const auto transformer = build(report.given.at("model"));
  Ids ids;
  std::vector<std::uint8_t> mask;
  for (const json& row : report.given.at("token_ids")) ids.insert(ids.end(), row.begin(), row.end());
  for (const json& row : report.given.at("attention_mask")) mask.insert(mask.end(), row.begin(), row.end());
  const auto batch = model::unpadded(ids, mask, static_cast<std::int64_t>(report.given.at("token_ids").at(0).size()));
  model::ForwardOptions options;
  options.logits = model::LogitRows::last;
  const auto logits = transformer.forward(batch, options).logits;
  expect_row(report.expected, "logits_last_row0", logits, 0);
  expect_row(report.expected, "logits_last_row1", logits, 1);
  const auto alone = transformer.forward({&batch[0], 1}, options).logits;
  expect(std::equal(alone.begin(), alone.end(), logits.begin()), "row 0 has other bits than alone");
}

// A vector of heads side by side, turned to `position`.
std::vector<float> turned(const std::vector<double>& values, std::int64_t heads, double base, std::int64_t position,
                          bool adjacent) {
  std::vector<float> x(values.begin(), values.end());
  const std::int64_t width = static_cast<std::int64_t>(x.size()) / heads;
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width; i += 2)
    frequencies.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(width)));
  ops::RopeTable table;
  table.pairs = width / 2;
  ops::append_positions(frequencies, 1, position, 1, table, 1);
  ops::rotate(table, adjacent, {x.data(), 1, heads, static_cast<std::int64_t>(x.size()), width}, 1);
  return x;
}

void check_turned(const Report& report, bool adjacent, const char* what) {
  const Array expected = case_array(report.expected.at(what));
  const auto got = turned(case_array(report.given.at("x")).values, 1, report.given.at("theta"),
                          report.given.at("position"), adjacent);
  expect_close(what, {expected.shape, {got.begin(), got.end()}}, expected, case_tolerance(report.expected.at("tol")));
}

// Rows as GGUF has them, turned in adjacent pairs, are the rows of Hugging Face's layout turned in halves.
void check_permuted(const Report& report, const char* which, std::int64_t heads) {
  const std::vector<std::size_t> rows = report.expected.at("gguf_row_i_is_hf_row").at(which);
  std::vector<double> hf(rows.size()), gguf(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) hf[i] = std::sin(static_cast<double>(i) + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) gguf[i] = hf[rows[i]];
  const auto in_halves = turned(hf, heads, 1e4, 5, false), in_pairs = turned(gguf, heads, 1e4, 5, true);
  for (std::size_t i = 0; i < rows.size(); ++i)
    expect(in_pairs[i] == in_halves[rows[i]], fmt::format("{}: row {} differs", which, i));
}

void check_score(const Report& report) {
  const json& given = report.given.at("score");
  const auto q = turned(case_array(given.at("q")).values, 1, report.given.at("theta"), given.at("q_pos"), false);
  const auto k = turned(case_array(given.at("k")).values, 1, report.given.at("theta"), given.at("k_pos"), false);
  double score = 0;
  for (std::size_t i = 0; i < q.size(); ++i) score += static_cast<double>(q[i]) * k[i];
  expect_close("score", {{1}, {score}}, {{1}, {report.expected.at("score_same_in_both")}},
               case_tolerance(report.expected.at("tol")));
}

void run_rope(const Report& report) {
  check_turned(report, false, "rotate_half");
  check_turned(report, true, "rotate_interleaved");
  check_permuted(report, "q", report.given.at("permute").at("n_head"));
  check_permuted(report, "k", report.given.at("permute").at("n_kv_head"));
  check_score(report);
}

constexpr ReportKind kKinds[] = {
    {"tiny_model", nullptr, nullptr, run_tiny_model},
    {"tiny_model_batch", nullptr, run_tiny_model_batch},
    {"rope", nullptr, run_rope},
};

}  // namespace

std::span<const ReportKind> tiny_model_kinds() { return kKinds; }

}  // namespace sightline::conform
