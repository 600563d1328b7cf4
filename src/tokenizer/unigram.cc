#include "src/tokenizer/unigram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/tokenizer/byte_piece.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr double kUnknownPenalty = 10;  // an unknown character scores this much less than the worst piece

// Which texts begin a piece. A bit for each by its hash, so that others pass now and then: the vocabulary decides. A
// walk over a text from some place ends after the few characters that begin any piece, not after the longest piece.
class PieceStarts {
 public:
  explicit PieceStarts(const Vocabulary& vocabulary) {
    std::size_t starts = 0;
    for_each_start(vocabulary, [&](const PieceHash&) { ++starts; });
    bits_.resize(std::bit_ceil(starts * 8 / kWordBits + 1));
    for_each_start(vocabulary, [&](const PieceHash& hash) { word(hash) |= bit(hash); });
  }

  bool may_hold(const PieceHash& hash) const {
    return (bits_[hash.value() / kWordBits & (bits_.size() - 1)] & bit(hash)) != 0;
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  static std::uint64_t bit(const PieceHash& hash) { return std::uint64_t{1} << hash.value() % kWordBits; }
  std::uint64_t& word(const PieceHash& hash) { return bits_[hash.value() / kWordBits & (bits_.size() - 1)]; }

  template <typename Visit>
  static void for_each_start(const Vocabulary& vocabulary, Visit visit) {
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      const std::string_view piece = *vocabulary.piece_of(static_cast<std::int32_t>(id));
      PieceHash hash;
      for (std::size_t at = 0; at < piece.size();) {
        const std::size_t length = decode_char(piece, at).length;
        visit(hash.add(piece.substr(at, length)));
        at += length;
      }
    }
  }

  std::vector<std::uint64_t> bits_;  // a power of two
};

