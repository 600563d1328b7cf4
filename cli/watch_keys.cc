#include "cli/watch_keys.h"

#include <map>
#include <optional>

namespace sightline::cli {
namespace {

constexpr std::size_t kLongestSequence = 32;

template <class Name>
std::optional<WatchKey> find(const std::map<Name, WatchKey>& keys, const Name& name) {
  const auto found = keys.find(name);
  return found == keys.end() ? std::nullopt : std::optional(found->second);
}

std::optional<WatchKey> key_of_byte(char byte) {
  static const std::map<char, WatchKey> kKeys = {
      {'l', WatchKey::layer_on}, {'L', WatchKey::layer_back}, {'h', WatchKey::head_on}, {'H', WatchKey::head_back},
      {'m', WatchKey::mean},     {' ', WatchKey::pause},      {'q', WatchKey::quit},    {'k', WatchKey::up},
      {'j', WatchKey::down},     {'\r', WatchKey::enter},     {'\n', WatchKey::enter}};
  return find(kKeys, byte);
}

// By the sequence's last byte, or where that is a tilde by its first number.
std::optional<WatchKey> key_of_sequence(std::string_view sequence) {
  static const std::map<char, WatchKey> kKeys = {{'A', WatchKey::up},   {'B', WatchKey::down}, {'C', WatchKey::right},
                                                 {'D', WatchKey::left}, {'H', WatchKey::home}, {'F', WatchKey::end}};
  static const std::map<std::string, WatchKey> kNumbers = {{"1", WatchKey::home},    {"4", WatchKey::end},
                                                           {"5", WatchKey::page_up}, {"6", WatchKey::page_down},
                                                           {"7", WatchKey::home},    {"8", WatchKey::end}};
  if (sequence.back() != '~') return find(kKeys, sequence.back());
  const std::string_view parameters = sequence.substr(2);
  return find(kNumbers, std::string(parameters.substr(0, parameters.find_first_of(";~"))));
}

// Bytes of the sequence that `text` begins with (ESC [ parameters final, or ESC O final); 0: there is more to come.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] == 'O') return text.size() < 3 ? 0 : 3;
  if (text[1] != '[') return 1;  // the key Escape, and another after it
  for (std::size_t at = 2; at < text.size(); ++at) {
    if (text[at] >= 0x40 && text[at] <= 0x7e) return at + 1;
    if (at >= kLongestSequence || text[at] < 0x20) return at;
  }
  return 0;
}

}  // namespace

std::vector<WatchKey> WatchKeys::read(std::string_view bytes) {
  held_ += bytes;
  std::vector<WatchKey> keys;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const bool sequence = rest.front() == '\x1b';
    const std::size_t length = sequence ? sequence_length(rest) : 1;
    if (length == 0) break;
    const bool whole = !sequence || length > 2;
    const auto key = !sequence ? key_of_byte(rest.front())
                     : whole   ? key_of_sequence(rest.substr(0, length))
                               : std::nullopt;
    if (key) keys.push_back(*key);
    rest.remove_prefix(length);
  }
  held_ = std::string(rest);
  return keys;
}

}  // namespace sightline::cli
