#ifndef SIGHTLINE_ANALYSIS_PROBE_H_
#define SIGHTLINE_ANALYSIS_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sightline::analysis {

/// Tokens [begin, end) of a text.
struct TokenRange {
  std::int64_t begin = 0, end = 0;

  bool operator==(const TokenRange&) const = default;
};

/// A question to a head: of these candidates, is the one that the row looks at most a right one?
struct Question {
  TokenRange row;                      // weight from it is the mean over its tokens
  std::vector<TokenRange> candidates;  // ascending, apart, none within the row
  std::vector<std::size_t> right;      // indexes into candidates, ascending; one at least
};

/// How the weight to a candidate comes from those to its tokens.
enum class PieceRule : std::uint8_t { sum, max };

/// A text with questions about it.
struct ProbeText {
  std::vector<std::int32_t> ids, type_ids;  // with special tokens
  std::vector<Question> questions;
};

/// A role that a head can have, as questions about texts. A head's score is the share of questions that it answers
/// right, the candidate with the largest weight being its answer, of equals the first. The baseline is the best rule
/// that reads no weights: the n-th candidate before the row, or after it (a fixed offset), for each n, and the nearest
/// one, by tokens between.
struct Probe {
  std::string name;     // "nsubj", "coreference", "bracket"
  std::string from_to;  // "dependent to head"; empty where the name says it
  PieceRule pieces = PieceRule::sum;
  std::vector<ProbeText> texts;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_PROBE_H_
