#ifndef SIGHTLINE_ANALYSIS_QUESTION_TEXT_H_
#define SIGHTLINE_ANALYSIS_QUESTION_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/analysis/asked_text.h"
#include "src/analysis/probe.h"

namespace sightline::analysis {

/// A question of some role.
struct AskedQuestion {
  const Question* question = nullptr;
  PieceRule pieces = PieceRule::sum;
  std::size_t role = 0;
  int half = 0;
  bool baseline = false;  // whether the baseline answers it right
};

/// Questions about the rows of a text. Rows that nobody asks about are not read; those of a short text come with the
/// pass, and of a long one a few at a time after it.
class QuestionText : public AskedText {
 public:
  /// `text` must outlive this. `whole_weights`: of all asked rows, at most, that come with the pass.
  QuestionText(const ProbeText& text, std::int64_t whole_weights) : text_(text), whole_weights_(whole_weights) {}
  void ask(const AskedQuestion& question) { questions_.push_back(question); }

  model::TokenSequence sequence() const override { return {text_.ids, text_.type_ids}; }
  Observations request(const model::LayerAttention& call, ObservedBuffers& buffers) override;
  void done(const model::LayerAttention& call, const ObservedBuffers& buffers, const AskedHeads& asked,
            Tallies& to) override;

 private:
  class RowReader;
  void find_rows();
  bool comes_whole(const model::LayerAttention& call) const;

  const ProbeText& text_;
  const std::int64_t whole_weights_;
  std::vector<AskedQuestion> questions_;
  std::vector<std::int64_t> rows_;  // asked, ascending
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_QUESTION_TEXT_H_
