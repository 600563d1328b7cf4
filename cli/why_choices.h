#ifndef SIGHTLINE_CLI_WHY_CHOICES_H_
#define SIGHTLINE_CLI_WHY_CHOICES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sightline::cli {

/// What `why` asks for beyond the options of other commands.
struct WhyChoices {
  std::vector<std::string> answers;  // what may come after the text, or stand at a masked token
  std::string block = "all";         // which maps an edge is knocked out in
  std::int64_t edges = 512;          // words whose edges are knocked out, at most
  bool no_heads = false;             // leave out knock-outs of whole heads
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WHY_CHOICES_H_