class Unigram : public Model {
 public:
  Unigram(const JsonObject& json, Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)), starts_(vocabulary_) {
    const std::vector<double>& scores = vocabulary_.scores();
    if (const auto id = json.find_int("unk_id", 0)) {
      const auto piece = vocabulary_.piece_of(static_cast<std::int32_t>(std::min<std::int64_t>(*id, INT32_MAX)));
      if (!piece) {
        throw BadFile(json.where("unk_id") + " is " + std::to_string(*id) + ", but the vocabulary has " +
                      std::to_string(scores.size()) + " pieces");
      }
      unknown_ = {{*piece, static_cast<std::int32_t>(*id)}};
    }
    if (!scores.empty()) unknown_score_ = *std::min_element(scores.begin(), scores.end()) - kUnknownPenalty;
    if (json.find_bool("byte_fallback").value_or(false)) find_bytes();
  }
  // Its entries point into `vocabulary_`.
  Unigram(const Unigram&) = delete;
  Unigram& operator=(const Unigram&) = delete;

  std::string_view kind() const override { return "Unigram"; }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  void tokenize(CharSpan text, std::vector<ModelToken>& out) const override {
    Utf8 utf8(text);
    const std::vector<Node> nodes = best_paths(text, utf8);
    const std::size_t first = out.size();
    for (std::size_t end = text.size(); end > 0; end = nodes[end].begin) {
      const Node& node = nodes[end];
      const bool joins = out.size() > first && is_unknown(node.entry) && is_unknown(out.back().entry);
      if (joins) {
        out.back().begin = node.begin;
      } else {
        out.push_back({node.entry, node.begin, end});
      }
    }
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
    resolve_unknown(utf8, first, out);
  }

 private:
  // The text's bytes, and where each character begins in them.
  struct Utf8 {
    explicit Utf8(CharSpan text) {
      begins.reserve(text.size() + 1);
      for (const Char& c : text) {
        begins.push_back(bytes.size());
        append_utf8(c.code, bytes);
      }
      begins.push_back(bytes.size());
    }
    std::string_view part(std::size_t begin, std::size_t end) const {
      return std::string_view(bytes).substr(begins[begin], begins[end] - begins[begin]);
    }
    std::string bytes;
    std::vector<std::size_t> begins;
  };

  // The best way to cut the text before a character: its last piece, and the sum of its scores.
  struct Node {
    VocabularyEntry entry{};
    std::size_t begin = 0;
    double score = 0;
    bool reached = false;
    bool improves(double candidate) const { return !reached || candidate > score; }
  };

  bool is_unknown(const VocabularyEntry& entry) const { return unknown_ && entry.id == unknown_->id; }

  std::vector<Node> best_paths(CharSpan text, const Utf8& utf8) const {
    std::vector<Node> nodes(text.size() + 1);
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
      const bool character_known = extend_by_pieces(utf8, begin, nodes);
      const double score = nodes[begin].score + unknown_score_;
      if (character_known || !nodes[begin + 1].improves(score)) continue;
      if (!unknown_) {
        throw BadArgument("the tokenizer has no piece for " + format::quote(utf8.part(begin, begin + 1)) +
                          " in the text, and no unknown token");
      }
      nodes[begin + 1] = {*unknown_, begin, score, true};
    }
    return nodes;
  }

  // Follows all pieces that begin at a character; whether one of them is that character alone.
  bool extend_by_pieces(const Utf8& utf8, std::size_t begin, std::vector<Node>& nodes) const {
    bool character_known = false;
    PieceHash hash;
    for (std::size_t end = begin + 1; end < nodes.size(); ++end) {
      const std::string_view part = utf8.part(begin, end);
      if (part.size() > vocabulary_.longest_piece() || !starts_.may_hold(hash.add(utf8.part(end - 1, end)))) break;
      const auto entry = vocabulary_.find(part, hash);
      if (!entry) continue;
      character_known |= end == begin + 1;
      const double score = nodes[begin].score + vocabulary_.scores()[static_cast<std::size_t>(entry->id)];
      if (nodes[end].improves(score)) nodes[end] = {*entry, begin, score, true};
    }
    return character_known;
  }

  // Unknown characters in a row are one token: that of their spelling, if there is one, else their bytes', if all are
  // there, else the unknown one.
  void resolve_unknown(const Utf8& utf8, std::size_t first, std::vector<ModelToken>& tokens) const {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::none_of(begin, tokens.end(), [&](const ModelToken& t) { return is_unknown(t.entry); })) return;
    const std::vector<ModelToken> found(begin, tokens.end());
    tokens.resize(first);
    for (const ModelToken& token : found) {
      const std::string_view spelling = utf8.part(token.begin, token.end);
      const auto known = is_unknown(token.entry) ? vocabulary_.find(spelling) : std::optional(token.entry);
      if (known) {
        tokens.push_back({*known, token.begin, token.end});
      } else if (has_all_bytes(spelling)) {
        for (const char byte : spelling) {
          tokens.push_back({*bytes_[static_cast<unsigned char>(byte)], token.begin, token.end});
        }
      } else {
        tokens.push_back({*unknown_, token.begin, token.end, true});
      }
    }
  }

  bool has_all_bytes(std::string_view text) const {
    return std::all_of(text.begin(), text.end(),
                       [&](char byte) { return bytes_[static_cast<unsigned char>(byte)].has_value(); });
  }

  void find_bytes() {
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      bytes_[byte] = vocabulary_.find(piece_of_byte(static_cast<unsigned char>(byte)));
    }
  }

  Vocabulary vocabulary_;
  PieceStarts starts_;
  std::optional<VocabularyEntry> unknown_;
  double unknown_score_ = 0;
  std::array<std::optional<VocabularyEntry>, 256> bytes_{};  // pieces that stand for a byte; none without byte fallback
};

}  // namespace

std::unique_ptr<const Model> make_unigram(const JsonObject& json, Vocabulary vocabulary) {
  json.require_array("vocab");  // not an object of ids
  return std::make_unique<Unigram>(json, std::move(vocabulary));
}

}  // namespace sightline::tokenizer
