#ifndef SIGHTLINE_CLI_WHY_PICTURE_H_
#define SIGHTLINE_CLI_WHY_PICTURE_H_

#include "src/engine/model_facts.h"
#include "src/engine/why.h"
#include "src/format/picture.h"

namespace sightline::cli {

/// Weight beside effect, a pair of bars an edge.
format::Picture draw_why(const engine::ModelFacts& model, const engine::Why& why, format::Font& font);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WHY_PICTURE_H_
