#include "src/format/conllu.h"

#include <gtest/gtest.h>

#include "src/format/testing.h"

namespace sightline::format {
namespace {

// A line of a word with those columns and "_" elsewhere.
std::string word(std::string_view id, std::string_view form, std::string_view head, std::string_view relation) {
  std::string line;
  for (const std::string_view cell : {id, form, std::string_view("_"), std::string_view("_"), std::string_view("_"),
                                      std::string_view("_"), head, relation, std::string_view("_")}) {
    line += std::string(cell) + '\t';
  }
  return line + "_\n";
}

const std::string kDogs = word("1", "Dogs", "2", "nsubj") + word("2", "bark", "0", "root");

std::string refusal(std::string_view text) {
  return error_of<BadFile>([&] { parse_conllu(text, "t.conllu"); });
}

TEST(Conllu, ReadsWordsHeadsAndRelations) {
  const auto sentences = parse_conllu("# sent_id = 1\n# text = Dogs bark\n" + kDogs + "\n" +
                                          word("1", "Ça", "2", "nsubj:pass") + word("2", "va", "0", "root") + "\n",
                                      "t");
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0], (TreebankSentence{{"Dogs", "nsubj", 2}, {"bark", "root", 0}}));
  EXPECT_EQ(sentences[1], (TreebankSentence{{"Ça", "nsubj:pass", 2}, {"va", "root", 0}}));
}

TEST(Conllu, PassesOverSpellingsAndWordsThatAreMeant) {
  const auto sentences =
      parse_conllu(word("0.1", "so", "_", "_") + word("1-2", "don't", "_", "_") + word("1", "do", "3", "aux") +
                       word("2", "n't", "3", "advmod") + word("3", "go", "0", "root") + word("3.1", "on", "_", "_") +
                       word("3.2", "and", "_", "_") + word("4-4", "now", "_", "_") + word("4", "now", "3", "advmod"),
                   "t");
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0],
            (TreebankSentence{{"do", "aux", 3}, {"n't", "advmod", 3}, {"go", "root", 0}, {"now", "advmod", 3}}));
}

TEST(Conllu, TakesAnyEndOfLineAndOfFile) {
  std::string windows = kDogs + "\n";
  for (std::size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2) windows.replace(at, 1, "\r\n");
  const auto plain = parse_conllu(kDogs, "t");
  for (const std::string& text : {windows, "\xEF\xBB\xBF" + kDogs, kDogs.substr(0, kDogs.size() - 1),
                                  "\n\n" + kDogs + "\n\n\n# end", "# only a comment\n\n" + kDogs}) {
    EXPECT_EQ(parse_conllu(text, "t"), plain) << text;
  }
}

TEST(Conllu, KeepsCirclesAndWordsWithoutAHead) {
  const auto sentence =
      parse_conllu(word("1", "a", "2", "x") + word("2", "b", "1", "_") + word("3", "_", "_", "y"), "t");
  EXPECT_EQ(sentence.at(0), (TreebankSentence{{"a", "x", 2}, {"b", "", 1}, {"_", "y", 0}}));
}

TEST(Conllu, RefusesWhatIsNoTreebankSayingWhere) {
  EXPECT_EQ(refusal(""), "t.conllu: no sentence in it");
  EXPECT_EQ(refusal("# a comment\n\n"), "t.conllu: no sentence in it");
  EXPECT_EQ(refusal("Dogs bark.\n"),
            "t.conllu: line 1: there are 10 columns with a tab between any two, but this line has 1");
  EXPECT_EQ(refusal(kDogs + "\n1\ta\n"),
            "t.conllu: line 4: there are 10 columns with a tab between any two, but this line has 2");
  EXPECT_EQ(refusal(kDogs + word("4", "x", "1", "dep")),
            "t.conllu: line 3: ID is out of order: words of a sentence are 1, 2, 3 and so on; an empty line ends it");
  EXPECT_EQ(refusal(word("x", "a", "0", "root")),
            "t.conllu: line 1: ID is \"x\", not a number, a range or a number with a point");
  EXPECT_EQ(refusal(word("1", "a", "2", "dep") + word("2", "b", "3", "dep") + "\n" + kDogs),
            "t.conllu: line 2: HEAD is 3, but the sentence has 2 words");
  EXPECT_EQ(refusal(word("1", "a", "1", "dep")), "t.conllu: line 1: HEAD is the word itself");
  EXPECT_EQ(refusal(word("1", "a", "head", "dep")), "t.conllu: line 1: HEAD is \"head\", not the number of a word");
  EXPECT_EQ(refusal(word("1", "a", "0", "a b")), "t.conllu: line 1: DEPREL is \"a b\", not a relation");
  EXPECT_EQ(refusal(word("1", "", "0", "root")), "t.conllu: line 1: FORM is empty");
  EXPECT_EQ(refusal(word("1", std::string(1025, 'a'), "0", "root")),
            "t.conllu: line 1: FORM has more than the 1024 bytes that a word may have");
  EXPECT_EQ(refusal(word("1", "a", "0", std::string(65, 'r'))).find("t.conllu: line 1: DEPREL is \"rrr"), 0u);
  EXPECT_EQ(refusal(word("1", "\xC3", "0", "root")), "t.conllu: line 1: not UTF-8");
}

TEST(Conllu, RefusesNumbersOutOfOrder) {
  const std::string a = word("1", "a", "0", "root");
  for (const std::string& text :
       {a + a, word("0", "a", "0", "root"), a + word("1-2", "ab", "_", "_"), word("2-3", "ab", "_", "_"),
        word("1-2", "ab", "_", "_") + word("1-3", "abc", "_", "_"), a + word("1.2", "b", "_", "_"),
        word("1.1", "b", "_", "_"), a + word("1.1", "b", "_", "_") + word("1.1", "b", "_", "_"),
        word("2-1", "ab", "_", "_") + a, word("1-2", "ab", "_", "_") + a + word("2-3", "bc", "_", "_")}) {
    EXPECT_NE(refusal(text).find("out of order"), std::string::npos) << text;
  }
  for (const std::string& text : {word("1-2", "ab", "_", "_") + a, word("0.1", "b", "_", "_") + "\n" + a}) {
    EXPECT_NE(refusal(text).find("ends before the words that it announces"), std::string::npos) << text;
  }
  // Numbers beyond 64 bits, signs, blanks.
  for (const char* id : {"18446744073709551617", "+1", "-1", " 1", "1 ", "1.", ".1", "1-", "1-2-3", "0x1", ""}) {
    EXPECT_NE(refusal(word(id, "a", "0", "root")).find("line 1: ID is "), std::string::npos) << id;
  }
}

TEST(Conllu, ReadsAFile) {
  const TestDirectory directory;
  EXPECT_EQ(read_conllu(directory.put("dogs.conllu", kDogs)), parse_conllu(kDogs, "t"));
  const std::string message = error_of<BadFile>([&] { read_conllu(directory / "none.conllu"); });
  EXPECT_NE(message.find("none.conllu"), message.npos);
}

}  // namespace
}  // namespace sightline::format
