#include "src/engine/corpus_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sightline/error.h"
#include "src/engine/axis.h"

namespace sightline::engine {
namespace {

using analysis::Probe;
using analysis::ProbeText;
using analysis::Question;
using analysis::TokenRange;

// Probes keep every question with its candidates, 400 bytes in a sentence of usual length: a treebank of 200,000 words
// takes a fifth of this.
constexpr std::size_t kMaxProbeBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxRelations = 1000;
constexpr std::size_t kListedRelations = 20;

ProbeText text_of(const tokenizer::Encoding& encoding) {
  ProbeText text;
  for (const tokenizer::Token& token : encoding.tokens) {
    text.ids.push_back(token.id);
    text.type_ids.push_back(token.type_id);
  }
  return text;
}

// The tokens that touch bytes [begin, end) of the text; none where no token does.
std::optional<TokenRange> tokens_of(const tokenizer::Encoding& encoding, std::size_t begin, std::size_t end) {
  std::optional<TokenRange> range;
  for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
    const tokenizer::Token& token = encoding.tokens[i];
    if (token.begin == token.end || token.end <= begin || token.begin >= end) continue;
    const auto at = static_cast<std::int64_t>(i);
    range = range ? TokenRange{range->begin, at + 1} : TokenRange{at, at + 1};
  }
  return range;
}

// A sentence as a model reads it.
struct SentenceTokens {
  ProbeText text;
  std::vector<TokenRange> words;
};

std::optional<SentenceTokens> tokens_of(const format::TreebankSentence& sentence,
                                        const tokenizer::Tokenizer& tokenizer) {
  std::string text;
  std::vector<tokenizer::ByteRange> places;
  for (const format::TreebankWord& word : sentence) {
    if (!text.empty()) text += ' ';
    places.push_back({text.size(), text.size() + word.form.size()});
    text += word.form;
  }
  const tokenizer::Encoding encoding = tokenizer.encode(text);
  SentenceTokens tokens{text_of(encoding), {}};
  for (const tokenizer::ByteRange& place : places) {
    const std::optional<TokenRange> range = tokens_of(encoding, place.begin, place.end);
    if (!range || (!tokens.words.empty() && range->begin < tokens.words.back().end)) return {};
    tokens.words.push_back(*range);
  }
  return tokens;
}

bool is_passive_subject(std::string_view relation) { return relation == "nsubj:pass" || relation == "csubj:pass"; }

// The relations that a word counts for.
std::vector<std::string> relations_of(const format::TreebankWord& word) {
  if (word.head == 0 || word.relation.empty()) return {};
  const std::size_t colon = word.relation.find(':');
  if (colon == 0 || colon == word.relation.npos || is_passive_subject(word.relation)) return {word.relation};
  return {word.relation.substr(0, colon), word.relation};
}

// From word `row` of a sentence to word `right`.
Question question_between(const SentenceTokens& tokens, std::size_t row, std::size_t right) {
  Question question;
  question.row = tokens.words[row];
  question.candidates = tokens.words;
  question.candidates.erase(question.candidates.begin() + static_cast<std::ptrdiff_t>(row));
  question.right = {right < row ? right : right - 1};
  return question;
}

// The two probes of a relation.
struct RelationProbes {
  std::vector<ProbeText> to_head, to_dependent;
};

class TreebankReader {
 public:
  TreebankReader(const tokenizer::Tokenizer& tokenizer, std::string_view name) : tokenizer_(tokenizer), name_(name) {}

  // Only those relations; of an empty set all.
  void read(const std::vector<format::TreebankSentence>& sentences, const std::set<std::string>& asked) {
    for (const format::TreebankSentence& sentence : sentences) {
      for (const format::TreebankWord& word : sentence) {
        for (std::string& relation : relations_of(word)) seen_.insert(std::move(relation));
      }
      if (seen_.size() > kMaxRelations) {
        throw BadArgument(
            fmt::format("{}: more than {} different relations: no treebank has so many (DEPREL is the "
                        "eighth column)",
                        name_, kMaxRelations));
      }
    }
    require_known(asked);
    for (const format::TreebankSentence& sentence : sentences) read(sentence, asked);
    if (sentences.size() == too_long_ + unmatched_) {
      throw BadArgument(
          fmt::format("{}: of its {} sentences none can be asked about: {} have more than {} words, and "
                      "in {} the words do not match the model's tokens",
                      name_, sentences.size(), too_long_, kMaxSentenceWords, unmatched_));
    }
  }

  CorpusProbes result() {
    CorpusProbes result;
    for (auto& [relation, probes] : probes_) {
      result.probes.push_back({relation, "dependent to head", analysis::PieceRule::sum, std::move(probes.to_head)});
      result.probes.push_back(
          {relation, "head to dependent", analysis::PieceRule::sum, std::move(probes.to_dependent)});
    }
    if (too_long_ > 0) {
      result.notes.push_back(
          fmt::format("{}: {} sentences of more than {} words are left out", name_, too_long_, kMaxSentenceWords));
    }
    if (unmatched_ > 0) {
      result.notes.push_back(fmt::format(
          "{}: {} sentences are left out, as their words do not match the model's tokens", name_, unmatched_));
    }
    return result;
  }

