#ifndef SIGHTLINE_ENGINE_BENCH_REPORT_H_
#define SIGHTLINE_ENGINE_BENCH_REPORT_H_

#include "src/engine/bench.h"
#include "src/engine/model_facts.h"
#include "src/engine/report.h"

namespace sightline::engine {

/// What was measured as JSON (docs/report.md).
ReportJson bench_report(const ModelFacts& model, const Bench& bench, const BenchOptions& options);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_BENCH_REPORT_H_
