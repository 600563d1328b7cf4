#ifndef SIGHTLINE_CLI_HEADS_CHOICES_H_
#define SIGHTLINE_CLI_HEADS_CHOICES_H_

#include <string>

namespace sightline::cli {

/// What `heads` asks for beyond the options of other commands.
struct HeadsChoices {
  std::string treebank;     // a CoNLL-U file
  std::string coreference;  // a file in GAP's format
  bool no_holdout = false;  // choose and report on all examples
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEADS_CHOICES_H_
