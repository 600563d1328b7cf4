// Blocks of weights, pooled: from tiles, or from what the pass pooled already.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/engine/look.h"
#include "src/engine/look_data.h"
#include "src/engine/memory.h"

namespace sightline::engine {
namespace {

// Tiles of 4 x 48 rows, which fill the kernel's lanes, and of 15 x 64 keys, so that a tile stays in the second-level
// cache; with 1024 keys the rows of a tile would fall into one set of the first.
constexpr std::int64_t kTileRows = 192, kTileKeys = 960;

void require_range(const char* what, std::int64_t begin, std::int64_t end, std::int64_t count) {
  if (begin >= 0 && begin < end && end <= count) return;
  throw BadArgument(fmt::format("{} {} to {} are no range of the {} tokens: take 0 <= begin < end <= {}", what, begin,
                                end, count, count));
}

void require_block(const Look& look, const BlockRequest& request) {
  if (request.maps.empty()) throw BadArgument("a block of no map was asked for: name one at least");
  for (const MapId& id : request.maps) look.require_kept(id);
  const LayerRecord& layer = look.data().layer_of(request.maps.front());
  require_range("rows", request.row_begin, request.row_end, layer.rows);
  require_range("keys", request.key_begin, request.key_end, layer.keys);
  if (request.step < 1 || request.step > kMaxBlockStep || !std::has_single_bit(std::uint64_t(request.step))) {
    throw BadArgument(fmt::format("a step of {} tokens: take a power of two, 1 to {}", request.step, kMaxBlockStep));
  }
}

// One block: the sums of its cells in fp64, a few rows of cells at a time.
class BlockWriter {
 public:
  BlockWriter(const Look& look, const BlockRequest& request)
      : look_(look),
        request_(request),
        first_(look.data().layer_of(request.maps.front())),
        from_pyramid_(pooled_by_pass()),
        group_(std::max<std::int64_t>(1, kTileRows / request.step)) {
    require_size();
  }

  std::vector<float> run() {
    cells_.resize(static_cast<std::size_t>(request_.blocks() * request_.rows() * request_.cols()));
    const std::int64_t groups = (request_.rows() + group_ - 1) / group_;
    cpu::parallel_for(request_.blocks() * groups, look_.data().threads,
                      [&](std::int64_t piece) { write_group(piece / groups, piece % groups * group_); });
    return std::move(cells_);
  }

 private:
  bool pooled_by_pass() const {
    const Pyramid& pyramid = first_.pyramid;
    return pyramid.step() > 0 && request_.step >= pyramid.step() &&
           pyramid.has(request_.row_begin, request_.row_end, first_.rows) &&
           pyramid.has(request_.key_begin, request_.key_end, first_.keys);
  }

  void require_size() const {
    const auto maps = static_cast<double>(request_.maps.size());
    const std::int64_t rows = request_.row_end - request_.row_begin, keys = request_.key_end - request_.key_begin;
    const double cells = maps * static_cast<double>(request_.rows()) * static_cast<double>(request_.cols());
    const double weights = maps * static_cast<double>(rows) * static_cast<double>(keys);
    if ((from_pyramid_ ? cells : weights) <= static_cast<double>(kMaxBlockWeights)) return;
    const std::int64_t step = first_.pyramid.step();
    const std::string advice =
        step == 0 || from_pyramid_
            ? ""
            : fmt::format(
                  ", or a step of at least {} with ranges that begin and end at multiples of {} (or at the end)", step,
                  step);
    throw BadArgument(
        fmt::format("{} x {} weights of {} maps are too many for one block at step {}: ask for fewer maps "
                    "or a smaller range{}",
                    rows, keys, request_.maps.size(), request_.step, advice));
  }

  // Rows of cells [first, first + group_) of one block.
  void write_group(std::int64_t block, std::int64_t first) {
    const std::int64_t last = std::min(first + group_, request_.rows()), cols = request_.cols();
    std::vector<double> sums(static_cast<std::size_t>((last - first) * cols));
    const std::span<const MapId> maps(request_.maps);
    for (const MapId& id : request_.mean ? maps : maps.subspan(static_cast<std::size_t>(block), 1)) {
      from_pyramid_ ? add_pooled(id, first, last, sums) : add_tiles(id, first, last, sums);
    }
    const auto count = request_.mean ? static_cast<double>(maps.size()) : 1;
    float* out = cells_.data() + (block * request_.rows() + first) * cols;
    for (std::int64_t a = first, i = 0; a < last; ++a) {
      const double rows = static_cast<double>(row_edge(a + 1) - row_edge(a)) * count;
      for (std::int64_t c = 0; c < cols; ++c, ++i) {
        const auto keys = static_cast<double>(key_edge(c + 1) - key_edge(c));
        out[i] = static_cast<float>(sums[static_cast<std::size_t>(i)] / (rows * keys));
      }
    }
  }

