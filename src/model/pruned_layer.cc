#include "src/model/pruned_layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "src/cache/source_rows.h"
#include "src/model/drop_rule.h"

namespace sightline::model {
namespace {

constexpr std::int64_t kRow[] = {0};

// Keys that a head keeps once a row is through.
std::int64_t most_kept(const PruningSizes& sizes, std::int64_t window) {
  const std::int64_t keep = std::min(sizes.rule.keep, sizes.room);
  return window > 0 ? std::min(keep, window - 1) : keep;
}

// And the new one; and where keys go from the front, some behind them, so that rows move once in a while.
std::int64_t slots_of(const PruningSizes& sizes, std::int64_t window) {
  const std::int64_t most = most_kept(sizes, window);
  return most + 1 + (most < sizes.room ? most / 8 + 8 : 0);
}

// Keys that the row after `length` tokens sees, its own not counted.
std::int64_t seen_next(std::int64_t length, std::int64_t window) {
  return window > 0 ? std::min(length, window - 1) : length;
}

// Keys that are evicted over the whole text, at most.
std::int64_t slots_aside(const PruningSizes& sizes, std::int64_t window) {
  const std::int64_t seen = seen_next(sizes.length, window);
  return std::max<std::int64_t>(seen - std::min(seen, most_kept(sizes, window)) + sizes.room - sizes.length, 1);
}

}  // namespace

PrunedLayer::PrunedLayer(const PruningSizes& sizes, std::int64_t window, const AttentionProblem& source,
                         std::span<const double> mass, std::span<HeadDrops> drops)
    : sizes_(sizes),
      window_(window),
      keys_(sizes.keys, sizes.kv_heads, slots_of(sizes, window), sizes.width),
      values_(sizes.values, sizes.kv_heads, slots_of(sizes, window), sizes.width),
      positions_(static_cast<std::size_t>(sizes.kv_heads * keys_.slots())),
      mass_(positions_.size()),
      going_(static_cast<std::size_t>(sizes.kv_heads)),
      missed_(static_cast<std::size_t>(sizes.query_heads)) {
  if (sizes.audit) {
    aside_.emplace(Aside{{sizes.keys, sizes.kv_heads, slots_aside(sizes, window), sizes.width}, {}, 0});
    aside_->positions.resize(static_cast<std::size_t>(sizes.kv_heads * aside_->keys.slots()));
    lse_.resize(missed_.size());
    lse_of_evicted_.resize(missed_.size());
  }
  fill(source, mass, drops);
}

std::int64_t PrunedLayer::bytes(const PruningSizes& sizes, std::int64_t window) {
  const std::int64_t slots = slots_of(sizes, window);
  const auto rows = [&](DType dtype, std::int64_t count) {
    return cache::KeptRows::bytes(dtype, sizes.kv_heads, count, sizes.width);
  };
  return rows(sizes.keys, slots) + rows(sizes.values, slots) +
         (sizes.audit ? rows(sizes.keys, slots_aside(sizes, window)) : 0);
}

std::int64_t PrunedLayer::bytes() const {
  PruningSizes kept = sizes_;
  kept.audit = false;
  return bytes(kept, window_);
}

void PrunedLayer::fill(const AttentionProblem& source, std::span<const double> mass, std::span<HeadDrops> drops) {
  const std::int64_t seen = seen_next(sizes_.length, window_);
  count_ = std::min(seen, most_kept(sizes_, window_));
  for (std::int64_t head = 0; head < sizes_.kv_heads; ++head) {
    const auto of_head =
        mass.subspan(static_cast<std::size_t>(head * sizes_.length), static_cast<std::size_t>(sizes_.length));
    fill_head(source, head, of_head, drops[static_cast<std::size_t>(head)]);
  }
  if (aside_) aside_->count = seen - count_;
}

void PrunedLayer::fill_head(const AttentionProblem& source, std::int64_t head, std::span<const double> mass,
                            HeadDrops& drops) {
  const std::int64_t seen = seen_next(sizes_.length, window_), first = sizes_.length - seen;
  std::vector<std::int32_t> candidates(static_cast<std::size_t>(seen));
  for (std::int64_t i = 0; i < seen; ++i)
    candidates[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
  const HeadKeys keys{candidates, mass.subspan(static_cast<std::size_t>(first))};
  const std::vector<std::int64_t> kept = those_kept(sizes_.rule, keys, count_);
  drops = {count_, seen - count_, 0, 0};
  for (const double received : mass) drops.received_mass += received;
  std::int64_t slot = 0, evicted = 0;
  for (std::int64_t i = 0; i < seen; ++i) {
    const std::int32_t position = candidates[static_cast<std::size_t>(i)];
    const std::byte* const key = cache::row_of(source, source.k, source.pages.k_page_stride, head, position);
    const double received = mass[static_cast<std::size_t>(position)];
    if (slot < count_ && kept[static_cast<std::size_t>(slot)] == i) {
      positions(head)[slot] = position;
      this->mass(head)[slot] = received;
      std::memcpy(keys_.row(head, slot), key, keys_.row_size());
      std::memcpy(values_.row(head, slot++),
                  cache::row_of(source, source.v, source.pages.v_page_stride, head, position), values_.row_size());
      continue;
    }
    drops.evicted_mass += received;
    if (!aside_) continue;
    aside_->positions[static_cast<std::size_t>(head * aside_->keys.slots() + evicted)] = position;
    std::memcpy(aside_->keys.row(head, evicted++), key, aside_->keys.row_size());
  }
}

void PrunedLayer::write(const TensorView& key, const TensorView& value, std::int64_t position) {
  const std::array<std::int64_t, 4> shape{1, sizes_.kv_heads, 1, sizes_.width};
  const cache::SourceRows keys(key, "k", shape), values(value, "v", shape);
  keys.check_values(keys_.dtype());
  values.check_values(values_.dtype());
  position_ = position;
  seen_.resize(static_cast<std::size_t>(sizes_.kv_heads * (count_ + 1)));
  for (std::int64_t head = 0; head < sizes_.kv_heads; ++head) {
    keys.store(0, head, 0, keys_.dtype(), keys_.row(head, begin_ + count_));
    values.store(0, head, 0, values_.dtype(), values_.row(head, begin_ + count_));
    positions(head)[count_] = static_cast<std::int32_t>(position);
    mass(head)[count_] = 0;
    std::copy_n(positions(head), count_ + 1, seen_.data() + head * (count_ + 1));
  }
}

// The keys stand as though they followed one another up to the row, which is what they do as long as only the oldest
// have gone. None is out of the window.
void PrunedLayer::bind(AttentionProblem& problem) {
  problem.k = keys_.tensor(begin_, count_ + 1);
  problem.v = values_.tensor(begin_, count_ + 1);
  problem.pages = {};
  problem.window_left = -1;
  span_ = {count_ + 1, position_ - count_, {}};
  problem.sequences = {&span_, 1};
}

// Of a single row the mass of keys is its weights, bit by bit, and comes along with the pass, where weights of chosen
// rows are worked out once more.
void PrunedLayer::watch(Observations& see) {
  float* const weights = room_for_weights();
  if (see.key_mass == nullptr && see.mass_sums == nullptr && see.measure == Measure::weight) {
    see.key_mass = weights;
    see.mass_row_begin = 0;
    see.mass_row_end = INT64_MAX;
  } else if (see.row_weights == nullptr || see.rows.empty()) {
    see.rows = kRow;
    see.row_weights = weights;
  }
  if (aside_ && see.lse == nullptr) see.lse = lse_.data();
}

float* PrunedLayer::room_for_weights() {
  weights_.resize(static_cast<std::size_t>(sizes_.query_heads * (count_ + 1)));
  return weights_.data();
}

void PrunedLayer::take(const AttentionProblem& problem, const Observations& see, const AttentionOptions& options) {
  const bool own = see.key_mass == weights_.data() || see.row_weights == weights_.data();
  if (!own) {  // an observer's, of which all rows are the one row
    const std::int64_t keys = count_ + 1, stride = std::ssize(see.rows) * keys;
    for (std::int64_t head = 0; head < sizes_.query_heads; ++head) {
      std::copy_n(see.row_weights + head * stride, keys, weights_.data() + head * keys);
    }
  }
  if (!aside_) return;
  std::copy_n(see.lse, lse_.size(), lse_.data());
  audit(problem, options);
}

// exp(lse) is what the row's weights were divided by, the sink's part included: what goes to the evicted keys is their
// part of the sum of both.
void PrunedLayer::audit(const AttentionProblem& problem, const AttentionOptions& options) {
  std::ranges::fill(missed_, 0.0);
  if (aside_->count == 0) return;
  AttentionProblem evicted = problem;
  evicted.k = evicted.v = aside_->keys.tensor(0, aside_->count);
  evicted.causal = false;
  evicted.sequences = {};
  evicted.sinks = {};
  if (window_ > 0) mask_aside(evicted);
  Observations see;
  see.lse = lse_of_evicted_.data();
  attention(evicted, {}, see, options);
  for (std::size_t head = 0; head < missed_.size(); ++head) {
    missed_[head] = 1 / (1 + std::exp(static_cast<double>(lse_[head]) - static_cast<double>(lse_of_evicted_[head])));
  }
}

// Keys that the row would not see for the layer's window.
void PrunedLayer::mask_aside(AttentionProblem& problem) {
  const std::int64_t count = aside_->count, group = sizes_.query_heads / sizes_.kv_heads;
  mask_.resize(static_cast<std::size_t>(sizes_.query_heads * count));
  for (std::int64_t head = 0; head < sizes_.query_heads; ++head) {
    const std::int32_t* const positions = aside_->positions.data() + head / group * aside_->keys.slots();
    for (std::int64_t slot = 0; slot < count; ++slot) {
      mask_[static_cast<std::size_t>(head * count + slot)] = positions[slot] > position_ - window_;
    }
  }
  const std::array<std::int64_t, 4> shape{1, sizes_.query_heads, 1, count};
  problem.mask = {mask_.data(), DType::boolean, shape, dense_strides(shape)};
}

void PrunedLayer::commit(std::span<HeadDrops> drops, std::span<HeadAudit> audits) noexcept {
  count_row(drops, audits);
  ++count_;
  bool evicted = false;
  for (std::int64_t head = 0; head < sizes_.kv_heads; ++head) {
    const Going going = going_of(head);
    going_[static_cast<std::size_t>(head)] = going;
    evicted = evicted || going.evicted;
    HeadDrops& of_head = drops[static_cast<std::size_t>(head)];
    of_head.kept = count_ - (going.index >= 0 ? 1 : 0);
    if (!going.evicted) continue;
    ++of_head.evicted;
    of_head.evicted_mass += mass(head)[going.index];
  }
  if (aside_ && evicted) put_aside();
  if (going_.front().index >= 0) remove_going();  // in one head as in all
  if (begin_ + count_ == keys_.slots() && begin_ > 0) close_gap();
}

void PrunedLayer::count_row(std::span<HeadDrops> drops, std::span<HeadAudit> audits) noexcept {
  const std::int64_t keys = count_ + 1, group = sizes_.query_heads / sizes_.kv_heads;
  for (std::int64_t head = 0; head < sizes_.query_heads; ++head) {
    const float* const weights = weights_.data() + head * keys;
    double* const to = mass(head / group);
    double all = 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      to[key] += static_cast<double>(weights[key]);
      all += static_cast<double>(weights[key]);
    }
    drops[static_cast<std::size_t>(head / group)].received_mass += all;
  }
  for (std::size_t head = 0; head < audits.size(); ++head) {
    HeadAudit& audit = audits[head];
    audit.newest = missed_[head];
    audit.sum += audit.newest;
    if (audit.newest <= audit.largest) continue;
    audit.largest = audit.newest;
    audit.largest_row = position_;
  }
}

// A head that has a key which left the window has one less to keep then, as the others have that let one go by the
// rule: a window moves by one key a row.
PrunedLayer::Going PrunedLayer::going_of(std::int64_t head) const noexcept {
  const std::int32_t* const from = positions(head);
  if (window_ > 0) {
    const std::int32_t* const oldest = std::min_element(from, from + count_);
    if (*oldest < position_ + 2 - window_) return {oldest - from, false};
  }
  if (count_ <= sizes_.rule.keep) return {};
  const auto count = static_cast<std::size_t>(count_);
  return {next_to_go(sizes_.rule, {{from, count}, {mass(head), count}}, position_), true};
}

// Those that only left the window too, so that all heads have as many aside; they are hidden there.
void PrunedLayer::put_aside() noexcept {
  Aside& aside = *aside_;
  for (std::int64_t head = 0; head < sizes_.kv_heads; ++head) {
    const std::int64_t index = going_[static_cast<std::size_t>(head)].index;
    std::memcpy(aside.keys.row(head, aside.count), keys_.row(head, begin_ + index), keys_.row_size());
    aside.positions[static_cast<std::size_t>(head * aside.keys.slots() + aside.count)] = positions(head)[index];
  }
  ++aside.count;
}

void PrunedLayer::remove_going() noexcept {
  --count_;
  if (std::ranges::all_of(going_, [](const Going& going) { return going.index == 0; })) {
    ++begin_;
    return;
  }
  for (std::int64_t head = 0; head < sizes_.kv_heads; ++head) {
    const std::int64_t hole = going_[static_cast<std::size_t>(head)].index;
    if (hole == count_) continue;
    keys_.move(head, begin_ + count_, begin_ + hole, 1);
    values_.move(head, begin_ + count_, begin_ + hole, 1);
    positions(head)[hole] = positions(head)[count_];
    mass(head)[hole] = mass(head)[count_];
  }
}

void PrunedLayer::close_gap() noexcept {
  for (std::int64_t head = 0; head < sizes_.kv_heads; ++head) {
    keys_.move(head, begin_, 0, count_);
    values_.move(head, begin_, 0, count_);
    std::copy_n(positions(head), count_, positions(head) - begin_);
    std::copy_n(mass(head), count_, mass(head) - begin_);
  }
  begin_ = 0;
}

}  // namespace sightline::model
