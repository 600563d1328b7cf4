#ifndef SIGHTLINE_ANALYSIS_EDGE_SWEEP_H_
#define SIGHTLINE_ANALYSIS_EDGE_SWEEP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/analysis/probe.h"
#include "src/model/branches.h"
#include "src/model/contributions.h"

namespace sightline::analysis {

/// What a pass comes to, so that two passes can be compared in a number or a few.
struct Output {
  enum class Kind : std::uint8_t {
    continuation,  // how likely answers are after the text, by a decoder
    place,         // how likely they are at a place in it, by a masked-language model
    vector,        // the mean of all rows' last hidden states, and that of `rows`
  };
  Kind kind = Kind::vector;
  std::vector<std::int32_t> ids, type_ids;  // of the text
  // Tokens of each answer; at a place a single one. Empty: the token that the whole pass finds likeliest.
  std::vector<std::vector<std::int32_t>> answers = {};
  std::int64_t place = 0;  // the token at which answers are read
  TokenRange rows = {};    // whose own vector is measured
};

/// Many passes over a text that differ in a few edges, and what each of them changes. Numbers of a pass are, for each
/// answer, the sum of its tokens' log-probabilities (as ops::LogSoftmax has them), and with two answers or more the
/// first one's less the second one's; or of vectors nothing but how far they move: 1 - cosine to the whole pass, of the
/// text's vector and of that of `rows`.
class EdgeSweep {
 public:
  /// Of each branch, in order: its numbers less those of the whole pass.
  using Reader = std::function<void(std::size_t branch, std::span<const double> effects)>;

  /// Runs the whole pass, or where answers have several tokens one for each beginning that they share. `options`:
  /// threads and progress; `transformer` must outlive this. Throws as model::Branches does.
  EdgeSweep(const model::Transformer& transformer, Output output, const model::BranchOptions& options = {});

  /// With the likeliest token, where no answer was given.
  const Output& output() const { return output_; }
  /// Numbers of the whole pass.
  const std::vector<double>& values() const { return values_; }

  /// After Cancelled branches that were told of stay good.
  void run(std::span<const model::Branch> branches, const Reader& read);

  /// What each number of the whole pass is made of: of an answer the sum over its tokens of their logits less the mean
  /// of all logits; of the margin the logit of the first answer's token less that of the second's, at the first place
  /// where the two differ; of a vector its length, along itself.
  std::vector<model::Contributions> contributions();

  model::BranchWork work() const;

 private:
  // Answers that are the same but for their last token go through together, behind what they share.
  struct Stem {
    std::vector<std::int32_t> ids;     // the text, and the answers but for their last tokens
    std::vector<std::size_t> answers;  // indexes
    model::Branches passes;
  };

  void add_stems(const model::Transformer& transformer, model::BranchOptions options);
  void choose_likeliest();
  void read_answers(const Stem& stem, const model::BranchResult& result, std::span<double> numbers) const;
  void read_vectors(const model::BranchResult& result, std::span<double> numbers) const;
  model::Contributions answer_contributions(Stem& stem, std::size_t answer);
  model::Contributions margin_contributions(const model::Contributions& first, const model::Contributions& second);
  void read_numbers(const Stem& stem, const model::BranchResult& result, std::span<double> numbers) const;
  void finish_numbers(std::span<double> numbers) const;
  std::vector<double> mean_vector(const model::BranchResult& result, TokenRange rows) const;

  Output output_;
  std::vector<Stem> stems_;
  std::vector<double> values_;
  std::vector<double> text_vector_, row_vector_;  // of the whole pass, of length 1
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_EDGE_SWEEP_H_
