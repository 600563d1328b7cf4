#include "src/engine/memory_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sightline/error.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

// A system's files, made up.
class FakeRoot {
 public:
  FakeRoot() : path_(testing::temporary_path("root")) { std::filesystem::remove_all(path_); }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  FakeRoot& file(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << content;
    return *this;
  }
  std::optional<std::int64_t> available() const { return available_memory(path_); }

 private:
  std::filesystem::path path_;
};

constexpr char kMeminfo[] = "MemTotal:       8000000 kB\nMemFree:        10 kB\nMemAvailable:   4000 kB\n";

TEST(AvailableMemory, IsWhatTheKernelSaysWithoutLimits) {
  FakeRoot root;
  EXPECT_FALSE(root.available());
  root.file("proc/meminfo", kMeminfo).file("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(root.available(), 4000 * 1024);
}

TEST(AvailableMemory, IsLimitedByGroupsOfTheSecondVersion) {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo).file("proc/self/cgroup", "0::/a/b\n");
  root.file("sys/fs/cgroup/a/b/memory.max", "max\n").file("sys/fs/cgroup/a/b/memory.current", "900\n");
  EXPECT_EQ(root.available(), 4000 * 1024);
  root.file("sys/fs/cgroup/a/memory.max", "2000000\n").file("sys/fs/cgroup/a/memory.current", "900000\n");
  EXPECT_EQ(root.available(), 1100000);
  root.file("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 300000\nactive_file 100000\n");
  EXPECT_EQ(root.available(), 1500000);
}

TEST(AvailableMemory, IsLimitedByGroupsOfTheFirst) {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo).file("proc/self/cgroup", "12:cpu,cpuacct:/x\n9:memory:/box\n");
  root.file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1000000\n");
  root.file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1300000\n");
  EXPECT_EQ(root.available(), 0);
  root.file("sys/fs/cgroup/memory/box/memory.stat", "inactive_file 7\ntotal_inactive_file 700000\n");
  EXPECT_EQ(root.available(), 400000);
}

TEST(AvailableMemory, IsSaidByThisSystem) {
  const auto available = available_memory();
  ASSERT_TRUE(available);
  EXPECT_GT(*available, 0);
}

std::string refusal(const MemoryPlan& plan, std::int64_t available) {
  try {
    require_memory(plan, available, "take less");
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryPlan, IsRefusedWithAllNumbers) {
  const MemoryPlan plan{4'100'000'000, 900'000'000, 200'000'000};
  EXPECT_EQ(refusal(plan, 3'000'000'000),
            "this needs 5.2 GB: weights 4.1 GB mapped, what is kept 900 MB, the pass 200 MB; 3.0 GB are available: "
            "take less");
  EXPECT_EQ(refusal(plan, 5'200'000'000), "");
  EXPECT_NO_THROW(require_memory(plan, std::nullopt, ""));
}

TEST(MemoryPlan, IsCheckedBeforeAModelIsOpenedAndBeforeALook) {
  const auto refused = [](std::int64_t memory) {
    try {
      Session::open(testing::tiny_model(), {.memory = memory}).look(testing::kTired);
    } catch (const OutOfMemory& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Session session = Session::open(testing::tiny_model());
  const std::int64_t weights = session.model().weights.bytes;
  const std::int64_t whole = session.plan_look(session.token_count(testing::kTired)).total();
  EXPECT_NE(refused(weights - 1).find("take a smaller model"), std::string::npos) << refused(weights - 1);
  EXPECT_NE(refused(weights).find("shorter text"), std::string::npos) << refused(weights);
  EXPECT_NE(refused(whole - 1).find("shorter text"), std::string::npos) << refused(whole - 1);
  EXPECT_EQ(refused(whole), "");
}

}  // namespace
}  // namespace sightline::engine
