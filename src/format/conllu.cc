#include "src/format/conllu.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/json.h"
#include "src/format/text_lines.h"

namespace sightline::format {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxForm = 1024, kMaxRelation = 64;  // bytes
enum Column : std::uint8_t { kId = 0, kForm = 1, kHead = 6, kRelation = 7, kColumns = 10 };

// Decimal digits and nothing else.
std::optional<std::size_t> number_of(std::string_view digits) {
  std::size_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// "3-4" and "8.1": the numbers before and behind the sign.
struct NumberPair {
  std::size_t first, second;
};
std::optional<NumberPair> pair_of(std::string_view id, char sign) {
  const std::size_t at = id.find(sign);
  if (at == id.npos) return {};
  const auto first = number_of(id.substr(0, at)), second = number_of(id.substr(at + 1));
  if (!first || !second) return {};
  return NumberPair{*first, *second};
}

bool is_relation(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRelation &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7F'; });
}

class ConlluParser {
 public:
  ConlluParser(std::string_view text, std::string_view name) : lines_(text, name) {}

  std::vector<TreebankSentence> parse() {
    while (lines_.next()) {
      const std::string_view line = lines_.line();
      if (line.empty()) {
        end_sentence();
      } else if (line.front() != '#') {
        read(lines_.cells(kColumns));
      }
    }
    end_sentence();
    return std::move(sentences_);
  }

 private:
  void read(const std::vector<std::string_view>& cells) {
    const std::string_view id = cells[kId];
    if (const auto range = pair_of(id, '-')) {
      read_range(*range);
    } else if (const auto meant = pair_of(id, '.')) {
      read_meant(*meant);
    } else {
      read_word(cells);
    }
  }

  // Before its first word, and after the last word of the range before it.
  void read_range(const NumberPair& range) {
    if (range.first != words_.size() + 1 || range.second < range.first || range.first <= range_end_) refuse_order();
    range_end_ = range.second;
  }

  // Behind the word whose number it has, counted from 1.
  void read_meant(const NumberPair& meant) {
    if (meant.first != words_.size() || meant.second != meant_ + 1) refuse_order();
    ++meant_;
  }

  void read_word(const std::vector<std::string_view>& cells) {
    const auto id = number_of(cells[kId]);
    if (!id) lines_.refuse("ID is " + quote(cells[kId]) + ", not a number, a range or a number with a point");
    if (*id != words_.size() + 1) refuse_order();
    if (cells[kForm].empty()) lines_.refuse("FORM is empty");
    if (cells[kForm].size() > kMaxForm) {
      lines_.refuse("FORM has more than the " + std::to_string(kMaxForm) + " bytes that a word may have");
    }
    TreebankWord word{std::string(cells[kForm]), "", 0};
    if (cells[kRelation] != "_") {
      if (!is_relation(cells[kRelation])) lines_.refuse("DEPREL is " + quote(cells[kRelation]) + ", not a relation");
      word.relation = cells[kRelation];
    }
    if (cells[kHead] != "_") {
      const auto head = number_of(cells[kHead]);
      if (!head) lines_.refuse("HEAD is " + quote(cells[kHead]) + ", not the number of a word");
      if (*head == *id) lines_.refuse("HEAD is the word itself");
      word.head = *head;
    }
    words_.push_back(std::move(word));
    word_lines_.push_back(lines_.number());
    meant_ = 0;
  }

  void end_sentence() {
    if (range_end_ > words_.size() || (words_.empty() && meant_ > 0)) {
      lines_.refuse("the sentence ends before the words that it announces");
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i].head <= words_.size()) continue;
      lines_.refuse_line(word_lines_[i], "HEAD is " + std::to_string(words_[i].head) + ", but the sentence has " +
                                             std::to_string(words_.size()) + " words");
    }
    if (!words_.empty()) sentences_.push_back(std::move(words_));
    words_.clear();
    word_lines_.clear();
    range_end_ = meant_ = 0;
  }

  [[noreturn]] void refuse_order() {
    lines_.refuse("ID is out of order: words of a sentence are 1, 2, 3 and so on; an empty line ends it");
  }

  TextLines lines_;
  std::vector<TreebankSentence> sentences_;
  TreebankSentence words_;               // of the sentence that is being read
  std::vector<std::size_t> word_lines_;  // of words_
  std::size_t range_end_ = 0;            // last word of the last range of that sentence
  std::size_t meant_ = 0;                // words that are only meant behind its last word
};

}  // namespace

std::vector<TreebankSentence> parse_conllu(std::string_view text, std::string_view name) {
  std::vector<TreebankSentence> sentences = ConlluParser(text, name).parse();
  if (sentences.empty()) throw BadFile(std::string(name) + ": no sentence in it");
  return sentences;
}

std::vector<TreebankSentence> read_conllu(const std::filesystem::path& path) {
  return parse_conllu(read_file(path, kMaxBytes), path.string());
}

}  // namespace sightline::format
