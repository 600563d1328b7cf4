#ifndef SIGHTLINE_ENGINE_PROMPT_H_
#define SIGHTLINE_ENGINE_PROMPT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sightline/tokenizer.h"

namespace sightline::engine {

/// Bytes [begin, end) of a text under a name: a document, a question, what a user said.
struct TextSegment {
  std::string name;
  std::size_t begin = 0, end = 0;

  bool operator==(const TextSegment&) const = default;
};

/// What a model is given to read: for looks, generations and scores the same.
struct Prompt {
  // NOLINTBEGIN(google-explicit-constructor): a text is a prompt
  Prompt(std::string of) : text(std::move(of)) {}
  Prompt(std::string_view of) : text(of) {}
  Prompt(const char* of) : text(of) {}
  // NOLINTEND(google-explicit-constructor)
  Prompt(std::string of, bool with_special) : text(std::move(of)), special(with_special) {}

  std::string text;
  bool special = false;                          // what spells a special token in the text is that token
  std::vector<tokenizer::ByteRange> plain = {};  // but not here: ascending, apart from one another
  bool add_special = true;                       // the tokenizer puts tokens of its own around the text
  std::vector<TextSegment> segments = {};        // ascending, apart from one another; several may have one name
  std::vector<TextSegment> answers = {};         // what a model said in it, likewise; its rows can be summed up
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PROMPT_H_
