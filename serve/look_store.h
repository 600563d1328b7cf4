#ifndef SIGHTLINE_SERVE_LOOK_STORE_H_
#define SIGHTLINE_SERVE_LOOK_STORE_H_

#include <compare>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/engine/look.h"

namespace sightline::serve {

/// What a client asked to look at.
struct LookKey {
  std::string text;
  bool truncate = false;
  std::vector<int> keep_layers;

  auto operator<=>(const LookKey&) const = default;
};

struct KeptLook {
  std::string id;
  std::shared_ptr<const engine::Look> look;
};

/// The looks that clients may ask for more of, and memory for those that are being made: together never more than
/// `memory` bytes. What was used longest ago goes first. Safe for concurrent use.
class LookStore {
 public:
  explicit LookStore(std::size_t memory) : memory_(memory) {}

  std::optional<KeptLook> find(const LookKey& key);
  /// Ids are random: who has one was given it.
  std::optional<KeptLook> find(const std::string& id);

  /// Memory for a look that is being made, given back when it goes. Drops looks that are kept to make room.
  class Reservation {
   public:
    Reservation(LookStore& store, std::size_t bytes) : store_(&store), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept : store_(other.store_), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

   private:
    LookStore* store_;
    std::size_t bytes_;
  };
  /// Throws HttpError: 422 where the memory would never do, 503 where others that are being made have it.
  Reservation reserve(std::size_t bytes);

  /// Keeps a look of `bytes`, which `reservation` was for. Where the same was made meanwhile, that one stays.
  KeptLook keep(LookKey key, std::shared_ptr<const engine::Look> look, std::size_t bytes, Reservation reservation);

  std::size_t kept_bytes() const;
  std::size_t size() const;
  std::size_t memory() const { return memory_; }

 private:
  struct Entry {
    LookKey key;
    KeptLook kept;
    std::size_t bytes;
  };
  using Entries = std::list<Entry>;

  std::optional<KeptLook> touch(Entries::iterator entry);
  void make_room(std::size_t bytes);
  void drop_last();

  const std::size_t memory_;
  mutable std::mutex mutex_;
  Entries entries_;  // what was used last comes first
  std::map<LookKey, Entries::iterator> by_key_;
  std::map<std::string, Entries::iterator> by_id_;
  std::size_t kept_ = 0, reserved_ = 0;
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_LOOK_STORE_H_
