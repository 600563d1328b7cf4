#include "src/format/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "src/format/testing.h"

namespace sightline::format {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, ShowsTheBytes) {
  const TestDirectory directory;
  const std::string content = std::string("a\0b\xFF", 4) + std::string(10'000, 'x');
  const MappedFile file(directory.put("f", content));
  EXPECT_EQ(text_of(file.bytes()), content);
}

TEST(MappedFile, OutlivesTheNameOfTheFile) {
  const TestDirectory directory;
  const auto path = directory.put("f", "kept");
  const MappedFile file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(file.bytes()), "kept");
}

TEST(MappedFile, TakesAnEmptyFile) {
  const TestDirectory directory;
  EXPECT_TRUE(MappedFile(directory.put("empty", "")).bytes().empty());
}

TEST(MappedFile, SaysWhyNot) {
  const TestDirectory directory;
  EXPECT_EQ(error_of<BadFile>([&] { MappedFile file(directory / "absent"); }),
            (directory / "absent").string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of<BadFile>([&] { MappedFile file(directory.path()); }),
            directory.path().string() + ": cannot be read: Is a directory");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_NE(error_of<BadFile>([&] { MappedFile file(directory / "pipe"); }).find("not a regular file"),
            std::string::npos);
}

TEST(ReadFile, GivesAllUpToTheLimit) {
  const TestDirectory directory;
  const std::string content(200'000, 'y');
  const auto path = directory.put("f", content);
  EXPECT_EQ(read_file(path, 200'000), content);
  EXPECT_EQ(error_of<BadFile>([&] { read_file(path, 199'999); }),
            path.string() + ": longer than the 199999 bytes that it may have");
  EXPECT_EQ(read_file(directory.put("empty", ""), 0), "");
  EXPECT_EQ(read_regular_file(path, 200'000), content);
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_NE(error_of<BadFile>([&] { read_regular_file(directory / "pipe", 10); }).find("not a regular file"),
            std::string::npos);
  EXPECT_NE(error_of<BadFile>([&] { read_file("/dev/zero", 1 << 20); }).find("longer than"), std::string::npos);
  EXPECT_NE(error_of<BadFile>([&] { read_file(directory.path(), 10); }).find("Is a directory"), std::string::npos);
}

TEST(ReadFile, ReadsAPipeToItsEnd) {
  const TestDirectory directory;
  const auto path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << std::string(100'000, 'p'); });
  const std::string text = read_file(path, 1 << 20);
  writer.join();
  EXPECT_EQ(text, std::string(100'000, 'p'));
}

TEST(AtomicFile, AppearsWholeWithCommit) {
  const TestDirectory directory;
  const auto path = directory / "out";
  AtomicFile file(path);
  file.write("first ");
  file.write("second");
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(content_of(path), "first second");
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TestDirectory directory;
  const auto path = directory.put("out", "old");
  {
    AtomicFile file(path);
    file.write("new");
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(AtomicFile, ReplacesWhatStoodThereAndFollowsLinks) {
  const TestDirectory directory;
  const auto target = directory.put("target", "old");
  std::filesystem::create_symlink("target", directory / "link");
  AtomicFile file(directory / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(content_of(target), "new");
}

TEST(AtomicFile, GivesTheModeThatOtherProgramsWouldGive) {
  const TestDirectory directory;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  AtomicFile file(directory / "out");
  file.commit();
  struct stat status;
  ASSERT_EQ(::stat((directory / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST(AtomicFile, KeepsThePermissionsOfWhatItReplaces) {
  const TestDirectory directory;
  for (const mode_t mode : {0600, 0640, 0755, 0444}) {
    const auto path = directory.put("out", "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    AtomicFile file(path);
    file.write("new");
    file.commit();
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_EQ(content_of(path), "new");
    ASSERT_EQ(::unlink(path.c_str()), 0);
  }
}

// Over two directories, and of an absolute target, which is not there yet.
TEST(AtomicFile, FollowsLinksToWhatIsNotThereYet) {
  const TestDirectory directory;
  std::filesystem::create_directory(directory / "inner");
  std::filesystem::create_symlink("inner/second", directory / "first");
  std::filesystem::create_symlink("../third", directory / "inner/second");
  std::filesystem::create_symlink(directory / "target", directory / "third");
  AtomicFile file(directory / "first");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "inner/second"));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(directory / "target")));
  EXPECT_EQ(content_of(directory / "target"), "new");
}

TEST(AtomicFile, RefusesALinkToItself) {
  const TestDirectory directory;
  std::filesystem::create_symlink("ring", directory / "ring");
  EXPECT_EQ(error_of<BadFile>([&] { AtomicFile file(directory / "ring"); }),
            (directory / "ring").string() + ": cannot be written: Too many levels of symbolic links");
  EXPECT_TRUE(is_present(directory / "ring"));
  EXPECT_FALSE(is_present(directory / "none"));
}

TEST(AtomicFile, RefusesDirectoriesAndPlacesThatAreNotThere) {
  const TestDirectory directory;
  EXPECT_EQ(error_of<BadFile>([&] { AtomicFile file(directory.path()); }),
            directory.path().string() + ": cannot be written: Is a directory");
  EXPECT_EQ(error_of<BadFile>([&] { AtomicFile file(directory / "none/out"); }),
            (directory / "none/out").string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(directory.file_count(), 0u);
}

TEST(AtomicFile, TakesTheLongestName) {
  const TestDirectory directory;
  AtomicFile file(directory / std::string(255, 'n'));
  file.commit();
  EXPECT_TRUE(std::filesystem::exists(directory / std::string(255, 'n')));
}

TEST(AtomicFile, ReportsAFullDisk) {
  AtomicFile file("/dev/full");
  EXPECT_EQ(error_of<BadFile>([&] { file.write("x"); }), "/dev/full: cannot be written: No space left on device");
}

TEST(AtomicFile, WritesThroughToAPipe) {
  const TestDirectory directory;
  const auto path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = content_of(path); });
  {
    AtomicFile file(path);
    file.write("through");
    file.commit();
  }
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(AtomicFile, ReportsATargetThatBecameADirectory) {
  const TestDirectory directory;
  const auto path = directory / "out";
  {
    AtomicFile file(path);
    file.write("x");
    std::filesystem::create_directory(path);
    EXPECT_NE(error_of<BadFile>([&] { file.commit(); }).find("Is a directory"), std::string::npos);
  }
  EXPECT_EQ(directory.file_count(), 1u);
}

}  // namespace
}  // namespace sightline::format
