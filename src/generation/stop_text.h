#ifndef SIGHTLINE_GENERATION_STOP_TEXT_H_
#define SIGHTLINE_GENERATION_STOP_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::model {

/// Looks for texts that end a text while it comes in parts. What may be the beginning of one is held back until it is
/// known not to be.
class StopText {
 public:
  /// Throws BadArgument for an empty one.
  explicit StopText(std::vector<std::string> stops);

  /// What may be shown of the text so far: nothing more once a stop was found.
  std::string add(std::string_view text);
  /// What was held back.
  std::string finish();
  /// The stop that was found: the one that begins first, of those the longest. It is in no text that was given.
  const std::optional<std::string>& found() const { return found_; }

 private:
  std::vector<std::string> stops_;  // the longest first
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_STOP_TEXT_H_
