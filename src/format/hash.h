#ifndef SIGHTLINE_FORMAT_HASH_H_
#define SIGHTLINE_FORMAT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sightline::format {

/// XXH3 with 128 bits of bytes that come in parts: at the memory's speed. It tells files apart and finds damage; it
/// keeps nobody from making two that are equal.
class Hash {
 public:
  Hash();
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void add(std::span<const std::byte> bytes);
  /// The text with its length before it, so that texts which follow one another are kept apart.
  void add(std::string_view text);
  void add(std::int64_t number);
  /// Of all so far, 32 hexadecimal digits, as xxhsum -H2 writes it.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_HASH_H_
