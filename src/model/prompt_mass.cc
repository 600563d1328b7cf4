#include "src/model/prompt_mass.h"

#include <algorithm>

namespace sightline::model {

PromptMass::PromptMass(const TransformerConfig& config, std::int64_t room)
    : query_heads_(config.query_heads),
      kv_heads_(config.kv_heads),
      room_(room),
      sums_(AlignedBuffer<float>::zeroed(static_cast<std::size_t>(bytes(config, room)) / sizeof(float))) {}

std::int64_t PromptMass::bytes(const TransformerConfig& config, std::int64_t room) {
  return static_cast<std::int64_t>(sizeof(float)) * config.layers * config.query_heads * kChains * room;
}

void PromptMass::begin(bool afresh) {
  complete_ = false;
  if (afresh) std::ranges::fill(sums_.span(), 0.0f);
}

bool PromptMass::watch(int layer, const AttentionProblem& problem, Observations& see) {
  if (see.key_mass != nullptr || see.mass_sums != nullptr || see.measure != Measure::weight) return false;
  const std::int64_t keys = problem.k.shape[2];
  key_mass_.resize(static_cast<std::size_t>(query_heads_ * keys));
  see.key_mass = key_mass_.data();
  see.mass_sums = sums_.data() + layer * query_heads_ * kChains * room_;
  see.mass_sums_keys = room_;
  see.mass_row_begin = 0;
  see.mass_row_end = INT64_MAX;
  see.mass_decay = 1;
  return true;
}

std::vector<double> PromptMass::received(int layer, std::int64_t keys) const {
  std::vector<double> mass(static_cast<std::size_t>(kv_heads_ * keys));
  const std::int64_t chains_of_head = query_heads_ / kv_heads_ * kChains;
  const float* sums = sums_.data() + layer * query_heads_ * kChains * room_;
  for (std::int64_t head = 0; head < kv_heads_; ++head) {
    double* const of_head = mass.data() + head * keys;
    for (std::int64_t chain = 0; chain < chains_of_head; ++chain, sums += room_) {
      for (std::int64_t key = 0; key < keys; ++key) of_head[key] += static_cast<double>(sums[key]);
    }
  }
  return mass;
}

}  // namespace sightline::model
