#include "src/engine/corpus_probes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/engine/testing.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

using analysis::PieceRule;
using analysis::Probe;
using analysis::Question;
using analysis::TokenRange;
using format::error_of;
using format::TreebankSentence;

const tokenizer::Tokenizer& tiny() {
  static const tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::open(testing::tiny_model());
  return tokenizer;
}

// One for which a text is a single token that it does not know.
tokenizer::Tokenizer one_token() {
  return tokenizer::Tokenizer::parse(
      R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
          "pre_tokenizer": null, "post_processor": null, "decoder": null,
          "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0}}})",
      "one");
}

const TreebankSentence kSentence = {{"The", "det", 3},       {"old", "amod", 3},  {"animals", "nsubj:pass", 5},
                                    {"were", "aux:pass", 5}, {"seen", "root", 0}, {"street", "obl", 5}};

const Probe& find(const CorpusProbes& corpus, std::string_view name, std::string_view from_to) {
  const auto found = std::ranges::find_if(
      corpus.probes, [&](const Probe& probe) { return probe.name == name && probe.from_to == from_to; });
  if (found == corpus.probes.end()) throw std::runtime_error("no probe " + std::string(name));
  return *found;
}

// Where each word's tokens stand, behind one special token, if words are cut by themselves.
std::vector<TokenRange> places(const TreebankSentence& sentence) {
  std::vector<TokenRange> all;
  std::int64_t at = 1;
  for (const format::TreebankWord& word : sentence) {
    const auto count = std::ssize(tiny().encode(word.form, {.add_special = false}).tokens);
    all.push_back({at, at + count});
    at += count;
  }
  return all;
}

std::vector<TokenRange> without(std::vector<TokenRange> ranges, std::size_t index) {
  ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(index));
  return ranges;
}

TEST(TreebankProbes, AskInBothDirections) {
  const CorpusProbes corpus = treebank_probes({kSentence}, {}, tiny(), "t");
  const std::vector<TokenRange> words = places(kSentence);
  const Probe& up = find(corpus, "amod", "dependent to head");
  const Probe& down = find(corpus, "amod", "head to dependent");
  EXPECT_EQ(up.pieces, PieceRule::sum);
  ASSERT_EQ(up.texts.size(), 1u);
  ASSERT_EQ(up.texts[0].questions.size(), 1u);
  const Question& to_head = up.texts[0].questions[0];
  EXPECT_EQ(to_head.row, words[1]);
  EXPECT_EQ(to_head.candidates, without(words, 1));
  EXPECT_EQ(to_head.right, std::vector<std::size_t>{1});  // "animals", the second other word
  const Question& to_dependent = down.texts.at(0).questions.at(0);
  EXPECT_EQ(to_dependent.row, words[2]);
  EXPECT_EQ(to_dependent.candidates, without(words, 2));
  EXPECT_EQ(to_dependent.right, std::vector<std::size_t>{1});
  EXPECT_TRUE(corpus.notes.empty());
}

TEST(TreebankProbes, ReadWordsWithASpaceBetween) {
  const CorpusProbes corpus = treebank_probes({kSentence}, {"det"}, tiny(), "t");
  std::vector<std::int32_t> ids, type_ids;
  for (const tokenizer::Token& token : tiny().encode("The old animals were seen street").tokens) {
    ids.push_back(token.id);
    type_ids.push_back(token.type_id);
  }
  EXPECT_EQ(corpus.probes.at(0).texts.at(0).ids, ids);
  EXPECT_EQ(corpus.probes.at(0).texts.at(0).type_ids, type_ids);
}

std::vector<std::string> names(const CorpusProbes& corpus) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < corpus.probes.size(); i += 2) names.push_back(corpus.probes[i].name);
  return names;
}

TEST(TreebankProbes, CountSubtypesWithTheirRelationButNotThePassivesSubject) {
  EXPECT_EQ(names(treebank_probes({kSentence}, {}, tiny(), "t")),
            (std::vector<std::string>{"amod", "aux", "aux:pass", "det", "nsubj:pass", "obl"}));
  EXPECT_EQ(names(treebank_probes({kSentence}, {"obl", "aux"}, tiny(), "t")), (std::vector<std::string>{"aux", "obl"}));
  const std::string message = error_of<BadArgument>([] { treebank_probes({kSentence}, {"obj"}, tiny(), "t.conllu"); });
  EXPECT_EQ(message, "t.conllu: no relation \"obj\" in it: it has amod, aux, aux:pass, det, nsubj:pass, obl");
}

