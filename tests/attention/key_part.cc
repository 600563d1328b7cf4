#include "tests/attention/key_part.h"

#include <algorithm>
#include <cstring>

#include "src/attention/geometry.h"
#include "src/attention/reference_scores.h"

namespace sightline::testing {
namespace {

std::int64_t element_size(const TensorView& view) {
  return is_packed(view.dtype) ? 1 : static_cast<std::int64_t>(dtype_size(view.dtype));
}

// A function of the whole, called with the whole's indexes of keys.
class LaterKeys final : public ScoreFunction {
 public:
  LaterKeys(const ScoreFunction& whole, std::vector<std::int64_t> first) : whole_(whole), first_(std::move(first)) {}
  void apply(const ScoreTile& tile) const override {
    ScoreTile moved = tile;
    moved.first_key += first_[static_cast<std::size_t>(tile.batch)];
    whole_.apply(moved);
  }

 private:
  const ScoreFunction& whole_;
  std::vector<std::int64_t> first_;  // by sequence
};

}  // namespace

std::int64_t end_of_keys(const AttentionProblem& problem) {
  std::int64_t end = 1;
  for (const SequencePlan& s : validate(problem).sequences) end = std::max(end, s.key_position + s.key_count);
  return end;
}

KeyPart::~KeyPart() = default;

KeyPart::KeyPart(const AttentionProblem& whole, std::int64_t begin, std::int64_t end) : problem_(whole) {
  packed_ = !whole.cu_seqlens_q.empty();
  whole_keys_ = whole.k.shape[2];
  list_runs(whole, begin, end);
  problem_.sequences = spans_;
  if (packed_) problem_.cu_seqlens_k = k_begins_;
  for (auto [view, rows] : {std::pair(&problem_.k, &k_), std::pair(&problem_.v, &v_)}) *rows = copy_rows(*view);
  for (auto [view, map] : {std::pair(&problem_.bias, &bias_), std::pair(&problem_.keep, &keep_)}) {
    if (*view) *map = copy_map(*view);
  }
  if (whole.mask || !whole.cuts.empty() || whole.block_mask || whole.mask_function != nullptr) make_mask(whole);
  if (whole.score_function == nullptr) return;
  std::vector<std::int64_t> first;
  for (const Run& run : runs_) first.push_back(run.first);
  score_function_ = std::make_unique<LaterKeys>(*whole.score_function, std::move(first));
  problem_.score_function = score_function_.get();
}

void KeyPart::list_runs(const AttentionProblem& whole, std::int64_t begin, std::int64_t end) {
  k_begins_ = {0};
  for (const SequencePlan& s : validate(whole).sequences) {
    const auto key_at = [&](std::int64_t position) {
      return std::clamp<std::int64_t>(position - s.key_position, 0, s.key_count);
    };
    const std::int64_t first = key_at(begin), count = key_at(end) - first;
    runs_.push_back({s.batch, s.row_begin, s.rows, s.key_begin, first, count, packed_ ? keys_ : 0});
    keys_ = packed_ ? keys_ + count : std::max(keys_, count);
    k_begins_.push_back(static_cast<std::int32_t>(keys_));
    spans_.push_back({count, s.key_position + first, s.query_position});
  }
}

// [B, H, keys, width] dense. Rows without a key are NaN.
std::vector<std::byte> KeyPart::copy_rows(TensorView& view) const {
  const TensorView from = view;
  const std::int64_t heads = from.shape[1], width = from.shape[3], element = element_size(from);
  const auto row_size = static_cast<std::int64_t>(row_bytes(from.dtype, width));
  std::vector<std::byte> bytes(static_cast<std::size_t>(batch() * heads * keys_ * row_size) + 1, std::byte{0xFF});
  const auto copy = [&](const Run& run, std::int64_t h, std::int64_t n) {
    const auto* row = static_cast<const std::byte*>(from.data) + (run.batch * from.strides[0] + h * from.strides[1] +
                                                                  (run.whole_begin + run.first + n) * from.strides[2]) *
                                                                     element;
    std::byte* to = bytes.data() + ((run.batch * heads + h) * keys_ + run.to + n) * row_size;
    if (is_packed(from.dtype)) std::memcpy(to, row, static_cast<std::size_t>(row_size));
    for (std::int64_t d = 0; d < width && !is_packed(from.dtype); ++d)
      std::memcpy(to + d * element, row + d * from.strides[3] * element, static_cast<std::size_t>(element));
  };
  for (const Run& run : runs_) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t n = 0; n < run.count; ++n) copy(run, h, n);
    }
  }
  const std::int64_t row = row_size / element;
  view = {bytes.data(), from.dtype, {batch(), heads, keys_, width}, {heads * keys_ * row, keys_ * row, row, 1}};
  return bytes;
}

