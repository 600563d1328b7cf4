#include "cli/watch_keys.h"

#include <gtest/gtest.h>

namespace sightline::cli {
namespace {

using enum WatchKey;
using Keys = std::vector<WatchKey>;

TEST(WatchKeys, ReadsLettersAndSequences) {
  EXPECT_EQ(WatchKeys().read("lLhHm q\r"), (Keys{layer_on, layer_back, head_on, head_back, mean, pause, quit, enter}));
  EXPECT_EQ(WatchKeys().read("\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F"), (Keys{up, down, right, left, home, end}));
  EXPECT_EQ(WatchKeys().read("\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF"), (Keys{up, down, right, left, home, end}));
  EXPECT_EQ(WatchKeys().read("\x1b[5~\x1b[6~\x1b[1~\x1b[4~\x1b[7~\x1b[8~"),
            (Keys{page_up, page_down, home, end, home, end}));
  EXPECT_EQ(WatchKeys().read("\x1b[1;5A\x1b[5;2~"), (Keys{up, page_up}));  // with Control, with Shift
}

TEST(WatchKeys, ReadsSequencesThatComeInParts) {
  const std::string all = "\x1b[A\x1bOB\x1b[6~q";
  WatchKeys keys;
  Keys read;
  for (const char& byte : all) {
    for (const WatchKey key : keys.read({&byte, 1})) read.push_back(key);
  }
  EXPECT_EQ(read, (Keys{up, down, page_down, quit}));
}

TEST(WatchKeys, PassesOverWhatIsNoKey) {
  EXPECT_EQ(WatchKeys().read("xyz\x1b[200~\x1b[99;99R\x1b[Zq"), Keys{quit});
  EXPECT_EQ(WatchKeys().read("\x1b\x1b[A"), Keys{up});  // Escape, then a key
  EXPECT_EQ(WatchKeys().read("\xc3\xa9\x80\xff" + std::string(1, '\0') + "q"), Keys{quit});
  EXPECT_EQ(WatchKeys().read("\x1b[" + std::string(100, '1') + "q").back(), quit);  // without an end
}

}  // namespace
}  // namespace sightline::cli
