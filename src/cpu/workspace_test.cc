#include "src/cpu/workspace.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sightline/error.h"

namespace sightline {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

bool is_aligned(const void* data, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

// Counts what is out, and fails when told to.
class Counting final : public std::pmr::memory_resource {
 public:
  int requests = 0, failing = -1;
  bool unusual = false;  // throws what is no bad_alloc
  std::size_t held() const {
    std::size_t bytes = 0;
    for (const auto& [data, size] : out_) bytes += size;
    return bytes;
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (requests++ == failing) {
      if (unusual) throw std::runtime_error("no");
      throw std::bad_alloc();
    }
    void* data = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    out_[data] = bytes;
    return data;
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    EXPECT_EQ(out_.at(data), bytes);
    out_.erase(data);
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::map<void*, std::size_t> out_;
};

void* take(Workspace& workspace, std::size_t bytes, std::size_t alignment = 64) {
  return workspace.arena().allocate(bytes, alignment);
}

TEST(Workspace, HandsOutMemoryThatNothingElseHas) {
  Workspace workspace;
  const Workspace::Arena::Use use(workspace.arena());
  std::vector<std::pair<char*, std::size_t>> all;
  for (std::size_t n = 0; n < 50; ++n) {
    auto* data = static_cast<char*>(take(workspace, 37 * n * n, n % 2 == 0 ? 64 : 4));
    EXPECT_TRUE(is_aligned(data, 64));
    std::memset(data, static_cast<int>(n), 37 * n * n);
    all.emplace_back(data, 37 * n * n);
  }
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (std::size_t i = 0; i < all[n].second; ++i) ASSERT_EQ(all[n].first[i], static_cast<char>(n));
  }
}

// What one call took, in whatever pieces, is there for the next in one.
TEST(Workspace, GrowsOnce) {
  Counting upstream;
  Workspace workspace(&upstream);
  std::size_t used = 0;
  for (int call = 0; call < 4; ++call) {
    const Workspace::Arena::Use use(workspace.arena());
    const int before = upstream.requests;
    const std::size_t held = workspace.capacity();
    for (int n = 0; n < 20; ++n) take(workspace, 1000);
    if (call == 0) used = workspace.arena().used();
    EXPECT_EQ(workspace.arena().used(), used);
    EXPECT_GE(workspace.capacity(), used);
    if (call == 0) continue;
    EXPECT_EQ(upstream.requests, before) << "call " << call;
    EXPECT_EQ(workspace.capacity(), held);
  }
}

TEST(Workspace, ReservesAtLeastWhatIsAskedFor) {
  Counting upstream;
  Workspace workspace(&upstream);
  EXPECT_EQ(workspace.capacity(), 0u);
  workspace.reserve(5000);
  EXPECT_GE(workspace.capacity(), 5000u);
  workspace.reserve(100);
  EXPECT_GE(workspace.capacity(), 5000u) << "it never shrinks";
  const int before = upstream.requests;
  const Workspace::Arena::Use use(workspace.arena());
  take(workspace, 4096);
  EXPECT_EQ(upstream.requests, before);
}

TEST(Workspace, GivesEverythingBack) {
  Counting upstream;
  {
    Workspace workspace(&upstream);
    workspace.reserve(100);
    const Workspace::Arena::Use use(workspace.arena());
    for (int n = 1; n < 10; ++n) take(workspace, 1 << n);
    EXPECT_GT(upstream.held(), 500u);
  }
  EXPECT_EQ(upstream.held(), 0u);
}

TEST(Workspace, ServesOneCallAtATime) {
  Workspace workspace;
  {
    const Workspace::Arena::Use use(workspace.arena());
    EXPECT_THROW(const Workspace::Arena::Use second(workspace.arena()), BadArgument);
    EXPECT_THROW(const Workspace::Arena::Use third(workspace.arena()), BadArgument) << "a refused call frees nothing";
    EXPECT_THROW(workspace.reserve(1), BadArgument);
  }
  const Workspace::Arena::Use again(workspace.arena());
}

// Whichever request fails, and however, the workspace can be used again.
TEST(Workspace, OutlivesAFailureOfItsSource) {
  for (const bool unusual : {false, true}) {
    for (int failing = 0; failing < 8; ++failing) {
      Counting upstream;
      upstream.unusual = unusual;
      Workspace workspace(&upstream);
      upstream.failing = failing;
      const auto call = [&] {
        const Workspace::Arena::Use use(workspace.arena());
        for (int n = 0; n < 8; ++n) take(workspace, 500);
      };
      for (int n = 0; n < 3; ++n) {
        try {
          call();
        } catch (const std::exception&) {
        }
      }
      EXPECT_NO_THROW(call()) << failing;
    }
  }
}

TEST(Workspace, SaysThatMemoryIsGone) {
  Counting upstream;
  Workspace workspace(&upstream);
  upstream.failing = 0;
  EXPECT_THROW(workspace.reserve(1000), OutOfMemory);
  EXPECT_NO_THROW(workspace.reserve(1000));
  Workspace large(huge_page_resource());
  EXPECT_THROW(large.reserve(SIZE_MAX), OutOfMemory);
  EXPECT_THROW(large.reserve(std::size_t{1} << 62), OutOfMemory);
}

TEST(HugePages, ComeAlignedAndCanBeWritten) {
  std::pmr::memory_resource* pages = huge_page_resource();
  std::mt19937 random(1);
  struct Block {
    char* data;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, kPage - 1, kPage, kPage + 1, 3 * kPage - 5}) {
    for (int n = 0; n < 3; ++n) {
      auto* data = static_cast<char*>(pages->allocate(size, 64));
      EXPECT_TRUE(is_aligned(data, size < kPage ? 64 : kPage)) << size;
      data[0] = data[size - 1] = static_cast<char>(blocks.size() + 1);
      blocks.push_back({data, size});
    }
  }
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    EXPECT_EQ(blocks[n].data[0], static_cast<char>(n + 1));
    EXPECT_EQ(blocks[n].data[blocks[n].size - 1], static_cast<char>(n + 1));
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  for (const Block& block : blocks) pages->deallocate(block.data, block.size, 64);
}

// Far more than the machine has, if anything stayed.
TEST(HugePages, GoBack) {
#ifndef __x86_64__
  GTEST_SKIP() << "160 TiB one after the other: an emulator keeps a table of every page that is mapped";
#endif
  std::pmr::memory_resource* pages = huge_page_resource();
  constexpr std::size_t kLarge = std::size_t{8} << 30;
  for (int n = 0; n < 20000; ++n) {
    void* data = pages->allocate(kLarge + 1, 64);
    static_cast<char*>(data)[kLarge] = 1;
    pages->deallocate(data, kLarge + 1, 64);
  }
}

// A page lies where it is first written, so nothing may be before.
TEST(HugePages, AreNotTouched) {
  constexpr std::size_t kSize = 8 * kPage, kSmall = 4096;
  auto* data = static_cast<char*>(huge_page_resource()->allocate(kSize, 64));
  const auto resident = [&] {
    std::vector<unsigned char> pages(kSize / kSmall);
    EXPECT_EQ(mincore(data, kSize, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
  };
  EXPECT_EQ(resident(), 0);
  data[3 * kPage] = 1;
  EXPECT_GE(resident(), 1);
  EXPECT_LE(resident(), static_cast<std::ptrdiff_t>(kPage / kSmall));
  huge_page_resource()->deallocate(data, kSize, 64);
}

// What the kernel says of the mapping that an address lies in.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<unsigned long>(address);
      here = begin <= at && at < end;
    }
    if (here && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

bool says_huge(const void* address) { return flags_of(address).find(" hg ") != std::string::npos; }

// As a mapping of one's own that is advised so, on systems that tell.
TEST(HugePages, AreAskedFor) {
  void* control = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(control, MAP_FAILED);
  madvise(control, 2 * kPage, MADV_HUGEPAGE);
  const bool told = says_huge(control);
  munmap(control, 2 * kPage);
  if (!told) GTEST_SKIP() << "this system has no huge pages, or does not say so";
  void* data = huge_page_resource()->allocate(2 * kPage, 64);
  EXPECT_TRUE(says_huge(data));
  huge_page_resource()->deallocate(data, 2 * kPage, 64);
}

// Sizes that wrap when they are rounded to pages.
TEST(HugePages, AreNotLessThanWhatWasAskedFor) {
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX - kPage, SIZE_MAX - 2 * kPage, SIZE_MAX / 2}) {
    EXPECT_THROW((void)huge_page_resource()->allocate(size, 64), std::bad_alloc) << size;
  }
}

TEST(HugePages, AreOneResource) {
  EXPECT_TRUE(huge_page_resource()->is_equal(*huge_page_resource()));
  EXPECT_FALSE(huge_page_resource()->is_equal(*std::pmr::new_delete_resource()));
  std::pmr::vector<float> numbers(std::size_t{1} << 20, 0.5f, huge_page_resource());
  numbers.resize(std::size_t{1} << 21, 0.25f);
  EXPECT_EQ(numbers.front(), 0.5f);
  EXPECT_EQ(numbers.back(), 0.25f);
}

TEST(Workspace, RefusesSizesThatNoMemoryHas) {
  Workspace workspace;
  workspace.reserve(1000);
  const std::size_t before = workspace.capacity();
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX - 63, SIZE_MAX / 2 + 1}) {
    EXPECT_THROW(workspace.reserve(bytes), OutOfMemory) << bytes;
    EXPECT_EQ(workspace.capacity(), before);
  }
}

}  // namespace
}  // namespace sightline
