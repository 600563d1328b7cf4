#ifndef SIGHTLINE_TOKENIZER_H_
#define SIGHTLINE_TOKENIZER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::format {
class GgufMetadata;
}

namespace sightline::tokenizer {

/// One token of an encoding.
struct Token {
  std::int32_t id = 0;
  std::string piece;  // as the vocabulary spells it ("##ing", "[CLS]"); an added token in the text, as it stands there
  std::size_t begin = 0, end = 0;  // byte range in the original UTF-8 text; empty for tokens that the template added
  std::int32_t type_id = 0;
  std::int32_t sequence = -1;  // 0 = text, 1 = pair, -1 = added by the template
  std::int32_t word = -1;      // which pre-token of its sequence it came from, ascending; -1 = none
  bool special = false;        // added by the template (the special-tokens mask of the reference)
  bool control = false;        // a special token that stands in the text (EncodeOptions::parse_special)
};

/// Bytes [begin, end) of a text.
struct ByteRange {
  std::size_t begin = 0, end = 0;
};

struct EncodeOptions {
  bool add_special = true;
  std::size_t max_length = 0;  // 0: no limit; else cut to that many tokens, special ones counted
  enum class Side : std::uint8_t { right, left } cut = Side::right;
  /// False: what spells a special token in the text is text like any other, and never becomes that token. True: it
  /// does, as in the reference library. Added tokens that are not special are found always.
  bool parse_special = false;
  /// Where it does not even so: a special token that would overlap one of these ranges of the text (not of the pair) is
  /// text. Ascending, apart from one another; must outlive the call. What users say in a chat is such a range, what its
  /// template says is not.
  std::span<const ByteRange> plain = {};
};

struct Encoding {
  std::vector<Token> tokens;
  std::size_t cut = 0;  // tokens that truncation removed
};

/// How a vocabulary spells text: what a reader of its pieces must know.
struct Spelling {
  bool byte_level = false;   // a glyph for each byte: "Ġ" is a space
  bool byte_pieces = false;  // "<0xF0>" is a byte
  std::string space;         // what stands for a space ("▁"); empty: a space does
  std::string continuing;    // what begins a piece that goes on with a word ("##"); empty: nothing does
};

/// What is not in a GGUF file, or shall not be taken from it.
struct GgufTokenizerOptions {
  std::string pre;  // in place of its "tokenizer.ggml.pre", which names the patterns that cut words; empty: that one
};

/// What a tokenizer can give to a single text, for models that take its numbers as indexes.
struct TokenRange {
  std::int32_t largest_id = -1;
  std::string largest_piece;  // the piece of that id
  std::int32_t largest_type_id = 0;
  bool keeps_text = true;  // false: the template leaves the text out
};

/// A tokenizer executed from tokenizer.json as it stands: normalizer, pre-tokenizer, model, post-processor (template),
/// decoder and added tokens, each by the type it names. A type not supported is refused by name (UnsupportedModel).
/// `padding` and `truncation` of the file are read and reported, and never act by themselves.
class Tokenizer {
 public:
  /// The tokenizer of a model, of which no other file is read: a directory's tokenizer.json, or what a GGUF file holds.
  /// Throws BadFile, UnsupportedModel, and BadArgument for options where there is no GGUF file.
  static Tokenizer open(const std::filesystem::path& model, const GgufTokenizerOptions& options = {});
  /// Throws BadFile, UnsupportedModel.
  static Tokenizer load(const std::filesystem::path& tokenizer_json);
  /// From the JSON text; `name` is used in messages.
  static Tokenizer parse(std::string_view json, std::string_view name);
  /// The one in a GGUF file. Throws BadFile, UnsupportedModel, BadArgument for an option.
  static Tokenizer from_gguf(const format::GgufMetadata& metadata, const GgufTokenizerOptions& options = {});

  /// Throws BadArgument for text that is not UTF-8 (saying at which byte) and plain ranges out of order, BadFile where
  /// the normalizer makes the text grow beyond bounds or a pattern runs away, OutOfMemory. Added tokens found in the
  /// text become those tokens, as the file's flags say; special ones if asked for.
  Encoding encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options) const;
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const {
    return encode(text, std::nullopt, options);
  }

  /// Throws BadArgument for an id that is not in the vocabulary.
  std::string decode(const std::vector<std::int32_t>& ids, bool skip_special) const;

  std::size_t vocabulary_size() const;  // added tokens counted
  std::optional<std::int32_t> id_of(std::string_view piece) const;
  TokenRange range() const;
  /// A hash of what it was read from: the JSON, or a GGUF file's "tokenizer.ggml." and the options.
  const std::string& identity() const;
  std::string_view kind() const;  // "WordPiece"
  const Spelling& spelling() const;
  std::string piece_of(std::int32_t id) const;         // throws BadArgument as decode() does
  bool is_special(std::int32_t id) const;              // one that decoding can leave out
  std::optional<std::size_t> file_padding() const;     // fixed length that the file's padding names, if any
  std::optional<std::size_t> file_truncation() const;  // max_length that the file's truncation names, if any

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_H_
