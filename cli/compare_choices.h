#ifndef SIGHTLINE_CLI_COMPARE_CHOICES_H_
#define SIGHTLINE_CLI_COMPARE_CHOICES_H_

#include <optional>
#include <string>
#include <vector>

namespace sightline::cli {

/// What `compare` asks for beyond the options of other commands.
struct CompareChoices {
  std::optional<std::string> other;  // the second text, "-" = standard input
  std::vector<std::string> files;    // texts that are read from here; those of the arguments come before them
  std::vector<std::string> named;    // words whose weights are told
  std::string by;                    // what heads are ranked by: "divergence", "shift"; empty = as they are asked for
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_COMPARE_CHOICES_H_
