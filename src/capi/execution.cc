#include "src/capi/execution.h"

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "sightline/error.h"
#include "src/capi/arguments.h"
#include "src/capi/convert.h"
#include "src/capi/status.h"

// Members of these are destroyed last to first: memory outlives what it was given to.
struct sightline_workspace {
  std::optional<sightline::capi::AllocatorOfC> allocator;
  std::optional<sightline::Workspace> workspace;
};

struct sightline_state {
  sightline::AttentionState state;
};

struct sightline_plan {
  sightline::capi::Options options;
  sightline::AttentionPlan plan;

  sightline_plan(const sightline::capi::Arguments& args, const sightline_options* how)
      : options(how, args.threads()), plan(args.problem(), args.observations(), options.options()) {}
};

namespace sightline::capi {

void* AllocatorOfC::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* data = functions_.allocate(functions_.user, bytes, alignment);
  if (data == nullptr && bytes > 0) throw std::bad_alloc();
  return data;
}

void AllocatorOfC::do_deallocate(void* data, std::size_t bytes, std::size_t alignment) {
  functions_.deallocate(functions_.user, data, bytes, alignment);
}

int ExecutorOfC::concurrency() const {
  return static_cast<int>(std::clamp<std::int64_t>(functions_.concurrency, 1, INT_MAX));
}

void ExecutorOfC::run(int count, const std::function<void()>& body) {
  const auto call = [](void* data) { (*static_cast<const std::function<void()>*>(data))(); };
  if (functions_.run(functions_.user, count, call, const_cast<std::function<void()>*>(&body)) != 0) {
    throw Stopped("stopped by the executor");
  }
}

namespace {

sightline_options read_options(const sightline_options* passed) {
  if (passed == nullptr) return {};
  return read_struct(passed, offsetof(sightline_options, executor), "sightline_options");
}

template <class Functions>
Functions functions_or_none(const Functions* passed) {
  return passed == nullptr ? Functions{} : *passed;
}

template <class Handle>
Handle& handle(Handle* passed, const char* otherwise) {
  require(passed != nullptr, otherwise);
  return *passed;
}

}  // namespace

Options::Options(const sightline_options* passed, int threads)
    : executor_(functions_or_none(read_options(passed).executor)),
      progress_(functions_or_none(read_options(passed).progress)) {
  const sightline_options o = read_options(passed);
  require(o.executor == nullptr || o.executor->run != nullptr, "run of the executor is null");
  require(o.progress == nullptr || o.progress->advance != nullptr, "advance of the progress is null");
  static constexpr std::array kPrecisions = {Precision::exact, Precision::fast};
  options_.precision = decode(o.precision, kPrecisions, "precision must be SIGHTLINE_EXACT or SIGHTLINE_FAST");
  options_.threads = threads;
  if (o.executor != nullptr) options_.executor = &executor_;
  if (o.progress != nullptr) options_.progress = &progress_;
  if (o.workspace != nullptr) options_.workspace = &*o.workspace->workspace;
  if (o.resume != nullptr) options_.resume = &o.resume->state;
  if (o.save != nullptr) options_.save = &o.save->state;
}

namespace {

void create_workspace(const sightline_allocator* allocator, sightline_workspace** workspace) {
  require(workspace != nullptr, "workspace is null");
  *workspace = nullptr;
  require(allocator == nullptr || (allocator->allocate != nullptr && allocator->deallocate != nullptr),
          "a function of the allocator is null");
  auto made = std::make_unique<sightline_workspace>();
  if (allocator != nullptr) {
    made->workspace.emplace(&made->allocator.emplace(*allocator));
  } else {
    made->workspace.emplace();
  }
  *workspace = made.release();
}

void run_attention(const sightline_attention_args* passed, const sightline_options* how) {
  const Arguments args(passed);
  const Options options(how, args.threads());
  attention(args.problem(), args.out(), args.observations(), options.options());
}

void find_size(const sightline_attention_args* passed, const sightline_options* how, std::size_t* bytes) {
  const Arguments args(passed);
  const Options options(how, args.threads());
  require(bytes != nullptr, "bytes is null");
  *bytes = workspace_size(args.problem(), args.out(), args.observations(), options.options());
}

void run_plan(sightline_plan* plan, const sightline_attention_args* passed) {
  const Arguments args(passed);
  handle(plan, "plan is null").plan.run(args.problem(), args.out(), args.observations());
}

void finish(const sightline_attention_args* passed, const sightline_state* state) {
  const Arguments args(passed);
  finish_state(args.problem(), handle(state, "state is null").state, args.out(), args.observations());
}

void* allocate_pages(void*, std::size_t bytes, std::size_t alignment) {
  try {
    return huge_page_resource()->allocate(bytes, alignment);
  } catch (...) {
    return nullptr;
  }
}

void deallocate_pages(void*, void* data, std::size_t bytes, std::size_t alignment) {
  huge_page_resource()->deallocate(data, bytes, alignment);
}

}  // namespace
}  // namespace sightline::capi

