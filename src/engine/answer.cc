#include "src/engine/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/error.h"
#include "src/engine/look_data.h"

namespace sightline::engine {
namespace {

void add_to(std::vector<double>& sum, std::span<const double> values) {
  sum.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

void divide(std::vector<double>& sum, std::size_t count) {
  for (double& value : sum) value /= static_cast<double>(count);
}

// Where tokens stand in an answer's text, and what each was taken from.
struct AnswerTokens {
  std::string_view text;
  std::int64_t first = 0;                     // position of the first
  std::span<const TextSpan> at;               // bytes of `text`
  std::span<const std::vector<double>> mass;  // [tokens][segments]
};

SegmentMeans means_of(const AnswerTokens& tokens, const TextSpan& span, std::size_t begin, std::size_t end) {
  SegmentMeans means;
  means.text = tokens.text.substr(span.begin, span.end - span.begin);
  means.token_begin = tokens.first + static_cast<std::int64_t>(begin);
  means.token_end = tokens.first + static_cast<std::int64_t>(end);
  for (std::size_t i = begin; i < end; ++i) add_to(means.segment_mass, tokens.mass[i]);
  divide(means.segment_mass, end - begin);
  return means;
}

Answer summed(std::string name, const AnswerTokens& tokens) {
  Answer answer{std::move(name), {}, {}};
  const std::size_t count = tokens.at.size();
  if (count == 0) return answer;
  answer.whole = means_of(tokens, {0, tokens.text.size()}, 0, count);
  const std::vector<TextSpan> sentences = split_sentences(tokens.text);
  if (sentences.empty()) return answer;
  std::vector<std::size_t> of_token;
  for (const TextSpan& at : tokens.at) of_token.push_back(span_with_most(sentences, at.begin, at.end));
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && of_token[end] == of_token[begin]) ++end;
    answer.sentences.push_back(means_of(tokens, sentences[of_token[begin]], begin, end));
  }
  return answer;
}

std::vector<MapId> chosen(const Look& look, const ShownMaps& shown) {
  std::vector<MapId> maps = look.kept_maps();
  std::erase_if(maps, [&](const MapId& id) {
    return shown.layer.value_or(id.layer) != id.layer || shown.head.value_or(id.head) != id.head;
  });
  return maps;
}

// Tokens that lie in the bytes for the most part, and that a row stands before.
std::vector<std::size_t> tokens_in(const std::vector<LookToken>& tokens, const TextSegment& range) {
  const std::vector<TextSpan> parts = {
      {0, range.begin}, {range.begin, range.end}, {range.end, std::max(range.end, tokens.back().byte_end)}};
  std::vector<std::size_t> found;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const LookToken& token = tokens[i];
    const auto [begin, end] = bytes_of(token);
    const bool added = token.special && token.byte_begin == token.byte_end;
    if (!added && span_with_most(parts, begin, end) == 1) found.push_back(i);
  }
  return found;
}

std::vector<double> row_mass(std::span<const MapObservations> maps, std::size_t row) {
  std::vector<double> sum(static_cast<std::size_t>(maps.front().segments));
  for (const MapObservations& map : maps) {
    for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += map.on_segment(row, static_cast<std::int32_t>(s));
  }
  divide(sum, maps.size());
  return sum;
}

}  // namespace

void require_maps(const ModelFacts& model, const ShownMaps& maps) {
  const auto require = [&](std::optional<int> number, std::int64_t count, const char* what) {
    if (number.value_or(1) >= 1 && number.value_or(1) <= count) return;
    throw BadArgument(fmt::format("there is no {0} {1}: {2} has {0}s 1 to {3}", what, *number, model.name, count));
  };
  require(maps.layer, model.config.layers, "layer");
  require(maps.head, model.config.query_heads, "head");
}

std::vector<double> mean_segment_mass(const model::StepSight& sight, const ShownMaps& maps) {
  std::vector<double> sum(static_cast<std::size_t>(sight.segments));
  std::size_t count = 0;
  for (int layer = maps.layer.value_or(1); layer <= maps.layer.value_or(sight.layers); ++layer) {
    for (int head = maps.head.value_or(1); head <= maps.head.value_or(sight.heads); ++head, ++count) {
      const auto at = static_cast<std::size_t>((layer - 1) * sight.heads + head - 1) * sum.size();
      for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += sight.segment_mass[at + s];
    }
  }
  divide(sum, count);
  return sum;
}

AnswerRecord::AnswerRecord(const PromptedGeneration& prompted, const ShownMaps& maps)
    : prompted_(prompted), maps_(maps), stream_(prompted.tokenizer, prompted.generation.prompt().ids) {}

void AnswerRecord::add(const model::GeneratedToken& token) {
  const std::optional<model::GenerationEnd>& end = prompted_.generation.end();
  const bool ends = end && (end->kind == model::EndKind::end_token || end->kind == model::EndKind::stop_token);
  if (ends || token.sight == nullptr) return;
  const std::size_t begin = text_.size();
  text_ += stream_.add(token.id);
  tokens_.push_back({begin, text_.size()});
  mass_.push_back(mean_segment_mass(*token.sight, maps_));
}

Answer AnswerRecord::answer() const {
  const std::string& given = prompted_.generation.text();
  std::size_t count = tokens_.size();
  // A stop text is no part of what was given, nor are the tokens that spell it.
  const auto& end = prompted_.generation.end();
  if (end && end->kind == model::EndKind::stop_text) {
    while (count > 0 && tokens_[count - 1].begin >= given.size()) --count;
  }
  std::vector<TextSpan> at(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count));
  return summed(std::string(kGeneratedName),
                {given, std::ssize(prompted_.generation.prompt().ids), at, std::span(mass_).first(count)});
}

std::vector<Answer> answers_of(const Look& look, const ShownMaps& shown) {
  std::vector<Answer> answers;
  const std::vector<MapId> ids = chosen(look, shown);
  if (ids.empty() || !look.model().config.causal) return answers;
  std::vector<MapObservations> maps;
  for (const MapId& id : ids) maps.push_back(look.observations(id));
  for (const TextSegment& range : look.data().answers) {
    const std::vector<std::size_t> tokens = tokens_in(look.tokens(), range);
    if (tokens.empty()) continue;
    std::vector<TextSpan> at;
    std::vector<std::vector<double>> mass;
    for (const std::size_t i : tokens) {
      const auto [begin, end] = bytes_of(look.tokens()[i]);
      at.push_back({std::max(begin, range.begin) - range.begin, std::min(end, range.end) - range.begin});
      mass.push_back(row_mass(maps, i - 1));
    }
    const std::string_view text = std::string_view(look.text()).substr(range.begin, range.end - range.begin);
    answers.push_back(summed(range.name, {text, static_cast<std::int64_t>(tokens.front()), at, mass}));
  }
  return answers;
}

}  // namespace sightline::engine
