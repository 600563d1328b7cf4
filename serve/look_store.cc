#include "serve/look_store.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdint>
#include <utility>

#include "serve/http_error.h"
#include "serve/size_text.h"
#include "sightline/error.h"

namespace sightline::serve {
namespace {

std::string random_id() {
  std::uint64_t bits[2];
  if (getrandom(bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    throw Error("the system gives no random numbers");
  }
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace

LookStore::Reservation::~Reservation() {
  if (bytes_ == 0) return;
  const std::lock_guard lock(store_->mutex_);
  store_->reserved_ -= bytes_;
}

std::optional<KeptLook> LookStore::find(const LookKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : touch(found->second);
}

std::optional<KeptLook> LookStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? std::nullopt : touch(found->second);
}

LookStore::Reservation LookStore::reserve(std::size_t bytes) {
  if (bytes > memory_) {
    throw HttpError(422, "memory_needed",
                    fmt::format("a look at this text takes {} and this server has {} for looks: shorten the text, keep "
                                "fewer layers, or start the server with --memory {}",
                                size_text(bytes), size_text(memory_), size_option(bytes)));
  }
  const std::lock_guard lock(mutex_);
  if (bytes > memory_ - reserved_) {
    throw HttpError(503, "busy", "the memory for looks is taken by others that are being made: try again in a moment");
  }
  make_room(bytes);
  reserved_ += bytes;
  return {*this, bytes};
}

KeptLook LookStore::keep(LookKey key, std::shared_ptr<const engine::Look> look, std::size_t bytes,
                         Reservation reservation) {
  { const Reservation given_back = std::move(reservation); }
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) return *touch(found->second);
  KeptLook kept{random_id(), std::move(look)};
  if (bytes > memory_ - reserved_) return kept;  // larger than was foreseen: it is answered, and not kept
  make_room(bytes);
  entries_.push_front({std::move(key), kept, bytes});
  by_key_.emplace(entries_.front().key, entries_.begin());
  by_id_.emplace(kept.id, entries_.begin());
  kept_ += bytes;
  return kept;
}

std::size_t LookStore::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

std::size_t LookStore::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::optional<KeptLook> LookStore::touch(Entries::iterator entry) {
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->kept;
}

void LookStore::make_room(std::size_t bytes) {
  while (!entries_.empty() && kept_ + reserved_ + bytes > memory_) drop_last();
}

void LookStore::drop_last() {
  const Entry& last = entries_.back();
  kept_ -= last.bytes;
  by_key_.erase(last.key);
  by_id_.erase(last.kept.id);
  entries_.pop_back();
}

}  // namespace sightline::serve
