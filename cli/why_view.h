#ifndef SIGHTLINE_CLI_WHY_VIEW_H_
#define SIGHTLINE_CLI_WHY_VIEW_H_

#include <string>

#include "cli/painter.h"
#include "src/engine/model_facts.h"
#include "src/engine/why.h"

namespace sightline::cli {

/// The edges with the largest effects, `top` of them, with their weights; how well weights rank effects; and what each
/// head does to the answer.
void add_why_view(Painter& painter, const engine::ModelFacts& model, const engine::Why& why, int top);

/// What an item is called: of several that read alike with its number, as "the:2".
std::string item_name(const engine::Why& why, std::size_t item, bool utf8);
/// "log-probability of \" Paris\"": what an effect is a change of.
std::string measure_text(const engine::WhyMeasure& measure, bool utf8);
/// An effect in three significant digits, with its sign where it can have either.
std::string effect_text(double value, const engine::WhyMeasure& measure);
/// "L4H2", "L4", or nothing where it is taken out in several maps at once.
std::string edge_map(const engine::WhyEdge& edge);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WHY_VIEW_H_
