#ifndef SIGHTLINE_CAPI_EXECUTION_H_
#define SIGHTLINE_CAPI_EXECUTION_H_

#include <functional>
#include <memory_resource>

#include "sightline/attention.h"
#include "sightline/sightline_execution.h"
#include "sightline/state.h"

namespace sightline::capi {

class AllocatorOfC final : public std::pmr::memory_resource {
 public:
  explicit AllocatorOfC(const sightline_allocator& functions) : functions_(functions) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const sightline_allocator functions_;
};

class ExecutorOfC final : public Executor {
 public:
  explicit ExecutorOfC(const sightline_executor& functions) : functions_(functions) {}
  int concurrency() const override;
  void run(int count, const std::function<void()>& body) override;

 private:
  const sightline_executor functions_;
};

class ProgressOfC final : public Progress {
 public:
  explicit ProgressOfC(const sightline_progress& functions) : functions_(functions) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    return functions_.advance(functions_.user, done, total) == 0;
  }

 private:
  const sightline_progress functions_;
};

/// What a C program passed, as the C++ interface takes it. Throws BadArgument.
class Options {
 public:
  Options(const sightline_options* passed, int threads);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  const AttentionOptions& options() const { return options_; }

 private:
  ExecutorOfC executor_;
  ProgressOfC progress_;
  AttentionOptions options_;
};

}  // namespace sightline::capi

#endif  // SIGHTLINE_CAPI_EXECUTION_H_
