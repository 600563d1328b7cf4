#include "src/tokenizer/bpe.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/byte_piece.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::size_t kTableChars = 0x250;  // characters whose pieces are in a table: byte glyphs are below
constexpr std::size_t kCachedWords = 8192;
constexpr std::size_t kCachedLength = 32;  // characters; longer words seldom come twice

struct Symbol {
  std::int32_t id;        // kNone: merged into the one before it
  std::int32_t previous;  // indices of symbols, or kNone
  std::int32_t next;
  std::uint32_t begin, end;  // characters of the word
};

struct Candidate {
  std::int32_t rank;
  std::int32_t left;  // index of the symbol
  std::int32_t id;    // of what the merge makes
  bool operator>(const Candidate& other) const { return std::tie(rank, left) > std::tie(other.rank, other.left); }
};

std::uint64_t hash_of(CharSpan word) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const Char& c : word) hash = (hash ^ c.code) * 0x100000001B3u;
  return hash ^ hash >> 29;
}

/// The words that came last, by their hashes: texts repeat their words, and most are found here.
class WordCache {
 public:
  struct Word {
    std::u32string text;
    std::vector<ModelToken> tokens;
  };

  /// The place of the word, which may hold another.
  Word& place_of(CharSpan word) {
    if (words_.empty()) words_.resize(kCachedWords);
    return words_[hash_of(word) % kCachedWords];
  }
  static bool holds(const Word& place, CharSpan word) {
    return !place.tokens.empty() && std::ranges::equal(place.text, word, {}, {}, [](const Char& c) { return c.code; });
  }

 private:
  std::vector<Word> words_;
};

// What tokenizing one text at a time needs and the next can use again.
struct Workspace {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::string piece;
  WordCache cache;
};

