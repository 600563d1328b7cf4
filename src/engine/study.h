#ifndef SIGHTLINE_ENGINE_STUDY_H_
#define SIGHTLINE_ENGINE_STUDY_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::engine {

/// What a study reads beside what the seed draws.
enum class StudyNeed : std::uint8_t {
  none,     // it has no use for one
  welcome,  // one adds to what it measures
  needed,
};

/// A claim about attention and what puts it to the test.
struct StudyEntry {
  std::string_view name;
  std::string_view claim;
  StudyNeed model, text;
  bool decoder;  // the model has to write text
  analysis::Study (*run)(const analysis::StudyInput& input);
};

/// All of them, in the order in which they are listed.
std::span<const StudyEntry> studies();

/// The one of that name. Throws BadArgument that lists the names there are.
const StudyEntry& find_study(std::string_view name);

/// Runs a study without a model. Throws BadArgument where it needs one; what the study throws.
analysis::Study run_study(const StudyEntry& entry, const analysis::StudyOptions& options);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_STUDY_H_