// What is broadcast to [B, Hq, Nq, Nk], in full.
std::vector<std::byte> KeyPart::copy_map(TensorView& view) const {
  const TensorView from = view;
  const std::int64_t heads = problem_.q.shape[1], queries = problem_.q.shape[2], element = element_size(from);
  std::vector<std::byte> bytes(static_cast<std::size_t>(batch() * heads * queries * keys_ * element) + 1);
  const auto step = [&](int axis, std::int64_t i) { return from.shape[axis] == 1 ? 0 : i * from.strides[axis]; };
  for (const Run& run : runs_) {
    for (std::int64_t i = 0; i < heads * run.rows * run.count; ++i) {
      const std::int64_t h = i / run.count / run.rows, row = run.row_begin + i / run.count % run.rows,
                         n = i % run.count;
      const std::int64_t at = step(0, run.batch) + step(1, h) + step(2, row) + step(3, run.whole_begin + run.first + n);
      std::byte* to = bytes.data() + (((run.batch * heads + h) * queries + row) * keys_ + run.to + n) * element;
      std::memcpy(to, static_cast<const std::byte*>(from.data) + at * element, static_cast<std::size_t>(element));
    }
  }
  view = {
      bytes.data(), from.dtype, {batch(), heads, queries, keys_}, {heads * queries * keys_, queries * keys_, keys_, 1}};
  return bytes;
}

void KeyPart::make_mask(const AttentionProblem& whole) {
  const std::int64_t heads = whole.q.shape[1], queries = whole.q.shape[2];
  mask_.assign(static_cast<std::size_t>(batch() * heads * queries * keys_) + 1, 0);
  for (const Run& run : runs_) {
    for (std::int64_t i = 0; i < heads * run.rows; ++i) {
      const std::int64_t h = i / run.rows, row = run.row_begin + i % run.rows;
      const auto query = reference::locate(whole, run.batch, h, row);
      for (std::int64_t n = 0; n < run.count; ++n) {
        mask_[static_cast<std::size_t>(((run.batch * heads + h) * queries + row) * keys_ + run.to + n)] =
            reference::sees(whole, query, run.first + n);
      }
    }
  }
  problem_.mask = {mask_.data(),
                   DType::boolean,
                   {batch(), heads, queries, keys_},
                   {heads * queries * keys_, queries * keys_, keys_, 1}};
  problem_.cuts = {};
  problem_.block_mask = {};
  problem_.mask_function = nullptr;
}

std::vector<std::int32_t> KeyPart::segments(const std::vector<std::int32_t>& of_whole) const {
  std::vector<std::int32_t> own(static_cast<std::size_t>(batch() * keys_), -1);
  for (const Run& run : runs_) {
    // One list for all, or one for each of the batch.
    const bool shared = static_cast<std::int64_t>(of_whole.size()) == whole_keys_;
    const std::int64_t plane = shared ? 0 : run.batch * whole_keys_;
    for (std::int64_t n = 0; n < run.count; ++n)
      own[static_cast<std::size_t>(run.batch * keys_ + run.to + n)] =
          of_whole[static_cast<std::size_t>(plane + run.whole_begin + run.first + n)];
  }
  return own;
}

}  // namespace sightline::testing
