#include "src/generation/scoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/generation/piece_progress.h"
#include "src/model/language_head.h"

namespace sightline::model {

void require_decoder(const TransformerConfig& config) {
  if (config.causal && config.language_head != LanguageHead::none) return;
  throw BadArgument(fmt::format("the model writes no text: it {}; take a decoder",
                                config.causal ? "has no output matrix" : "is an encoder"));
}

std::int64_t score_logit_bytes(const TransformerConfig& config, std::int64_t rows) {
  return std::min(rows, logit_rows_read(config.vocabulary)) * config.vocabulary * std::int64_t{sizeof(float)};
}

Scoring::Scoring(Transformer transformer, const ScoringOptions& options)
    : transformer_((require_decoder(transformer.config()), std::move(transformer))),
      options_(options),
      context_(transformer_.make_context(options.room, options.cache)),
      whole_(std::ranges::any_of(transformer_.config().ropes, &Rope::follows_length)) {}

void Scoring::knock_out(std::vector<KnockOut> knock_outs) {
  if (knock_outs == knock_outs_) return;
  context_.truncate(0);
  knock_outs_ = std::move(knock_outs);
}

void Scoring::score(std::span<const std::int32_t> ids, std::int64_t first, const OnScore& on_score) {
  if (first < 1 || std::cmp_greater_equal(first, ids.size())) {
    throw BadArgument(fmt::format("of {} tokens those from {} on were to be scored", ids.size(), first));
  }
  const auto length = std::ssize(ids);
  keep_common(ids, first - 1);
  const auto piece_to = [&](std::int64_t end) {
    const std::int64_t begin = context_.length(), count = std::min(whole_ ? length : options_.piece, end - begin);
    return ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  };
  while (!whole_ && context_.length() < first - 1) run(piece_to(first - 1), LogitRows::none, {});
  while (context_.length() < length) {
    const std::int64_t begin = context_.length();
    run(piece_to(length), LogitRows::all, [&](std::int64_t row, std::span<const float> logits) {
      // A row speaks of the next token. Where all goes through at once the first rows speak of none that is wanted.
      const auto rows = std::ssize(logits) / transformer_.config().vocabulary;
      const std::int64_t place = begin + row + 1, from = std::max(place, first), to = std::min(place + rows, length);
      if (from >= to) return;
      const auto passed = static_cast<std::size_t>((from - place) * transformer_.config().vocabulary);
      read(logits.subspan(passed), ids.subspan(0, static_cast<std::size_t>(to)), from, on_score);
    });
  }
}

// The tokens of `ids` from `place` on, of which the first row of the logits speaks.
void Scoring::read(std::span<const float> logits, std::span<const std::int32_t> ids, std::int64_t place,
                   const OnScore& on_score) const {
  const auto vocabulary = static_cast<std::size_t>(transformer_.config().vocabulary);
  const auto wanted = ids.subspan(static_cast<std::size_t>(place));
  std::vector<ops::Likelihood> found(wanted.size());
  cpu::parallel_for(std::ssize(found), options_.threads, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    found[at] = ops::likelihood(logits.subspan(at * vocabulary, vocabulary), wanted[at], options_.top);
  });
  for (const ops::Likelihood& likelihood : found) {
    if (std::isnan(likelihood.log_probability)) {
      throw BadFile("the model gives no number for a next token: its weights are damaged");
    }
    on_score(place++, likelihood);
  }
}

void Scoring::keep_common(std::span<const std::int32_t> ids, std::int64_t most) {
  const auto before = context_.tokens();
  const auto [mine, theirs] = std::ranges::mismatch(before, ids);
  const std::int64_t common = std::min<std::int64_t>(mine - before.begin(), most);
  done_ += common;
  context_.truncate(common);
}

void Scoring::run(std::span<const std::int32_t> ids, LogitRows rows, const LogitReader& read) {
  const TokenSequence text{ids, {}, &context_};
  PieceProgress progress(options_.progress, done_, options_.total);
  transformer_.forward({&text, 1}, {.threads = options_.threads,
                                    .progress = progress.hook(),
                                    .logits = rows,
                                    .read_logits = read,
                                    .knock_outs = knock_outs_});
  done_ += std::ssize(ids);
}

}  // namespace sightline::model
