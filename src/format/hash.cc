#include "src/format/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace sightline::format {

struct Hash::State {
  State() : state(XXH3_createState()) {
    if (state == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state);
  }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* state;
};

Hash::Hash() : state_(std::make_unique<State>()) {}
Hash::~Hash() = default;

void Hash::add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_->state, bytes.data(), bytes.size()); }

void Hash::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  add(std::as_bytes(std::span(text)));
}

void Hash::add(std::int64_t number) { add(std::as_bytes(std::span(&number, 1))); }

std::string Hash::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace sightline::format