  std::int64_t row_edge(std::int64_t cell) const {
    return std::min(request_.row_begin + cell * request_.step, request_.row_end);
  }
  std::int64_t key_edge(std::int64_t cell) const {
    return std::min(request_.key_begin + cell * request_.step, request_.key_end);
  }

  void add_pooled(const MapId& id, std::int64_t first, std::int64_t last, std::span<double> sums) const {
    const Pyramid& pyramid = look_.data().layer_of(id).pyramid;
    const auto cols = static_cast<std::size_t>(request_.cols());
    for (std::int64_t a = first; a < last; ++a) {
      pyramid.add_rows(id.head, row_edge(a), row_edge(a + 1), request_.key_begin, request_.key_end, request_.step,
                       sums.subspan(static_cast<std::size_t>(a - first) * cols, cols));
    }
  }

  void add_tiles(const MapId& id, std::int64_t first, std::int64_t last, std::span<double> sums) const {
    TileRange range;
    for (range.row_begin = row_edge(first); range.row_begin < row_edge(last); range.row_begin = range.row_end) {
      range.row_end = std::min(range.row_begin + kTileRows, row_edge(last));
      for (range.key_begin = request_.key_begin; range.key_begin < request_.key_end; range.key_begin = range.key_end) {
        range.key_end = std::min(range.key_begin + kTileKeys, request_.key_end);
        const std::vector<float> weights = look_.tile(id, range, Stage::weights);
        add_tile(range, weights, first, sums);
      }
    }
  }

  // Rows of a cell are added first, key by key, which is one addition for many keys at once; then keys.
  void add_tile(const TileRange& range, std::span<const float> weights, std::int64_t first,
                std::span<double> sums) const {
    const auto keys = static_cast<std::size_t>(range.key_end - range.key_begin);
    std::vector<double> columns(keys);
    for (std::int64_t row = range.row_begin; row < range.row_end;) {
      const std::int64_t cell = (row - request_.row_begin) / request_.step;
      std::ranges::fill(columns, 0);
      for (const std::int64_t end = std::min(row_edge(cell + 1), range.row_end); row < end;) {
        const std::int64_t rows = end - row >= 4 ? 4 : 1;
        rows == 4 ? add_columns<4>(weights, columns) : add_columns<1>(weights, columns);
        weights = weights.subspan(keys * static_cast<std::size_t>(rows));
        row += rows;
      }
      fold_columns(columns, range.key_begin - request_.key_begin,
                   sums.subspan(static_cast<std::size_t>((cell - first) * request_.cols())));
    }
  }

  // Adds kRows rows of weights, key by key.
  template <std::size_t kRows>
  static void add_columns(std::span<const float> weights, std::span<double> columns) {
    const std::size_t keys = columns.size();
    for (std::size_t j = 0; j < keys; ++j) {
      double sum = 0;
      for (std::size_t row = 0; row < kRows; ++row) sum += weights[row * keys + j];
      columns[j] += sum;
    }
  }

  // columns: of the keys from `begin` on, counted from the block's first.
  void fold_columns(std::span<const double> columns, std::int64_t begin, std::span<double> sums) const {
    const int shift = std::countr_zero(static_cast<std::uint64_t>(request_.step));
    for (std::size_t j = 0; j < columns.size(); ++j) sums[(static_cast<std::size_t>(begin) + j) >> shift] += columns[j];
  }

  const Look& look_;
  const BlockRequest& request_;
  const LayerRecord& first_;  // all maps have its rows and keys
  const bool from_pyramid_;
  const std::int64_t group_;  // rows of cells that are made together
  std::vector<float> cells_;
};

}  // namespace

std::vector<float> Look::block(const BlockRequest& request) const {
  return within_memory(kNoMemoryForMap, [&] {
    require_block(*this, request);
    return BlockWriter(*this, request).run();
  });
}

std::int64_t Look::pyramid_step() const {
  return engine::pyramid_step(static_cast<std::int64_t>(data_->tokens.size()));
}

}  // namespace sightline::engine
