// Running out of memory anywhere in a step of the engine ends in OutOfMemory. The operators below serve the whole test
// program.
#include "src/engine/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

#include "src/engine/explain.h"
#include "src/engine/look_memory.h"
#include "src/engine/report.h"
#include "src/engine/testing.h"

namespace {

std::atomic<std::int64_t> requests_left = -1;  // before the one that fails; negative: none fails
std::atomic<std::size_t> least_counted = 0;    // bytes: smaller requests are not counted
std::atomic<std::size_t> in_use = 0, peak = 0;

void count(std::size_t bytes) {
  const std::size_t now = in_use += bytes;
  std::size_t before = peak;
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
}

}  // namespace

// Not inlined: GCC would take free() here for a mismatch with new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (requests_left >= 0 && size >= least_counted && requests_left-- == 0) throw std::bad_alloc();
  if (void* data = std::malloc(size > 0 ? size : 1)) {
    count(malloc_usable_size(data));
    return data;
  }
  throw std::bad_alloc();
}
// The nothrow form too: a sanitizer's own would not match the delete below.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* data) noexcept {
  if (data != nullptr) in_use -= malloc_usable_size(data);
  std::free(data);
}
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { operator delete(data); }

namespace sightline::engine {
namespace {

// Runs `step` with its request number `index` failing; false once the step has fewer.
bool fails_at(std::int64_t index, const std::function<void()>& step) {
  bool failed = false;
  requests_left = index;
  try {
    step();
  } catch (const OutOfMemory&) {
    failed = true;
  }
  const bool reached = requests_left < 0;
  requests_left = -1;
  EXPECT_EQ(failed, reached) << "request " << index;
  return reached;
}

// nlohmann::json asks for a little memory when it is destroyed, and ends the process where it gets none: of steps that
// read or make JSON only larger requests fail here.
constexpr std::size_t kBeyondJson = 4000;

// Every request of the first hundred, then one in seventeen.
void expect_out_of_memory(const std::function<void()>& step, std::size_t least = 0) {
  step();  // what is kept for later calls is there from now on
  least_counted = least;
  std::int64_t index = 0;
  while (fails_at(index, step)) index += index < 100 ? 1 : 17;
  EXPECT_GT(index, 0);
}

TEST(Memory, RunsOutInOneKindOfError) {
  const std::filesystem::path model = testing::tiny_model();
  const auto open = [&] { return Session::open(model, {.threads = 1}); };
  expect_out_of_memory(open, kBeyondJson);
  const Session session = open();
  const Prompt tired(testing::kTired);
  expect_out_of_memory([&] { session.look(tired); });
  const Look look = session.look(testing::kTired);
  expect_out_of_memory([&] { explain(look, 1, {1, 2}, true); });
  expect_out_of_memory([&] { look.grid({1, 1}, look.words(), look.words()); });
  expect_out_of_memory([&] { report_text(build_report(look, {.grid = MapId{1, 1}})); }, kBeyondJson);
  const std::filesystem::path path = testing::temporary_path("memory.safetensors");
  expect_out_of_memory([&] { write_report(path, look); }, kBeyondJson);
  std::filesystem::remove(path);
}

// What a look keeps, and what its pass takes beside, are said before: by counting what is allocated.
TEST(Memory, OfALookIsKnownBeforeThePass) {
  const std::filesystem::path directory = testing::temporary_path("announced");
  testing::write_long_model(directory, 5000);
  const Session session = Session::open(directory, {.threads = 2});
  for (const int words : {1, 40, 600, 4900}) {
    std::string text;
    for (int i = 0; i < words; ++i) text += i % 3 ? "cat " : "sat ";
    const std::int64_t tokens = session.token_count(text);
    for (const std::vector<int>& keep : {std::vector<int>{}, std::vector<int>{2}}) {
      const std::size_t before = in_use;
      peak = before;
      const Look look = session.look(text, {.keep_layers = keep});
      const auto kept = static_cast<double>(in_use - before), taken = static_cast<double>(peak - before);
      const auto announced = static_cast<double>(look_bytes(session.model(), tokens, keep));
      const double pass = static_cast<double>(pass_bytes(session.model(), tokens, 2));
      const auto fixed = 1e4;  // the object itself, the model's facts
      EXPECT_NEAR(kept, announced, 0.05 * announced + fixed) << tokens << " tokens";
      EXPECT_NEAR(static_cast<double>(look.bytes()), kept, 0.05 * kept + fixed) << tokens << " tokens";
      EXPECT_LT(taken, announced + pass + 20 * fixed) << tokens << " tokens";
      // What the layers of a pass share is mapped, which is not counted here.
      EXPECT_GT(taken, tokens > 4000 ? 0.4 * (announced + pass) : 0) << tokens << " tokens";
    }
  }
  std::filesystem::remove_all(directory);
}

TEST(Memory, SaysWhatToDo) {
  try {
    within_memory(kNoMemoryForText, []() -> int { throw std::bad_alloc(); });
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("give a shorter one"), std::string::npos);
  }
}

}  // namespace
}  // namespace sightline::engine
