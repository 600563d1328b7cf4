#ifndef SIGHTLINE_TOKENIZER_TESTING_H_
#define SIGHTLINE_TOKENIZER_TESTING_H_

// For tests alone: small tokenizer.json texts, and what comes out of them in a form that compares.

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sightline/tokenizer.h"
#include "src/format/testing.h"
#include "src/tokenizer/normalized_string.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {

using Json = nlohmann::json;
using format::error_of;

/// WordPiece over these pieces, with ids in their order; [UNK] is 0, [CLS] 1, [SEP] 2. Every stage but the model is
/// null.
inline Json wordpiece_file(const std::vector<std::string>& pieces) {
  Json vocab = {{"[UNK]", 0}, {"[CLS]", 1}, {"[SEP]", 2}};
  for (const std::string& piece : pieces) vocab[piece] = vocab.size();
  const Json model = {{"type", "WordPiece"},
                      {"unk_token", "[UNK]"},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", vocab}};
  return {
      {"version", "1.0"},      {"truncation", nullptr},    {"padding", nullptr},        {"added_tokens", Json::array()},
      {"normalizer", nullptr}, {"pre_tokenizer", nullptr}, {"post_processor", nullptr}, {"decoder", nullptr},
      {"model", model}};
}

inline Tokenizer parse(const Json& file) { return Tokenizer::parse(file.dump(), "tokenizer.json"); }

inline std::vector<std::string> pieces_of(const Encoding& encoding) {
  std::vector<std::string> pieces;
  for (const Token& token : encoding.tokens) pieces.push_back(token.piece);
  return pieces;
}

inline std::vector<std::int32_t> ids_of(const Encoding& encoding) {
  std::vector<std::int32_t> ids;
  for (const Token& token : encoding.tokens) ids.push_back(token.id);
  return ids;
}

using Offsets = std::vector<std::pair<std::size_t, std::size_t>>;

/// In characters of the text, as the Hugging Face library counts; tokens of the template are at (0, 0).
inline Offsets char_offsets(const Encoding& encoding, std::string_view text, std::string_view pair = {}) {
  Offsets offsets;
  for (const Token& token : encoding.tokens) {
    const std::string_view source = token.sequence == 1 ? pair : text;
    offsets.emplace_back(to_chars(source.substr(0, token.begin)).size(), to_chars(source.substr(0, token.end)).size());
  }
  return offsets;
}

/// The places in the original text that the characters stand for, in bytes.
inline Offsets places_of(CharSpan chars) {
  Offsets places;
  for (const Char& c : chars) places.emplace_back(c.begin, c.end);
  return places;
}

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_TESTING_H_
