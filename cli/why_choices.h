#ifndef SIGHTLINE_CLI_WHY_CHOICES_H_
#define SIGHTLINE_CLI_WHY_CHOICES_H_

#include <string>
#include <vector>

namespace sightline::cli {

/// What `why` asks for beyond the options of other commands.
struct WhyChoices {
  std::vector<std::string> answers;  // what may come after the text, or stand at a masked token
  std::string block;                 // which maps an edge is knocked out in
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WHY_CHOICES_H_