using sightline::capi::guarded;
using sightline::capi::handle;
using sightline::capi::require;

const sightline_allocator* sightline_huge_pages(void) {
  static constexpr sightline_allocator kPages = {sightline::capi::allocate_pages, sightline::capi::deallocate_pages,
                                                 nullptr};
  return &kPages;
}

int sightline_fast_available(void) {
  try {
    return sightline::fast_available();
  } catch (...) {
    return 0;  // SIGHTLINE_FAST names what is not there: a call says so
  }
}

int sightline_workspace_create(const sightline_allocator* allocator, sightline_workspace** workspace, char* message,
                               size_t message_size) {
  return guarded({message, message_size}, [&] { sightline::capi::create_workspace(allocator, workspace); });
}

void sightline_workspace_destroy(sightline_workspace* workspace) { delete workspace; }

int sightline_workspace_reserve(sightline_workspace* workspace, size_t bytes, char* message, size_t message_size) {
  return guarded({message, message_size}, [&] { handle(workspace, "workspace is null").workspace->reserve(bytes); });
}

size_t sightline_workspace_capacity(const sightline_workspace* workspace) {
  return workspace == nullptr ? 0 : workspace->workspace->capacity();
}

int sightline_state_create(sightline_state** state, char* message, size_t message_size) {
  return guarded({message, message_size}, [&] {
    require(state != nullptr, "state is null");
    *state = nullptr;
    *state = new sightline_state;
  });
}

void sightline_state_destroy(sightline_state* state) { delete state; }

int sightline_state_is_empty(const sightline_state* state) { return state == nullptr || state->state.empty(); }

int sightline_attention_run(const sightline_attention_args* args, const sightline_options* options, char* message,
                            size_t message_size) {
  return guarded({message, message_size}, [&] { sightline::capi::run_attention(args, options); });
}

int sightline_workspace_size(const sightline_attention_args* args, const sightline_options* options, size_t* bytes,
                             char* message, size_t message_size) {
  return guarded({message, message_size}, [&] { sightline::capi::find_size(args, options, bytes); });
}

int sightline_plan_create(const sightline_attention_args* args, const sightline_options* options, sightline_plan** plan,
                          char* message, size_t message_size) {
  return guarded({message, message_size}, [&] {
    require(plan != nullptr, "plan is null");
    *plan = nullptr;
    *plan = new sightline_plan(sightline::capi::Arguments(args), options);
  });
}

void sightline_plan_destroy(sightline_plan* plan) { delete plan; }

int sightline_plan_run(sightline_plan* plan, const sightline_attention_args* args, char* message, size_t message_size) {
  return guarded({message, message_size}, [&] { sightline::capi::run_plan(plan, args); });
}

int sightline_merge_states(sightline_state* left, const sightline_state* right, char* message, size_t message_size) {
  return guarded({message, message_size},
                 [&] { merge_states(handle(left, "left is null").state, handle(right, "right is null").state); });
}

int sightline_finish_state(const sightline_attention_args* args, const sightline_state* state, char* message,
                           size_t message_size) {
  return guarded({message, message_size}, [&] { sightline::capi::finish(args, state); });
}

int sightline_merge_outputs(const sightline_tensor* out_a, const float* lse_a, const sightline_tensor* out_b,
                            const float* lse_b, const sightline_output* out, float* lse, char* message,
                            size_t message_size) {
  return guarded({message, message_size}, [&] {
    using sightline::capi::view;
    require(out_a != nullptr && out_b != nullptr && out != nullptr, "out_a, out_b or out is null");
    sightline::merge_outputs({view<sightline::TensorView>(*out_a), lse_a}, {view<sightline::TensorView>(*out_b), lse_b},
                             view<sightline::MutableTensorView>(*out), lse);
  });
}

int sightline_alibi_slopes(int64_t heads, float* slopes, char* message, size_t message_size) {
  return guarded({message, message_size}, [&] {
    const std::vector<float> made = sightline::alibi_slopes(heads);
    require(heads == 0 || slopes != nullptr, "slopes is null");
    std::copy(made.begin(), made.end(), slopes);
  });
}
