#ifndef SIGHTLINE_ENGINE_SCORE_REPORT_H_
#define SIGHTLINE_ENGINE_SCORE_REPORT_H_

#include "src/engine/model_facts.h"
#include "src/engine/report.h"
#include "src/engine/score.h"

namespace sightline::engine {

/// A score as JSON (docs/report.md). `top`: how many of the likeliest tokens each token lists; 0: the likeliest alone,
/// as an object of its own.
ReportJson score_report(const ModelFacts& model, const Score& score, const ScoreOptions& options, int top);
ReportJson score_report(const ModelFacts& model, const TargetScores& scores, const ScoreOptions& options, int top);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SCORE_REPORT_H_