 private:
  void require_known(const std::set<std::string>& asked) const {
    if (seen_.empty()) throw BadArgument(fmt::format("{}: no word in it has a relation to another", name_));
    for (const std::string& relation : asked) {
      if (seen_.contains(relation)) continue;
      std::string known;
      std::size_t listed = 0;
      for (auto it = seen_.begin(); it != seen_.end() && listed < kListedRelations; ++it, ++listed) {
        known += (listed > 0 ? ", " : "") + *it;
      }
      throw BadArgument(fmt::format("{}: no relation {} in it: it has {}{}", name_, in_quotes(relation), known,
                                    listed < seen_.size() ? " and others" : ""));
    }
  }

  void read(const format::TreebankSentence& sentence, const std::set<std::string>& asked) {
    if (sentence.size() > kMaxSentenceWords) {
      ++too_long_;
      return;
    }
    const std::optional<SentenceTokens> tokens = tokens_of(sentence, tokenizer_);
    if (!tokens) {
      ++unmatched_;
      return;
    }
    std::map<std::string, std::pair<ProbeText, ProbeText>> texts;  // of relations: to head, to dependent
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      for (const std::string& relation : relations_of(sentence[i])) {
        if (!asked.empty() && !asked.contains(relation)) continue;
        auto& [to_head, to_dependent] = texts.try_emplace(relation, tokens->text, tokens->text).first->second;
        const std::size_t head = sentence[i].head - 1;
        to_head.questions.push_back(question_between(*tokens, i, head));
        to_dependent.questions.push_back(question_between(*tokens, head, i));
        bytes_ += 2 * (sizeof(Question) + sentence.size() * sizeof(TokenRange));
      }
    }
    bytes_ += texts.size() * 2 * (sizeof(ProbeText) + tokens->text.ids.size() * 2 * sizeof(std::int32_t));
    if (bytes_ > kMaxProbeBytes) {
      throw BadArgument(
          fmt::format("{}: its questions take more than {} MiB: give a part of it, or some of its "
                      "relations (--relations)",
                      name_, kMaxProbeBytes >> 20));
    }
    for (auto& [relation, both] : texts) {
      probes_[relation].to_head.push_back(std::move(both.first));
      probes_[relation].to_dependent.push_back(std::move(both.second));
    }
  }

  const tokenizer::Tokenizer& tokenizer_;
  const std::string name_;
  std::set<std::string> seen_;
  std::map<std::string, RelationProbes> probes_;
  std::size_t too_long_ = 0, unmatched_ = 0, bytes_ = 0;
};

bool overlap(const TokenRange& a, const TokenRange& b) { return a.begin < b.end && b.begin < a.end; }

enum class RowFault : std::uint8_t { none, answer, tokens, unseen };

// Appends the text of a row with its question to the probe, or says why not.
RowFault add_row(const format::GapQuestion& row, const tokenizer::Tokenizer& tokenizer, bool causal, Probe& probe) {
  if (row.is_a == row.is_b) return RowFault::answer;
  const tokenizer::Encoding encoding = tokenizer.encode(row.text);
  const auto place = [&](const format::TextPlace& at) { return tokens_of(encoding, at.begin, at.end); };
  const auto pronoun = place(row.pronoun), a = place(row.a), b = place(row.b);
  if (!pronoun || !a || !b || overlap(*pronoun, *a) || overlap(*pronoun, *b) || overlap(*a, *b)) {
    return RowFault::tokens;
  }
  if (causal && std::max(a->end, b->end) > pronoun->begin) return RowFault::unseen;
  ProbeText text = text_of(encoding);
  const bool a_first = a->begin < b->begin;
  text.questions.push_back(
      {*pronoun, {a_first ? *a : *b, a_first ? *b : *a}, {row.is_a == a_first ? std::size_t{0} : std::size_t{1}}});
  probe.texts.push_back(std::move(text));
  return RowFault::none;
}

}  // namespace

CorpusProbes treebank_probes(const std::vector<format::TreebankSentence>& sentences,
                             const std::vector<std::string>& relations, const tokenizer::Tokenizer& tokenizer,
                             std::string_view name) {
  TreebankReader reader(tokenizer, name);
  reader.read(sentences, {relations.begin(), relations.end()});
  return reader.result();
}

CorpusProbes coreference_probe(const std::vector<format::GapQuestion>& rows, const tokenizer::Tokenizer& tokenizer,
                               bool causal, std::string_view name) {
  CorpusProbes result;
  Probe probe{"coreference", "", analysis::PieceRule::max, {}};
  std::map<RowFault, std::size_t> count;
  for (const format::GapQuestion& row : rows) ++count[add_row(row, tokenizer, causal, probe)];
  const auto note = [&](RowFault fault, const char* why) {
    if (count[fault] > 0) result.notes.push_back(fmt::format("{}: {} rows are left out, {}", name, count[fault], why));
  };
  note(RowFault::answer, "where the pronoun stands for neither name or for both");
  note(RowFault::tokens, "where pronoun and names do not have tokens of their own");
  note(RowFault::unseen, "where a name stands after the pronoun, which a causal model does not see");
  if (probe.texts.empty()) {
    throw BadArgument(
        fmt::format("{}: none of its {} rows is left to ask about: {} name neither or both, in {} the "
                    "names have no tokens of their own, and in {} a name stands after the pronoun",
                    name, rows.size(), count[RowFault::answer], count[RowFault::tokens], count[RowFault::unseen]));
  }
  result.probes.push_back(std::move(probe));
  return result;
}

}  // namespace sightline::engine
