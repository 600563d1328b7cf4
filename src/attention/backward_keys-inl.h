// Blocks of keys that are taken together: packed keys and values, and the sums that become dk and dv.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_KEYS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_KEYS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_KEYS_INL_H_
#endif

#include <algorithm>

#include "src/attention/backward_pack-inl.h"
#include "src/attention/backward_workspace.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Rows of a packed block, and of what is fetched ahead.
class PackedRows {
 public:
  PackedRows(const float* rows, std::int64_t stride, const float* next) {
    for (int slot = 0; slot < kBlockKeys; ++slot) rows_[slot] = rows + slot * stride;
    std::fill_n(rows_ + kBlockKeys, RowPointers::kAhead, next);
  }
  const float* const* data() const { return rows_; }

 private:
  const float* rows_[kBlockKeys + RowPointers::kAhead];
};

class KeyBlocks {
 public:
  KeyBlocks(const BackwardGroup& group, BlockRange blocks, BackwardWorkspace& workspace)
      : group_(group),
        problem_(group.problem()),
        blocks_(blocks),
        work_(workspace),
        first_(blocks.begin * kBlockKeys - problem_.key_position),
        stride_(padded(problem_.width)),
        value_stride_(padded(problem_.value_width)) {}

  // Slots without a key hold 0.
  void pack() {
    const std::int64_t slots = blocks_.count() * kBlockKeys;
    const std::int64_t begin = std::max<std::int64_t>(0, -first_), end = std::min(slots, problem_.keys - first_);
    const auto pack_rows = [&](const RowSource& source, std::int64_t width, std::int64_t stride, float* to) {
      std::fill_n(to, begin * stride, 0.0f);
      widen_rows(source, first_ + begin, end - begin, width, stride, to + begin * stride);
      std::fill_n(to + end * stride, (slots - end) * stride, 0.0f);
    };
    pack_rows(problem_.k, problem_.width, stride_, work_.keys.data());
    pack_rows(problem_.v, problem_.value_width, value_stride_, work_.values.data());
    keys_finite_ = all_finite(work_.keys.data(), slots * stride_);
    std::fill_n(work_.key_sums.data(), slots * stride_, 0.0f);
    std::fill_n(work_.value_sums.data(), slots * value_stride_, 0.0f);
  }

  // dk and dv of the blocks; + 0, so that no -0 leaves.
  void write() const {
    const std::int64_t begin = std::max<std::int64_t>(0, first_);
    const std::int64_t end = std::min(problem_.keys, first_ + blocks_.count() * kBlockKeys);
    const auto write_rows = [&](const Matrix<float>& to, const float* sums, std::int64_t stride, std::int64_t width,
                                float scale) {
      for (std::int64_t key = begin; to && key < end; ++key) {
        const float* row = sums + (key - first_) * stride;
        for (std::int64_t t = 0; t < width; ++t) to.at(key, t) = row[t] * scale + 0.0f;
      }
    };
    write_rows(group_.dk, work_.key_sums.data(), stride_, problem_.width, problem_.scale);
    write_rows(group_.dv, work_.value_sums.data(), value_stride_, problem_.value_width, 1.0f);
  }

  bool keys_finite() const { return keys_finite_; }
  PackedRows keys(std::int64_t number) const {
    return {work_.keys.data() + slot_of(number) * stride_, stride_, work_.keys.data()};
  }
  PackedRows values(std::int64_t number) const {
    return {work_.values.data() + slot_of(number) * value_stride_, value_stride_, work_.values.data()};
  }
  float* key_sums(std::int64_t number) const { return work_.key_sums.data() + slot_of(number) * stride_; }
  float* value_sums(std::int64_t number) const { return work_.value_sums.data() + slot_of(number) * value_stride_; }

 private:
  std::int64_t slot_of(std::int64_t number) const { return (number - blocks_.begin) * kBlockKeys; }

  const BackwardGroup& group_;
  const HeadProblem& problem_;
  const BlockRange blocks_;
  BackwardWorkspace& work_;
  const std::int64_t first_;  // key of the first slot; may be negative
  const std::int64_t stride_, value_stride_;
  bool keys_finite_ = false;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_KEYS_INL_H_
