#ifndef SIGHTLINE_EXECUTION_H_
#define SIGHTLINE_EXECUTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>

namespace sightline {

class AttentionState;

/// Threads of the caller's: where the pieces of a call run.
class Executor {
 public:
  virtual ~Executor() = default;
  /// How many bodies may run at once; at least 1. Asked once a call: memory is taken for as many.
  virtual int concurrency() const = 0;
  /// Calls body() `count` times, at once where it can, and returns when all calls have returned. A body takes the next
  /// piece of work until there is none; it never throws. One that starts late, after the others, or not at all, does no
  /// harm. A thread that is inside a body must not begin another: pieces wait for one another.
  virtual void run(int count, const std::function<void()>& body) = 0;
};

/// Told of what is done. Called from any of the call's threads, by one at a time.
class Progress {
 public:
  virtual ~Progress() = default;
  /// done of total pieces (tiles of rows, or chunks of them) are done. False: stop; the call then throws Cancelled, and
  /// asks no more.
  virtual bool advance(std::int64_t done, std::int64_t total) = 0;
};

/// Memory that calls reuse one after the other: once it has grown to what they need, a call allocates nothing.
/// It must not serve two calls at once; that is refused.
class Workspace {
 public:
  /// upstream: where memory comes from; it must outlive the workspace.
  explicit Workspace(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource());
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Grows to `bytes` at least. Throws OutOfMemory, BadArgument while a call uses it.
  void reserve(std::size_t bytes);
  /// Bytes held. Not while a call uses the workspace.
  std::size_t capacity() const;

  class Arena;
  Arena& arena() { return *arena_; }

 private:
  std::unique_ptr<Arena> arena_;
};

/// Memory for large buffers, in pages of 2 MiB where the system has them (madvise), untouched when handed out, so that
/// on machines with several memory nodes a page lies near the thread that first writes it.
std::pmr::memory_resource* huge_page_resource();

/// The arithmetic of a call. docs/fast.md says what `fast` rounds.
enum class Precision : std::uint8_t {
  exact,  ///< fp32
  fast,   ///< products of queries with keys and of weights with values (and those of linear layers) on bf16, summed in
          ///< fp32; attention() alone, of the attention library
};

/// Whether this machine has an instruction for Precision::fast; without one, asking for it is a BadArgument. The first
/// call asks the kernel for permission to use AMX tiles, where the machine has them.
bool fast_available();
/// That instruction: "amx_bf16" or "avx512_bf16", or "" where there is none. The environment variable SIGHTLINE_FAST
/// forces one by that name; a name that is unknown, or that this machine lacks, is a BadArgument.
std::string fast_instruction();

/// How a call runs.
struct AttentionOptions {
  int threads = 0;                 ///< 0: as many as the machine has; negative: BadArgument
  Executor* executor = nullptr;    ///< the caller's threads, in place of Sightline's
  Workspace* workspace = nullptr;  ///< memory to reuse
  Progress* progress = nullptr;
  const AttentionState* resume = nullptr;  ///< what an earlier pass saved; see sightline/state.h
  AttentionState* save = nullptr;          ///< where to save what a later pass resumes from
  Precision precision = Precision::exact;
};

}  // namespace sightline

#endif  // SIGHTLINE_EXECUTION_H_
