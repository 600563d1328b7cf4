#include "sightline/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sightline/error.h"
#include "src/attention/entry.h"
#include "src/attention/head_tasks.h"
#include "src/attention/map.h"
#include "src/attention/memory_use.h"
#include "src/attention/pass_driver.h"
#include "src/attention/row_states.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"
#include "src/cpu/workspace.h"

namespace sightline {
namespace {

constexpr char kNoMemory[] = "no memory for the lists of heads, sequences and keys of this problem";

void check_options(const AttentionOptions& options) {
  require_options(options);
  if (options.resume != nullptr && options.resume->empty())
    throw BadArgument("there is nothing in the state to resume from");
}

// Calls body(memory) with the workspace's memory, or that of the heap.
template <class Body>
auto with_memory(Workspace* workspace, const Body& body) {
  if (workspace == nullptr) return body(std::pmr::new_delete_resource());
  const Workspace::Arena::Use use(workspace->arena());
  return body(&workspace->arena());
}

// One call: everything that it needs is allocated when it is made.
class Call {
 public:
  Call(const Prepared& prepared, const AttentionProblem& problem, const MutableTensorView& out,
       const Observations& asked, const AttentionOptions& options, std::pmr::memory_resource* memory)
      : prepared_(prepared),
        problem_(problem),
        options_(options),
        workers_(options.threads, options.executor),
        out_(out),
        see_(asked),
        maps_(memory) {
    const Geometry& g = prepared.geometry;
    validate_output(g, out);
    validate_states(asked, options.resume, options.save);
    if (see_.row_weights != nullptr && !see_.rows.empty()) prepare_rows(memory);
    tasks_.emplace(head_tasks(problem, prepared, out, see_, memory));
    pass_.emplace(std::span<const HeadTask>(*tasks_), pass_options(memory), states());
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void run() {
    refuse_overlaps(problem_, prepared_.geometry, out_, see_);
    pass_->run();
    if (!maps_.empty()) write_rows();
    if (options_.save != nullptr) options_.save->reset(std::move(saved_));
  }

 private:
  PassOptions pass_options(std::pmr::memory_resource* memory) const { return {workers_, options_.progress, memory}; }

  PassStates states() {
    if (options_.resume == nullptr && options_.save == nullptr) return {};
    saved_ = std::make_unique<AttentionState::Impl>(prepared_.geometry, *tasks_, options_.save != nullptr);
    if (options_.resume != nullptr) resume_from(*options_.resume->impl(), *saved_, *tasks_);
    return {options_.resume == nullptr ? nullptr : options_.resume->impl(),
            options_.save == nullptr ? nullptr : saved_.get()};
  }

  // Chosen rows need the state of all rows, whether the caller wants it or not, and a workspace for each worker.
  void prepare_rows(std::pmr::memory_resource* memory) {
    const Geometry& g = prepared_.geometry;
    const auto rows = static_cast<std::size_t>(g.batch * g.query_heads * g.queries);
    const auto pieces = static_cast<std::size_t>(g.batch * g.query_heads) * see_.rows.size();
    if (pieces == 0) return;
    if (see_.row_max == nullptr) see_.row_max = (own_max_ = AlignedBuffer<float>(rows, memory)).data();
    if (see_.row_sum == nullptr) see_.row_sum = (own_sum_ = AlignedBuffer<float>(rows, memory)).data();
    const std::size_t workers_in_use = std::min(pieces, static_cast<std::size_t>(workers_.count()));
    maps_.reserve(workers_in_use);
    for (std::size_t i = 0; i < workers_in_use; ++i) {
      maps_.push_back(map_workspace(problem_, g, prepared_.tables, memory));
    }
  }

  void write_rows() {
    cpu::parallel_for(static_cast<std::int64_t>(maps_.size()), workers_,
                      [this](std::int64_t part) { write_part_of_rows(part); });
  }

  // Chosen rows are tiles of one row: the same bits, and no strip of their own.
  void write_part_of_rows(std::int64_t part) {
    const Geometry& g = prepared_.geometry;
    const auto chosen = static_cast<std::int64_t>(see_.rows.size());
    const std::int64_t pieces = g.batch * g.query_heads * chosen, parts = static_cast<std::int64_t>(maps_.size());
    for (std::int64_t i = part * pieces / parts; i < (part + 1) * pieces / parts; ++i) {
      const std::int64_t plane = i / chosen, row = see_.rows[i % chosen];
      const TileRange range{plane / g.query_heads, plane % g.query_heads, row, row + 1, 0, g.keys};
      write_map(problem_, g, prepared_.tables, {see_.row_max, see_.row_sum}, range, Stage::weights,
                see_.row_weights + i * g.keys, maps_[static_cast<std::size_t>(part)]);
    }
  }

  const Prepared& prepared_;
  const AttentionProblem& problem_;
  const AttentionOptions& options_;
  const cpu::Workers workers_;
  const MutableTensorView& out_;
  Observations see_;
  AlignedBuffer<float> own_max_, own_sum_;
  std::pmr::vector<TileWorkspace> maps_;
  std::optional<std::pmr::vector<HeadTask>> tasks_;
  std::unique_ptr<AttentionState::Impl> saved_;
  std::optional<Pass> pass_;
};

void write_tile(const AttentionProblem& problem, const RowState& state, const TileRange& range, Stage stage,
                float* out) {
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  const Geometry g = validate(problem, memory);
  check_range(g, range);
  if (range.row_begin == range.row_end || range.key_begin == range.key_end) return;
  if (out == nullptr) throw BadArgument("there is nowhere to write the tile: out is null");
  if (stage == Stage::weights && (state.max == nullptr || state.sum == nullptr)) {
    throw BadArgument("a tile of weights needs the row state of the pass (row_max and row_sum)");
  }
  MemoryUse use;
  use.reads_problem(problem);
  const auto rows = static_cast<std::size_t>(g.batch * g.query_heads * g.queries);
  if (state.max != nullptr) use.reads("row_max", {state.max, rows});
  if (state.sum != nullptr) use.reads("row_sum", {state.sum, rows});
  use.writes("out", out, {range.row_end - range.row_begin, range.key_end - range.key_begin});
  use.check();
  const ProblemTables tables(problem, g, memory);
  TileWorkspace workspace = map_workspace(problem, g, tables, memory);
  write_map(problem, g, tables, state, range, stage, out, workspace);
}

}  // namespace

void attention(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see,
               const AttentionOptions& options) {
  enter(kNoMemory, [&] {
    check_options(options);
    with_memory(options.workspace, [&](std::pmr::memory_resource* memory) {
      const Prepared prepared(problem, see, options.precision, memory);
      Call(prepared, problem, out, see, options, memory).run();
    });
  });
}

std::size_t workspace_size(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see,
                           const AttentionOptions& options) {
  return enter(kNoMemory, [&] {
    check_options(options);
    Workspace workspace;
    return with_memory(&workspace, [&](std::pmr::memory_resource* memory) {
      const Prepared prepared(problem, see, options.precision, memory);
      const Call call(prepared, problem, out, see, options, memory);
      return workspace.arena().used();
    });
  });
}

struct AttentionPlan::Impl {
  AttentionOptions options;
  Workspace own;
  Prepared prepared;

