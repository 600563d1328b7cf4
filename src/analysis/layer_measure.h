#ifndef SIGHTLINE_ANALYSIS_LAYER_MEASURE_H_
#define SIGHTLINE_ANALYSIS_LAYER_MEASURE_H_

#include <functional>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

/// Measures a layer's attention, which lives until it returns. `layer`: from 0.
using LayerMeasure = std::function<void(int layer, const AttentionProblem& problem, Progress* progress)>;

/// Takes the input's text through its model, and measures each layer as it goes by: of no layer anything stays, so that
/// memory is O(tokens). Where the caller's progress ends it, the study is not complete.
void measure_layers(const StudyInput& input, const LayerMeasure& measure, Study& study);

/// "L4H2", from indexes.
std::string head_label(std::int64_t layer, std::int64_t head);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_LAYER_MEASURE_H_
