#ifndef SIGHTLINE_CLI_ANSWER_TABLE_H_
#define SIGHTLINE_CLI_ANSWER_TABLE_H_

#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/painter.h"
#include "src/engine/answer.h"

namespace sightline::cli {

/// Where answers looked, and each of their sentences: per cent of the weight on each segment, without what lies on
/// special tokens and the first one. Segments that got nothing have no column; where there is no room for all, the
/// lightest share one. `names`: of the segments. Nothing where there is no answer.
void add_answer_table(Painter& painter, std::span<const std::string> names, std::span<const engine::Answer> answers,
                      const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_ANSWER_TABLE_H_