  Impl(const AttentionProblem& problem, const Observations& see, const AttentionOptions& asked)
      : options(asked), prepared(problem, see, asked.precision, std::pmr::new_delete_resource()) {
    validate_states(see, asked.resume, asked.save);
    if (options.workspace == nullptr) options.workspace = &own;
  }
};

AttentionPlan::AttentionPlan(const AttentionProblem& problem, const Observations& see, const AttentionOptions& options)
    : impl_(enter(kNoMemory, [&] {
        check_options(options);
        return std::make_unique<Impl>(problem, see, options);
      })) {}
AttentionPlan::~AttentionPlan() = default;

void AttentionPlan::run(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see) {
  enter(kNoMemory, [&] {
    with_memory(impl_->options.workspace, [&](std::pmr::memory_resource* memory) {
      const Geometry geometry = validate(problem, memory);
      if (!same_geometry(geometry, impl_->prepared.geometry)) {
        throw BadArgument("the problem has other sizes, sequences or kinds of masks than the plan");
      }
      impl_->prepared.geometry.scale = geometry.scale;
      validate_observations(impl_->prepared.geometry, see);
      Call(impl_->prepared, problem, out, see, impl_->options, memory).run();
    });
  });
}

void tile(const AttentionProblem& problem, const RowState& state, const TileRange& range, Stage stage, float* out) {
  enter(kNoMemory, [&] {
    require_value(stage, Stage::weights, "stage");
    write_tile(problem, state, range, stage, out);
  });
}

std::vector<float> alibi_slopes(std::int64_t heads) {
  if (heads < 0 || heads > (1 << 24)) throw BadArgument("the number of heads must be 0 to 2^24");
  // 2^(-8 i / n) for n heads, a power of two; the heads beyond it take every other slope of twice as many.
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  for (std::int64_t i = 0; i < heads; ++i) {
    const double exponent = i < power ? (i + 1.0) / static_cast<double>(power)
                                      : (2.0 * static_cast<double>(i - power) + 1) / (2.0 * static_cast<double>(power));
    slopes.push_back(static_cast<float>(std::exp2(-8 * exponent)));
  }
  return slopes;
}

std::string simd_target() { return cpu::chosen_target(); }
std::vector<std::string> simd_targets() { return cpu::available_targets(); }

}  // namespace sightline
