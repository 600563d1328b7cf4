#ifndef SIGHTLINE_ENGINE_HEADS_H_
#define SIGHTLINE_ENGINE_HEADS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sightline/execution.h"
#include "src/analysis/head_scores.h"
#include "src/analysis/role_choice.h"

namespace sightline::engine {

struct HeadsOptions {
  bool holdout = true;                // false: chosen and reported on all examples
  std::int64_t length = 0;            // tokens of a generated text; 0: kGeneratedTokens, or the model's limit below it
  std::uint64_t seed = 0;             // of generated texts
  std::int64_t least = 20;            // questions that a role takes part with, in each half
  std::optional<int> layer, head;     // from 1; none: all
  std::optional<std::string> text;    // for roles that are a place; none: analysis::english_text()
  std::filesystem::path treebank;     // a CoNLL-U file; empty: none
  std::filesystem::path coreference;  // a file in GAP's format; empty: none
  std::vector<std::string> relations = {};  // of the treebank; empty: all
  Progress* progress = nullptr;             // told of the passes; false ends them, with what is done
};
inline constexpr std::int64_t kGeneratedTokens = 256;

/// What the heads of a model were found to do.
struct HeadRoles {
  analysis::HeadScores scores;
  analysis::RoleChoice choice;
  std::int64_t length = 0;  // of generated texts
  std::vector<std::string> notes;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_HEADS_H_