/// Workspaces that no thread uses now.
class Workspaces {
 public:
  std::unique_ptr<Workspace> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace> workspace) {
    constexpr std::size_t kMostSymbols = 1 << 16;  // what a single long word took is not kept
    if (workspace->symbols.capacity() > kMostSymbols || workspace->heap.capacity() > kMostSymbols) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

class Bpe : public Model {
 public:
  Bpe(const JsonObject& json, Vocabulary vocabulary, Merges merges)
      : vocabulary_(std::move(vocabulary)),
        merges_(std::move(merges)),
        prefix_(text_of(json, "continuing_subword_prefix")),
        suffix_(text_of(json, "end_of_word_suffix")),
        fuses_unknown_(json.find_bool("fuse_unk").value_or(false)),
        ignores_merges_(json.find_bool("ignore_merges").value_or(false)),
        parts_words_(prefix_.empty() && suffix_.empty() && !ignores_merges_) {
    if (json.find_number("dropout").value_or(0) != 0) {
      throw UnsupportedModel(json.where("dropout") + " is not 0: merges left out by chance are not supported");
    }
    read_unknown(json);
    if (json.find_bool("byte_fallback").value_or(false)) find_bytes();
    for (char32_t c = 0; c < kTableChars; ++c) table_[c] = id_of_char(c);
  }
  Bpe(const Bpe&) = delete;
  Bpe& operator=(const Bpe&) = delete;

  std::string_view kind() const override { return "BPE"; }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  void tokenize(CharSpan word, std::vector<ModelToken>& out) const override {
    std::unique_ptr<Workspace> workspace = workspaces_.take();
    for (std::size_t begin = 0, end; begin < word.size(); begin = end) {
      end = end_of_part(word, begin, workspace->piece);
      const std::size_t first = out.size();
      tokenize_part(word.subspan(begin, end - begin), *workspace, out);
      for (std::size_t i = first; begin > 0 && i < out.size(); ++i) {
        out[i].begin += begin;
        out[i].end += begin;
      }
    }
    workspaces_.give_back(std::move(workspace));
  }

 private:
  static std::string text_of(const JsonObject& json, std::string_view key) {
    const std::string* text = json.find_string(key);
    return text == nullptr ? std::string() : *text;
  }

  // A long word (with SentencePiece's rule the whole text is one) is tokenized in parts that no merge can span. The
  // parts' tokens are those of the word: where two characters that are pieces of their own stand side by side, each
  // begins as a symbol spelled like it. A merge spells what it makes as its left piece and then its right one (without
  // a prefix of what continues a word), so at any time the symbol that holds the first character as its last ends with
  // it, and the symbol that holds the second as its first begins with it. A merge of these two would be one whose
  // pieces have these characters there; if there is none, they stay apart whatever else is merged. Merges on either
  // side of the place then never meet, and their order within each side is the same alone, since ranks and places
  // compare as before. Next to characters that are no pieces (bytes, unknown ones, which may be fused or vanish)
  // nothing is parted.
  std::size_t end_of_part(CharSpan word, std::size_t begin, std::string& piece) const {
    if (word.size() <= kCachedLength || !parts_words_) return word.size();
    for (std::size_t i = begin + 1; i < word.size(); ++i) {
      if (merges_.may_join(word[i - 1].code, word[i].code)) continue;
      if (id_at(word, i - 1, piece) != kNone && id_at(word, i, piece) != kNone) return i;
    }
    return word.size();
  }

  void tokenize_part(CharSpan part, Workspace& workspace, std::vector<ModelToken>& out) const {
    if (part.size() > kCachedLength) return cut(part, workspace, out);
    WordCache::Word& place = workspace.cache.place_of(part);
    if (!WordCache::holds(place, part)) {
      place.tokens.clear();
      cut(part, workspace, place.tokens);
      place.text.clear();
      for (const Char& c : part) place.text += c.code;
    }
    out.insert(out.end(), place.tokens.begin(), place.tokens.end());
  }

  void read_unknown(const JsonObject& json) {
    const std::string* name = json.find_string("unk_token");
    if (name == nullptr) return;
    if (const auto entry = vocabulary_.find(*name)) unknown_ = entry->id;
    // No fault of the file as long as every character is in the vocabulary.
    if (unknown_ == kNone) {
      missing_unknown_ = json.where("unk_token") + " is " + format::quote(*name) +
                         ", which is not in the vocabulary, and a character of the text is not, either";
    }
  }

  void find_bytes() {
    falls_back_ = true;
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      const auto entry = vocabulary_.find(piece_of_byte(static_cast<unsigned char>(byte)));
      bytes_[byte] = entry ? entry->id : kNone;
    }
  }

  std::int32_t id_of_piece(std::string_view piece) const {
    const auto entry = vocabulary_.find(piece);
    return entry ? entry->id : kNone;
  }

  std::int32_t id_of_char(char32_t c) const {
    std::string piece;
    append_utf8(c, piece);
    return id_of_piece(piece);
  }

  void cut(CharSpan word, Workspace& workspace, std::vector<ModelToken>& out) const {
    if (ignores_merges_) {
      workspace.piece.clear();
      for (const Char& c : word) append_utf8(c.code, workspace.piece);
      if (const auto entry = vocabulary_.find(workspace.piece)) {
        out.push_back({*entry, 0, word.size()});
        return;
      }
    }
    read_symbols(word, workspace);
    merge(workspace);
    for (const Symbol& symbol : workspace.symbols) {
      if (symbol.id != kNone) out.push_back({{*vocabulary_.piece_of(symbol.id), symbol.id}, symbol.begin, symbol.end});
    }
  }

  // A character is a piece, or else the pieces of its bytes, or else unknown; without an unknown token it vanishes.
  void read_symbols(CharSpan word, Workspace& workspace) const {
    workspace.symbols.clear();
    Symbol unknown{kNone, 0, 0, 0, 0};  // not yet appended: it may grow
    for (std::size_t i = 0; i < word.size(); ++i) {
      const std::int32_t id = id_at(word, i, workspace.piece);
      const auto begin = static_cast<std::uint32_t>(i);
      if (id != kNone) {
        append_unknown(unknown, workspace);
        append({id, 0, 0, begin, begin + 1}, workspace);
      } else if (!append_bytes(word, i, workspace)) {
        if (unknown.id == kNone || !fuses_unknown_) {
          append_unknown(unknown, workspace);
          unknown = {unknown_id(), 0, 0, begin, begin};
        }
        unknown.end = begin + 1;
      }
    }
    append_unknown(unknown, workspace);
    if (!workspace.symbols.empty()) workspace.symbols.back().next = kNone;
  }

  static void append(Symbol symbol, Workspace& workspace) {
    const auto index = static_cast<std::int32_t>(workspace.symbols.size());
    symbol.previous = index - 1;
    symbol.next = index + 1;
    workspace.symbols.push_back(symbol);
  }

  static void append_unknown(Symbol& unknown, Workspace& workspace) {
    if (unknown.id != kNone) append(unknown, workspace);
    unknown.id = kNone;
  }

  std::int32_t unknown_id() const {
    if (!missing_unknown_.empty()) throw BadFile(missing_unknown_);
    return unknown_;
  }

  std::int32_t id_at(CharSpan word, std::size_t i, std::string& piece) const {
    const bool plain = (i == 0 || prefix_.empty()) && (i + 1 < word.size() || suffix_.empty());
    if (plain && word[i].code < kTableChars) return table_[word[i].code];
    spell(word, i, piece);
    return id_of_piece(piece);
  }

  void spell(CharSpan word, std::size_t i, std::string& piece) const {
    piece = i == 0 ? std::string_view() : std::string_view(prefix_);
    append_utf8(word[i].code, piece);
    if (i + 1 == word.size()) piece += suffix_;
  }

  bool append_bytes(CharSpan word, std::size_t i, Workspace& workspace) const {
    if (!falls_back_) return false;
    spell(word, i, workspace.piece);
    const auto id_of = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    if (std::ranges::any_of(workspace.piece, [&](char byte) { return id_of(byte) == kNone; })) return false;
    const auto begin = static_cast<std::uint32_t>(i);
    for (const char byte : workspace.piece) append({id_of(byte), 0, 0, begin, begin + 1}, workspace);
    return true;
  }

  void merge(Workspace& workspace) const {
    std::vector<Symbol>& symbols = workspace.symbols;
    std::vector<Candidate>& heap = workspace.heap;
    heap.clear();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) add_candidate(static_cast<std::int32_t>(i), workspace);
    while (!heap.empty()) {
      std::ranges::pop_heap(heap, std::greater<>());
      const Candidate candidate = heap.back();
      heap.pop_back();
      Symbol& left = symbols[static_cast<std::size_t>(candidate.left)];
      if (left.id == kNone || left.next == kNone) continue;
      Symbol& right = symbols[static_cast<std::size_t>(left.next)];
      const Merges::Merge* still = merges_.find(left.id, right.id);
      if (still == nullptr || still->id != candidate.id) continue;  // one of both has been merged since
      left.id = candidate.id;
      left.end = right.end;
      left.next = right.next;
      right.id = kNone;
      if (left.next != kNone) symbols[static_cast<std::size_t>(left.next)].previous = candidate.left;
      if (left.previous != kNone) add_candidate(left.previous, workspace);
      if (left.next != kNone) add_candidate(candidate.left, workspace);
    }
  }

  void add_candidate(std::int32_t left, Workspace& workspace) const {
    const Symbol& symbol = workspace.symbols[static_cast<std::size_t>(left)];
    const Symbol& right = workspace.symbols[static_cast<std::size_t>(symbol.next)];
    const Merges::Merge* merge = merges_.find(symbol.id, right.id);
    if (merge == nullptr) return;
    workspace.heap.push_back({merge->rank, left, merge->id});
    std::ranges::push_heap(workspace.heap, std::greater<>());
  }

  Vocabulary vocabulary_;
  Merges merges_;
  std::string prefix_, suffix_;  // of every character but the first; of the last
  bool fuses_unknown_, ignores_merges_;
  bool parts_words_;  // characters are the same symbols wherever they stand
  bool falls_back_ = false;
  std::int32_t unknown_ = kNone;
  std::string missing_unknown_;  // the fault, if the unknown token is named but is not in the vocabulary
  std::array<std::int32_t, kTableChars> table_{};
  std::array<std::int32_t, 256> bytes_{};  // with byte fallback
  mutable Workspaces workspaces_;
};

}  // namespace

std::unique_ptr<const Model> make_bpe(const JsonObject& json, Vocabulary vocabulary, Merges merges) {
  json.require_object("vocab");  // not an array of scored pieces
  return std::make_unique<Bpe>(json, std::move(vocabulary), std::move(merges));
}

}  // namespace sightline::tokenizer
