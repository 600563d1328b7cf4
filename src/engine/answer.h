#ifndef SIGHTLINE_ENGINE_ANSWER_H_
#define SIGHTLINE_ENGINE_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/look.h"
#include "src/engine/session.h"
#include "src/engine/text_breaks.h"
#include "src/tokenizer/text_stream.h"

namespace sightline::engine {

/// Which maps are told of: all, or those of one layer, of one head of each layer, or of both (from 1).
struct ShownMaps {
  std::optional<int> layer, head;
};
/// Throws BadArgument that says which layers and heads there are.
void require_maps(const ModelFacts& model, const ShownMaps& maps);

/// Weight on each segment, the mean over the shown maps and over the rows that some tokens were taken from.
struct SegmentMeans {
  std::string text;                             // of these tokens
  std::int64_t token_begin = 0, token_end = 0;  // positions in the whole text
  std::vector<double> segment_mass;             // [segments]
};

/// What a model said, and where it looked while it did: token p comes from row p - 1.
struct Answer {
  std::string name;  // the segment's: "assistant 2"; "generated"
  SegmentMeans whole;
  std::vector<SegmentMeans> sentences;
};

/// The mean over the shown maps of one step's weight on each segment.
std::vector<double> mean_segment_mass(const model::StepSight& sight, const ShownMaps& maps);

/// Collects the answer of a generation as it comes.
class AnswerRecord {
 public:
  /// `prompted` must outlive it, and must be watched.
  AnswerRecord(const PromptedGeneration& prompted, const ShownMaps& maps);

  /// A token that the generation just gave. One that ends the text is no part of the answer.
  void add(const model::GeneratedToken& token);
  /// What there is so far.
  Answer answer() const;

 private:
  const PromptedGeneration& prompted_;
  ShownMaps maps_;
  tokenizer::TextStream stream_;
  std::string text_;
  std::vector<TextSpan> tokens_;  // of that text
  std::vector<std::vector<double>> mass_;
};

/// The answers in a look's prompt, from rows of the shown maps that were kept. None where a row sees what follows it:
/// it predicts nothing.
std::vector<Answer> answers_of(const Look& look, const ShownMaps& maps);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_ANSWER_H_
