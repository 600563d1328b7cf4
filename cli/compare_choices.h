#ifndef SIGHTLINE_CLI_COMPARE_CHOICES_H_
#define SIGHTLINE_CLI_COMPARE_CHOICES_H_

#include <string>
#include <vector>

namespace sightline::cli {

/// What `compare` asks for beyond the options of other commands.
struct CompareChoices {
  std::string other;               // the second text
  std::vector<std::string> named;  // words whose weights are told
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_COMPARE_CHOICES_H_
