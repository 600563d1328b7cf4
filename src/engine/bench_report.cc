#include "src/engine/bench_report.h"

#include "sightline/attention.h"

namespace sightline::engine {
namespace {

ReportJson case_json(const Bench& bench, const BenchCase& of) {
  const auto rates = [](double wall, double cpu) { return ReportJson{{"wall", wall}, {"cpu", cpu}}; };
  ReportJson json = {{"name", of.name},
                     {"tokens", of.tokens},
                     {"decoding", of.decoding},
                     {"watched", of.watched},
                     {"best", rates(of.best_rate(), of.best_rate(&BenchRun::cpu))},
                     {"median", rates(of.median_rate(), of.median_rate(&BenchRun::cpu))}};
  if (of.decoding) json["bandwidth_share"] = bench.bandwidth_share(of);
  json["runs"] = ReportJson::array();
  for (const BenchRun& run : of.runs) json["runs"].push_back({{"wall", run.wall}, {"cpu", run.cpu}});
  return json;
}

}  // namespace

ReportJson bench_report(const ModelFacts& model, const Bench& bench, const BenchOptions& options) {
  ReportJson json = {
      {"sightline_bench", kReportVersion},
      {"arithmetic_version", kArithmeticVersion},
      {"model", model_json(model)},
      {"weight_bytes", model.weights.bytes},
      {"token_weight_bytes", bench.token_bytes},
      {"threads", bench.threads},
      {"target", bench.target},
      {"bandwidth", bench.bandwidth},
      {"context", bench.context},
      {"depth", options.depth},
      {"cache", {{"keys", dtype_name(options.cache.keys)}, {"values", dtype_name(options.cache.values)}}}};
  json["tests"] = ReportJson::array();
  for (const BenchCase& of : bench.cases) json["tests"].push_back(case_json(bench, of));
  json["complete"] = bench.complete;
  return json;
}

}  // namespace sightline::engine
