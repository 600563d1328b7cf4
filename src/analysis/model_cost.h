#ifndef SIGHTLINE_ANALYSIS_MODEL_COST_H_
#define SIGHTLINE_ANALYSIS_MODEL_COST_H_

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"
#include "src/analysis/study_progress.h"

namespace sightline::analysis {

/// Adds what a model's description says of its cost: operations of attention and of the rest, where they cross, and the
/// bytes of its cache.
void add_paper_cost(const model::TransformerConfig& config, Study& study);

/// Adds what patterns lose on the model's own queries and keys, layer by layer. Throws Cancelled once what was done is
/// added.
void add_model_mass(const StudyInput& input, StudyProgress& progress, double work, Study& study);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_MODEL_COST_H_
