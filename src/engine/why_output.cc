// What an input's passes are measured by: answers after the text, at a place in it, or vectors.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/engine/session.h"
#include "src/engine/token_label.h"
#include "src/engine/why.h"

namespace sightline::engine {
namespace {

using Ids = std::vector<std::int32_t>;
using Kind = analysis::Output::Kind;

Kind kind_of(const model::TransformerConfig& config) {
  if (config.language_head == model::LanguageHead::none) return Kind::vector;
  return config.causal ? Kind::continuation : Kind::place;
}

void require_answer(const std::string& answer) {
  if (answer.empty()) throw BadArgument("an answer is empty: give what may come after the text, or stand in it");
}

bool is_mask(const LookToken& token) { return token.special && (token.piece == "[MASK]" || token.piece == "<mask>"); }

// The token at which answers are read: the row's own if it is masked, else the only one that is, else the row's own.
std::int64_t answer_place(const std::vector<LookToken>& tokens, const AxisItem& row) {
  const auto masks = std::ranges::count_if(tokens, is_mask);
  const bool masked = is_mask(tokens[static_cast<std::size_t>(row.token_begin)]);
  if (masks == 1) return std::ranges::find_if(tokens, is_mask) - tokens.begin();
  if (masks > 1 && !masked) {
    throw BadArgument(fmt::format(
        "the text has {} masked tokens, and an answer stands at one: mask one alone, or take its own row", masks));
  }
  const std::int64_t pieces = row.token_end - row.token_begin;
  if (pieces > 1) {
    throw BadArgument(fmt::format(
        "{0} is {1} pieces, and an answer stands at one: name it, as {2}/1, or mask a token of the text ([MASK] with "
        "--special)",
        in_quotes(row.label), pieces, shortened(row.label)));
  }
  return row.token_begin;
}

}  // namespace

// The one token that the answer is, to stand at a place.
Ids Session::answer_at_place(const std::string& answer) const {
  require_answer(answer);
  Prompt prompt(answer);
  prompt.add_special = false;
  const tokenizer::Encoding encoding = encode(prompt);
  std::string pieces;
  for (const tokenizer::Token& token : encoding.tokens) pieces += (pieces.empty() ? "" : ", ") + token.piece;
  if (encoding.tokens.empty()) {
    throw BadArgument(fmt::format("nothing of the answer {} becomes a token: give a word", in_quotes(answer)));
  }
  if (encoding.tokens.size() > 1) {
    throw BadArgument(fmt::format("the answer {} is {} tokens ({}), and one stands at a place: give a word that is one",
                                  in_quotes(answer), encoding.tokens.size(), shortened(pieces)));
  }
  const tokenizer::Token& token = encoding.tokens.front();
  if ((token.piece == "[UNK]" || token.piece == "<unk>") && answer != token.piece) {
    throw BadArgument(
        fmt::format("the answer {} is not in the vocabulary of {}: give another word", in_quotes(answer), facts_.name));
  }
  return {token.id};
}

// The tokens that the answer adds to the text, which stay what they are.
Ids Session::answer_after(const Prompt& prompt, const Ids& text, const std::string& answer) const {
  require_answer(answer);
  Prompt whole = prompt;
  whole.text += answer;
  Ids ids;
  for (const LookToken& token : read_for_score(whole).tokens) ids.push_back(token.id);
  if (ids.size() < text.size() || !std::equal(text.begin(), text.end(), ids.begin())) {
    throw BadArgument(
        fmt::format("the answer {} changes how the text's end is read: begin it with a space, or end the text where "
                    "a word ends",
                    in_quotes(answer)));
  }
  ids.erase(ids.begin(), ids.begin() + std::ssize(text));
  if (ids.empty()) {
    throw BadArgument(fmt::format("nothing of the answer {} becomes a token: give a word", in_quotes(answer)));
  }
  if (std::cmp_greater(text.size() + ids.size(), facts_.max_tokens)) {
    throw BadArgument(fmt::format("text and answer {} have {} tokens, and {} takes at most {}: shorten the text",
                                  in_quotes(answer), text.size() + ids.size(), facts_.name, facts_.max_tokens));
  }
  return ids;
}

analysis::Output Session::why_output(const Prompt& prompt, const Look& look, const AxisItem& row,
                                     const WhyOptions& options) const {
  analysis::Output output;
  output.kind = kind_of(facts_.config);
  output.rows = {row.token_begin, row.token_end};
  for (const tokenizer::Token& token : encode_for_look(prompt, options.truncate).tokens) {
    output.ids.push_back(token.id);
    output.type_ids.push_back(token.type_id);
  }
  if (output.kind == Kind::vector && !options.answers.empty()) {
    throw BadArgument(fmt::format(
        "{} has no output matrix, so that no answer has a probability: leave the answer out, and see how the text's "
        "vector moves",
        facts_.name));
  }
  if (output.kind == Kind::place) {
    output.place = answer_place(look.tokens(), row);
    for (const std::string& answer : options.answers) output.answers.push_back(answer_at_place(answer));
  }
  if (output.kind != Kind::continuation) return output;
  if (look.cut_tokens() == 0) output.ids.resize(read_for_score(prompt).tokens.size());  // without what ends a text
  output.type_ids.resize(output.ids.size());
  if (std::cmp_greater(row.token_end, output.ids.size())) {
    throw BadArgument(
        fmt::format("{} stands after what the answer is read from, and what comes later changes nothing in this model: "
                    "take a word of the text",
                    in_quotes(row.label)));
  }
  for (const std::string& answer : options.answers) {
    output.answers.push_back(answer_after(prompt, output.ids, answer));
  }
  return output;
}

// What the numbers of a sweep are, once it has read the whole pass.
std::vector<WhyMeasure> Session::why_measures(const analysis::EdgeSweep& sweep, const WhyOptions& options) const {
  const analysis::Output& output = sweep.output();
  using Of = WhyMeasure::Kind;
  std::vector<WhyMeasure> measures;
  if (output.kind == Kind::vector) measures = {{Of::text_vector, {}, {}}, {Of::row_vector, {}, {}}};
  for (std::size_t i = 0; i < output.answers.size(); ++i) {
    const Ids& ids = output.answers[i];
    const bool likeliest = options.answers.empty();
    measures.push_back(
        {Of::log_probability, likeliest ? token_label(model_.tokenizer, ids[0]) : options.answers[i], ids, likeliest});
  }
  if (output.answers.size() > 1) measures.push_back({Of::margin, {}, {}});
  for (std::size_t i = 0; i < measures.size(); ++i) measures[i].value = sweep.values()[i];
  return measures;
}

}  // namespace sightline::engine
