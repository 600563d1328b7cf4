#ifndef SIGHTLINE_CLI_WATCH_LINES_H_
#define SIGHTLINE_CLI_WATCH_LINES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/watch_steps.h"
#include "cli/watched_text.h"

namespace sightline::cli {

/// A generation where there is no screen: a line a token, with what its row looked at.
class WatchLines {
 public:
  /// words: how many of the heaviest a line names.
  WatchLines(const engine::PromptedGeneration& prompted, const WatchedMaps& maps, std::size_t words, bool utf8);

  std::string line(const model::GeneratedToken& token);
  /// Text that was held back, in a line of its own.
  std::string rest(std::string_view text) const;

 private:
  WatchedText text_;
  std::vector<std::string> segments_;
  WatchedMaps maps_;
  std::size_t words_;
  bool utf8_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCH_LINES_H_
