#ifndef SIGHTLINE_ANALYSIS_STUDY_INPUT_H_
#define SIGHTLINE_ANALYSIS_STUDY_INPUT_H_

#include <cstdint>
#include <vector>

#include "sightline/execution.h"
#include "sightline/transformer.h"

namespace sightline::analysis {

struct StudyOptions {
  std::uint64_t seed = 1;        // of what is drawn
  std::int64_t longest = 0;      // the longest problem that is measured, in tokens; 0: the study's own choice
  int repetitions = 0;           // of what is timed; 0: the study's own choice
  int threads = 0;               // 0: one a processor
  Progress* progress = nullptr;  // false ends the study: what is done is given, not complete
};

/// What a claim is put to the test on.
struct StudyInput {
  const model::Transformer* transformer = nullptr;  // null: no model, numbers that the seed draws
  std::vector<std::int32_t> ids, type_ids;          // a text, special tokens counted; empty: none
  std::vector<bool> is_text;                        // of each: neither special nor a first token that is set aside
  StudyOptions options;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_STUDY_INPUT_H_
