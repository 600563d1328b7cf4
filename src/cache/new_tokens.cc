#include "src/cache/new_tokens.h"

#include "sightline/error.h"

namespace sightline::cache {
namespace {

using Shape = std::array<std::int64_t, 4>;

std::int64_t checked_count(const TensorView& k) {
  if (k.shape[2] < 0) throw BadArgument("k has a negative number of tokens");
  return k.shape[2];
}

}  // namespace

NewTokens::NewTokens(const KvCacheOptions& o, std::size_t batch, const TensorView& k, const TensorView& v)
    : options_(o),
      count_(checked_count(k)),
      k_(k, "k", Shape{static_cast<std::int64_t>(batch), o.kv_heads, count_, o.key_width}) {
  if (o.values_in_keys && v) throw BadArgument("v is given to a cache whose values are in its keys");
  k_.check_values(o.dtype);
  if (o.values_in_keys) return;
  v_.emplace(v, "v", Shape{static_cast<std::int64_t>(batch), o.kv_heads, count_, o.value_width});
  v_->check_values(o.dtype);
}

void NewTokens::store(std::int64_t b, SequenceId id, std::int64_t layer, const SequencePages& pages, PageMemory& keys,
                      PageMemory* values) const {
  const std::int64_t begin = pages.at(id).length - count_;
  for (std::int64_t token = 0; token < count_; ++token) {
    const Slot slot = pages.slot_of(id, begin + token);
    for (std::int64_t head = 0; head < options_.kv_heads; ++head) {
      k_.store(b, head, token, options_.dtype, keys.row(layer, slot, head));
      if (values != nullptr) v_->store(b, head, token, options_.dtype, values->row(layer, slot, head));
    }
  }
}

}  // namespace sightline::cache
