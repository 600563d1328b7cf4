#ifndef SIGHTLINE_CLI_HEADS_CHOICES_H_
#define SIGHTLINE_CLI_HEADS_CHOICES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sightline::cli {

/// What `heads` asks for beyond the options of other commands.
struct HeadsChoices {
  std::string treebank;                // a CoNLL-U file
  std::string coreference;             // a file in GAP's format
  bool no_holdout = false;             // choose and report on all examples
  std::vector<std::string> relations;  // of the treebank; empty = all
  std::int64_t least = 20;             // questions that a role takes part with
  std::int64_t length = 0;             // tokens of generated texts; 0 = the engine's default
  std::string csv;                     // every score as a table, in this file
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEADS_CHOICES_H_
