#include "src/model/contributions.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/model/direct_path.h"

namespace sightline::model {
namespace {

PositionRange checked_rows(PositionRange rows, std::int64_t tokens) {
  if (rows.end == PositionRange::kOpen) rows.end = tokens;
  if (rows.begin >= 0 && rows.begin < rows.end && rows.end <= tokens) return rows;
  throw BadArgument(fmt::format("an answer of rows {}..{}: the text has rows 0..{}, and it takes one at least",
                                rows.begin, rows.end - 1, tokens - 1));
}

void check_answer(const TransformerConfig& config, const Answer& answer) {
  if (!answer.direction.empty()) {
    if (std::cmp_not_equal(answer.direction.size(), config.width)) {
      throw BadArgument(fmt::format("a direction of {} numbers, where the hidden state has {}", answer.direction.size(),
                                    config.width));
    }
    if (answer.tokens.empty() && !answer.minus_mean) return;
    throw BadArgument("an answer has tokens or a direction, not both");
  }
  if (answer.tokens.empty()) throw BadArgument("an answer has tokens or a direction: this one has neither");
  if (config.language_head == LanguageHead::none) {
    throw BadArgument("the model has no language-model head, so tokens have no logits: give a direction");
  }
  for (const auto& [id, weight] : answer.tokens) {
    if (id >= 0 && id < config.vocabulary) continue;
    throw BadArgument(fmt::format("an answer names token {}, outside 0..{}", id, config.vocabulary - 1));
  }
}

// What every row's last hidden state is multiplied by, [width] or, with a language head, weights of the vocabulary.
std::vector<double> weights_of(const TransformerConfig& config, const Answer& answer) {
  if (!answer.direction.empty()) return {answer.direction.begin(), answer.direction.end()};
  double sum = 0;
  for (const auto& [id, weight] : answer.tokens) sum += weight;
  // Each token less the mean: the mean is taken as often as the weights add up to.
  const double of_each = answer.minus_mean ? -sum / static_cast<double>(config.vocabulary) : 0;
  std::vector<double> weights(static_cast<std::size_t>(config.vocabulary), of_each);
  for (const auto& [id, weight] : answer.tokens) weights[static_cast<std::size_t>(id)] += weight;
  return weights;
}

}  // namespace

double Contributions::sum() const {
  return std::accumulate(heads.begin(), heads.end(), 0.0) +
         std::accumulate(feed_forward.begin(), feed_forward.end(), 0.0) + embeddings + rest;
}

Contributions contributions(Branches& passes, const Answer& answer, Progress* progress) {
  Trunk& trunk = passes.trunk();
  const PositionRange rows = checked_rows(answer.rows, trunk.tokens());
  check_answer(trunk.config(), answer);
  try {
    const bool of_logits = answer.direction.empty();
    DirectPath path(trunk, weights_of(trunk.config(), answer), of_logits, static_cast<double>(rows.end - rows.begin));
    cpu::with_team(trunk.threads, [&] { path.run(rows, progress); });
    return path.result();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the contributions to an answer: take fewer rows");
  }
}

}  // namespace sightline::model
