#include "src/model/forward.h"

#include <algorithm>
#include <utility>

#include "src/model/language_head.h"
#include "src/ops/elementwise.h"
#include "src/ops/embedding.h"

namespace sightline::model {

ForwardPass::ForwardPass(const TransformerConfig& config, const Weights& weights, std::span<PassSequence> sequences,
                         const ForwardOptions& options, PassMemory& memory)
    : weights_(weights), pass_(config, sequences, options, memory), layers_(weights, pass_) {
  result_.width = config.width;
  result_.row_begin.push_back(0);
  for (const PassSequence& text : sequences) {
    result_.row_begin.push_back(result_.row_begin.back() + text.length() - text.unasked);
  }
}

ForwardResult ForwardPass::run() {
  const TransformerConfig& config = pass_.config;
  embed();
  keep_hidden();
  for (int layer = 0; layer < config.layers; ++layer) {
    layers_.run(layer, hidden_);
    if (layer + 1 == config.layers && config.final_norm) normalise_rows(pass_, weights_.final_norm, hidden_);
    keep_hidden();
  }
  if (result_.row_begin.back() != pass_.rows()) hidden_ = asked(hidden_);
  if (weights_.pooler) pool();
  if (pass_.options.logits != LogitRows::none) compute_logits();
  result_.last_hidden_state = std::move(hidden_);
  return std::move(result_);
}

void ForwardPass::embed() {
  const TransformerConfig& config = pass_.config;
  const std::int64_t rows = pass_.rows(), width = config.embedding_width;
  Rows embedded(rows * width);
  for (std::size_t s = 0; s < pass_.sequences.size(); ++s) {
    add_embeddings(s, embedded.data() + pass_.row_begin[s] * width);
  }
  if (config.embedding_norm) {
    ops::normalise(weights_.embedding_norm, embedded.data(), rows, embedded.data(), pass_.options.threads);
  }
  if (width == config.width) {
    hidden_ = std::move(embedded);
    return;
  }
  hidden_.resize(rows * config.width);
  apply(pass_, weights_.embedding_projection, embedded.data(), rows, hidden_.data());
}

// Word (scaled), token type, position are added in this order, as the reference does.
void ForwardPass::add_embeddings(std::size_t sequence, float* rows) const {
  const TransformerConfig& config = pass_.config;
  const PassSequence& text = pass_.sequences[sequence];
  ops::add_embedding(weights_.word_embedding, text.ids, rows);
  if (config.embedding_scale != 1) {
    const std::size_t values = text.ids.size() * static_cast<std::size_t>(config.embedding_width);
    ops::scale({rows, values}, config.embedding_scale, pass_.options.threads);
  }
  std::vector<std::int32_t> indexes(text.ids.size(), 0);
  if (config.token_types > 0) {
    ops::add_embedding(weights_.token_type_embedding, text.type_ids.empty() ? indexes : text.type_ids, rows);
  }
  if (!config.position_embedding) return;
  number_positions(text, indexes);
  ops::add_embedding(weights_.position_embedding, indexes, rows);
}

// Rows of the position embedding, in order. Where they begin after a padding token's (RoBERTa), such a token within a
// text has its own and is not counted.
void ForwardPass::number_positions(const PassSequence& text, std::span<std::int32_t> indexes) const {
  const auto first = static_cast<std::int32_t>(pass_.config.position_offset);
  const std::int32_t padding = first - 1;  // no token's id where positions begin at 0
  std::int32_t next = first + static_cast<std::int32_t>(text.begin);
  for (std::size_t i = 0; i < indexes.size(); ++i) indexes[i] = text.ids[i] == padding ? padding : next++;
}

void ForwardPass::keep_hidden() {
  if (pass_.options.keep_hidden_states) result_.hidden_states.push_back(asked(hidden_));
}

// The rows that the caller gave ids for.
ForwardPass::Rows ForwardPass::asked(const Rows& rows) const {
  const std::int64_t width = pass_.config.width;
  if (result_.row_begin.back() == pass_.rows()) return rows;
  Rows kept;
  for (std::size_t s = 0; s < pass_.sequences.size(); ++s) {
    const std::int64_t first = pass_.row_begin[s] + pass_.sequences[s].unasked;
    kept.insert(kept.end(), rows.begin() + first * width, rows.begin() + pass_.row_begin[s + 1] * width);
  }
  return kept;
}

// The first token of each sequence through a dense layer and tanh.
void ForwardPass::pool() {
  const std::int64_t width = pass_.config.width;
  Rows first;
  for (std::size_t s = 0; s < pass_.sequences.size(); ++s) {
    const auto row = hidden_.begin() + result_.row_begin[s] * width;
    first.insert(first.end(), row, row + width);
  }
  result_.pooled.resize(first.size());
  apply(pass_, *weights_.pooler, first.data(), static_cast<std::int64_t>(pass_.sequences.size()),
        result_.pooled.data());
  ops::tanh(result_.pooled, pass_.options.threads);
}

// All at once, or for a reader a few rows at a time.
void ForwardPass::compute_logits() {
  const std::int64_t width = pass_.config.width, vocabulary = pass_.config.vocabulary;
  const Rows last = pass_.options.logits == LogitRows::last ? last_rows() : Rows();
  const Rows& rows = last.empty() ? hidden_ : last;
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  const LogitReader& read = pass_.options.read_logits;
  const std::int64_t piece = read ? logit_rows_read(vocabulary) : count;
  for (std::int64_t row = 0; row < count; row += piece) {
    const std::int64_t taken = std::min(piece, count - row);
    result_.logits.resize(taken * vocabulary);
    logits_of(pass_, *weights_.language_head, rows.data() + row * width, taken, result_.logits);
    if (read) read(row, result_.logits);
  }
  if (read) result_.logits = {};
}

// The last one of each sequence.
ForwardPass::Rows ForwardPass::last_rows() const {
  const std::int64_t width = pass_.config.width;
  Rows last;
  for (std::size_t s = 0; s < pass_.sequences.size(); ++s) {
    const auto row = hidden_.begin() + (result_.row_begin[s + 1] - 1) * width;
    last.insert(last.end(), row, row + width);
  }
  return last;
}

}  // namespace sightline::model