TEST(TreebankProbes, LeaveOutWhatDoesNotFitAndSaySo) {
  TreebankSentence sixty, longer;
  for (std::size_t i = 0; i < kMaxSentenceWords; ++i)
    sixty.push_back({"it", i == 0 ? "root" : "dep", i == 0 ? 0u : 1u});
  longer = sixty;
  longer.push_back({"it", "dep", 1});
  // The normalizer takes a soft hyphen away: that word has no token.
  const TreebankSentence nothing = {{"\u00AD", "dep", 2}, {"it", "root", 0}};
  const CorpusProbes corpus = treebank_probes({kSentence, longer, nothing, sixty, longer}, {"dep"}, tiny(), "t");
  ASSERT_EQ(corpus.probes.size(), 2u);
  EXPECT_EQ(corpus.probes[0].texts.size(), 1u);
  EXPECT_EQ(corpus.probes[0].texts[0].questions.size(), 59u);
  EXPECT_EQ(corpus.notes,
            (std::vector<std::string>{"t: 2 sentences of more than 60 words are left out",
                                      "t: 1 sentences are left out, as their words do not match the model's tokens"}));
}

TEST(TreebankProbes, RefuseATreebankThatAsksNothing) {
  EXPECT_EQ(
      error_of<BadArgument>([] { treebank_probes({kSentence}, {}, one_token(), "t.conllu"); }),
      "t.conllu: of its 1 sentences none can be asked about: 0 have more than 60 words, and in 1 the words do not "
      "match the model's tokens");
  EXPECT_EQ(error_of<BadArgument>([] {
              treebank_probes({{{"it", "root", 0}}}, {}, tiny(), "t.conllu");
            }),
            "t.conllu: no word in it has a relation to another");
  TreebankSentence many = {{"it", "root", 0}};
  for (int i = 0; i < 1001; ++i) many.push_back({"it", fmt::format("r{}", i), 1});
  const std::string message = error_of<BadArgument>([&] { treebank_probes({many}, {}, tiny(), "t.conllu"); });
  EXPECT_EQ(message.find("t.conllu: more than 1000 different relations"), 0u) << message;
}

// "the animal saw the street, it was tired" with two names of it.
format::GapQuestion row(bool is_a, bool is_b) {
  return {"the animal saw the street, it was tired", {27, 29}, {0, 10}, {15, 25}, is_a, is_b};
}

TEST(CoreferenceProbe, AsksWhichOfTwoNames) {
  format::GapQuestion swapped = row(false, true);
  std::swap(swapped.a, swapped.b);
  const CorpusProbes corpus = coreference_probe({row(false, true), swapped}, tiny(), false, "t");
  ASSERT_EQ(corpus.probes.size(), 1u);
  const Probe& probe = corpus.probes[0];
  EXPECT_EQ(probe.name, "coreference");
  EXPECT_EQ(probe.pieces, PieceRule::max);
  const std::vector<TokenRange> words = places({{"the"}, {"animal"}, {"saw"}, {"the"}, {"street"}, {","}, {"it"}});
  ASSERT_EQ(probe.texts.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Question& question = probe.texts[i].questions.at(0);
    EXPECT_EQ(question.row, words[6]);
    EXPECT_EQ(question.candidates,
              (std::vector<TokenRange>{{words[0].begin, words[1].end}, {words[3].begin, words[4].end}}));
    EXPECT_EQ(question.right, std::vector<std::size_t>{i == 0 ? 1u : 0u});
  }
}

TEST(CoreferenceProbe, LeavesOutWhatDoesNotAskAndSaysSo) {
  format::GapQuestion ahead = row(true, false);  // the pronoun is "the animal", so that both names come later
  ahead.pronoun = {0, 10};
  ahead.a = {27, 29};
  format::GapQuestion within = row(true, false);
  within.b = {4, 10};
  const std::vector<format::GapQuestion> rows = {row(true, true), row(false, false), row(true, false), ahead, within};
  EXPECT_EQ(
      coreference_probe(rows, tiny(), false, "t").notes,
      (std::vector<std::string>{"t: 2 rows are left out, where the pronoun stands for neither name or for both",
                                "t: 1 rows are left out, where pronoun and names do not have tokens of their own"}));
  const CorpusProbes causal = coreference_probe(rows, tiny(), true, "t");
  EXPECT_EQ(causal.probes.at(0).texts.size(), 1u);
  EXPECT_EQ(causal.notes.at(2),
            "t: 1 rows are left out, where a name stands after the pronoun, which a causal model does not see");
  EXPECT_EQ(error_of<BadArgument>([&] {
              coreference_probe({ahead, row(true, true)}, tiny(), true, "t.tsv");
            }),
            "t.tsv: none of its 2 rows is left to ask about: 1 name neither or both, in 0 the names have no tokens of "
            "their own, and in 1 a name stands after the pronoun");
}

}  // namespace
}  // namespace sightline::engine
