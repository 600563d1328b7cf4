// Attention with score and mask functions of one's own.
//
// A score function changes scores before the softmax; here keys of the query's own parity get ln 3 more, which makes
// them weigh three times as much. A mask function hides keys; here documents of three tokens see themselves alone. Both
// are plain function objects, inlined into the loop over a tile of the map.
#include <sightline/attention.h>
#include <sightline/error.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using sightline::ScorePair;
using sightline::ScoreTile;
using sightline::Sees;

constexpr std::int64_t kTokens = 200, kDocument = 3;

// [docs/functions.md
// Whether a rectangle of the map lies in documents that do not meet: then the kernel skips it.
Sees documents_in(const ScoreTile& tile) {
  const std::int64_t first_row = tile.first_row / kDocument, last_row = (tile.first_row + tile.rows - 1) / kDocument;
  const std::int64_t first_key = tile.first_key / kDocument, last_key = (tile.first_key + tile.keys - 1) / kDocument;
  return last_row < first_key || last_key < first_row ? Sees::nothing : Sees::part;
}
// docs/functions.md]

// What row i must come to: the weight of its document's first token, keys of the row's parity counting three times.
double closed_form(std::int64_t i) {
  const std::int64_t first = i / kDocument * kDocument;
  double weights = 0;
  for (std::int64_t j = first; j < first + kDocument && j < kTokens; ++j) weights += (i - j) % 2 == 0 ? 3 : 1;
  return ((i - first) % 2 == 0 ? 3 : 1) / weights;
}

// One batch, one head, numbers of width 1: [batch, heads, sequence, width].
sightline::TensorView column(const std::vector<float>& numbers) {
  return sightline::dense_view(numbers.data(), {1, 1, kTokens, 1});
}

int attend() {
  // [docs/functions.md
  const auto prefer_parity = sightline::score_function([](float score, const ScorePair& pair) {
    return (pair.row - pair.key) % 2 == 0 ? score + 1.0986123f : score;  // ln 3
  });
  const auto same_document = sightline::mask_function(
      [](const ScorePair& pair) { return pair.row / kDocument == pair.key / kDocument; }, documents_in);
  // docs/functions.md]

  // Queries and keys of 0: without the functions every key would weigh the same. Values are 1 at the first token of a
  // document and 0 elsewhere, so that the output is what those tokens weigh.
  std::vector<float> zeros(kTokens, 0), v(kTokens), out(kTokens);
  for (std::int64_t j = 0; j < kTokens; ++j) v[j] = j % kDocument == 0 ? 1.0f : 0.0f;

  sightline::AttentionProblem problem;
  problem.q = column(zeros);
  problem.k = column(zeros);
  problem.v = column(v);
  problem.score_function = &prefer_parity;
  problem.mask_function = &same_document;
  sightline::attention(problem, sightline::dense_view(out.data(), {1, 1, kTokens, 1}));

  for (std::int64_t i = 0; i < 2 * kDocument; ++i) std::printf("row %d: %.4f\n", static_cast<int>(i), out[i]);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    if (std::abs(out[i] - closed_form(i)) <= 1e-6) continue;
    std::fprintf(stderr, "functions: row %d is %g, not %g\n", static_cast<int>(i), out[i], closed_form(i));
    return 1;
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return attend();
  } catch (const sightline::Error& error) {
    std::fprintf(stderr, "functions: %s\n", error.what());
    return 1;
  }
}
