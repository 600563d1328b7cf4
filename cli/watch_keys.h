#ifndef SIGHTLINE_CLI_WATCH_KEYS_H_
#define SIGHTLINE_CLI_WATCH_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::cli {

/// What a key asks of the screen of a generation.
enum class WatchKey : std::uint8_t {
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  left,
  right,
  layer_on,    // l
  layer_back,  // L
  head_on,     // h
  head_back,   // H
  mean,        // m
  pause,       // space
  enter,
  quit,  // q
};

/// Reads keys from what a terminal sends: letters, and the sequences of ECMA-48 for the others. Sequences may come in
/// parts; those of no key are passed over.
class WatchKeys {
 public:
  std::vector<WatchKey> read(std::string_view bytes);

 private:
  std::string held_;  // the beginning of a sequence
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCH_KEYS_H_
