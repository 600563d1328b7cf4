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
    std::size_t at = 0;
    while (word.size() <= max_chars_ && at < word.size()) {
      const std::optional<ModelToken> token = longest_piece(word, at);
      if (!token) break;
      out.push_back(*token);
      at = token->end;
    }
    if (at == word.size()) return;
    out.resize(first_token);
    out.push_back({unknown_, 0, word.size()});
  }

 private:
  // A start of the candidate: its last character (exclusive), its bytes and their hash.
  struct Prefix {
    std::size_t end, bytes;
    PieceHash hash;
  };

  // No candidate is longer than the longest piece, so that a word costs time in proportion to its length.
  std::optional<ModelToken> longest_piece(CharSpan word, std::size_t begin) const {
    std::string candidate = begin == 0 ? std::string() : continuing_prefix_;
    std::vector<Prefix> prefixes;
    PieceHash hash = PieceHash().add(candidate);
    for (std::size_t i = begin; i < word.size() && candidate.size() < vocabulary_.longest_piece(); ++i) {
      const std::size_t length = candidate.size();
      append_utf8(word[i].code, candidate);
      hash.add(std::string_view(candidate).substr(length));
      prefixes.push_back({i + 1, candidate.size(), hash});
    }
    for (auto p = prefixes.rbegin(); p != prefixes.rend(); ++p) {
      const auto entry = vocabulary_.find(std::string_view(candidate).substr(0, p->bytes), p->hash);
      if (entry) return {{*entry, begin, p->end}};
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
  return std::make_unique<WordPiece>(json, std::move(vocabulary));
}

}  // namespace sightline::tokenizer
