#ifndef SIGHTLINE_ENGINE_GENERATION_REPORT_H_
#define SIGHTLINE_ENGINE_GENERATION_REPORT_H_

#include <string_view>

#include "src/engine/answer.h"
#include "src/engine/model_facts.h"
#include "src/engine/report.h"
#include "src/engine/session.h"

namespace sightline::engine {

/// A generation as lines of JSON (docs/report.md): what is known before it begins, then one a token, then its end.
ReportJson generation_json(const ModelFacts& model, const PromptedGeneration& prompted,
                           const model::GenerationOptions& options);
/// `position`: of the token in the whole sequence. The observed row is there if the token has one.
ReportJson token_json(const model::GeneratedToken& token, std::int64_t position, const ShownMaps& maps);
/// `end`: as model::end_name() says it.
ReportJson end_json(const model::Generation& generation, std::string_view end, const Answer& answer);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_GENERATION_REPORT_H_
