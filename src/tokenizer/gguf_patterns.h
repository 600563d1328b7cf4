#ifndef SIGHTLINE_TOKENIZER_GGUF_PATTERNS_H_
#define SIGHTLINE_TOKENIZER_GGUF_PATTERNS_H_

#include <string>
#include <string_view>
#include <vector>

namespace sightline::tokenizer {

/// What a name in "tokenizer.ggml.pre" stands for: a GGUF file has the name alone.
struct GgufPatterns {
  std::vector<std::string_view> names;
  std::vector<std::string_view> patterns;  // one after the other, each cuts what the one before left
  bool ignores_merges = false;             // a word of the vocabulary is taken whole
  bool adds_bos = false;                   // unless the file says otherwise
};

/// Null for a name that is not known.
const GgufPatterns* find_gguf_patterns(std::string_view name);
/// All names, for messages: "bloom, chatglm-bpe, ...".
std::string gguf_pattern_names();

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_GGUF_PATTERNS_H_
