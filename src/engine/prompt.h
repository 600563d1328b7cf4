#ifndef SIGHTLINE_ENGINE_PROMPT_H_
#define SIGHTLINE_ENGINE_PROMPT_H_

#include <cstddef>
#include <string>
#include <utility>

namespace sightline::engine {

/// What a model is given to read: for looks, generations and scores the same.
struct Prompt {
  Prompt(std::string of) : text(std::move(of)) {}  // NOLINT(google-explicit-constructor): a text is a prompt
  Prompt(const char* of) : text(of) {}             // NOLINT(google-explicit-constructor)
  Prompt(std::string of, bool with_special) : text(std::move(of)), special(with_special) {}

  std::string text;
  bool special = false;  // what spells a special token in the text is that token
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PROMPT_H_
