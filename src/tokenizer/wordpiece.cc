#include "src/tokenizer/wordpiece.h"

#include <algorithm>
#include <string>

#include "sightline/error.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

class WordPiece : public Model {
 public:
  WordPiece(const JsonObject& json, Vocabulary vocabulary)
      : vocabulary_(std::move(vocabulary)),
        continuing_prefix_(json.require_string("continuing_subword_prefix")),
        max_chars_(static_cast<std::size_t>(json.require_int("max_input_chars_per_word", 0))) {
    const std::string& name = json.require_string("unk_token");
    const auto unknown = vocabulary_.find(name);
    if (!unknown) {
      throw BadFile(json.where("unk_token") + " is " + format::quote(name) + ", which is not in the vocabulary");
    }
    unknown_ = *unknown;
  }
  // `unknown_` points into `vocabulary_`.
  WordPiece(const WordPiece&) = delete;
  WordPiece& operator=(const WordPiece&) = delete;

  std::string_view kind() const override { return "WordPiece"; }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  // A word of which any part is not in the vocabulary is one unknown token; pieces found before that part are dropped.
  void tokenize(CharSpan word, std::vector<ModelToken>& out) const override {
    const std::size_t first_token = out.size();
    Candidate candidate;
    std::size_t at = 0;
    while (word.size() <= max_chars_ && at < word.size()) {
      const std::optional<ModelToken> token = longest_piece(word, at, candidate);
      if (!token) break;
      out.push_back(*token);
      at = token->end;
    }
    if (at == word.size()) return;
    out.resize(first_token);
    out.push_back({unknown_, 0, word.size()});
  }

 private:
  // The bytes that might be a piece, and each of their starts that ends with a character. One for a word: memory is
  // reused.
  struct Candidate {
    struct Start {
      std::size_t end, bytes;  // of the word in characters, of the candidate in bytes
      PieceHash hash;
    };
    std::string bytes;
    std::vector<Start> starts;
  };

  // No candidate is longer than the longest piece, so that a word costs time in proportion to its length.
  std::optional<ModelToken> longest_piece(CharSpan word, std::size_t begin, Candidate& candidate) const {
    candidate.bytes = begin == 0 ? std::string_view() : std::string_view(continuing_prefix_);
    candidate.starts.clear();
    PieceHash hash = PieceHash().add(candidate.bytes);
    for (std::size_t i = begin; i < word.size() && candidate.bytes.size() < vocabulary_.longest_piece(); ++i) {
      const std::size_t length = candidate.bytes.size();
      append_utf8(word[i].code, candidate.bytes);
      hash.add(std::string_view(candidate.bytes).substr(length));
      candidate.starts.push_back({i + 1, candidate.bytes.size(), hash});
    }
    for (auto start = candidate.starts.rbegin(); start != candidate.starts.rend(); ++start) {
      const auto entry = vocabulary_.find(std::string_view(candidate.bytes).substr(0, start->bytes), start->hash);
      if (entry) return {{*entry, begin, start->end}};
    }
    return std::nullopt;
  }

  Vocabulary vocabulary_;
  std::string continuing_prefix_;
  std::size_t max_chars_;
  VocabularyEntry unknown_{};
};

}  // namespace

std::unique_ptr<const Model> make_wordpiece(const JsonObject& json, Vocabulary vocabulary) {
  json.require_object("vocab");  // not an array of scored pieces
  return std::make_unique<WordPiece>(json, std::move(vocabulary));
}

}  // namespace sightline::tokenizer
