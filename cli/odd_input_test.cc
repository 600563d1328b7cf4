// What seldom comes but may: weights that all but vanish or are no numbers, ids and templates of another model, limits
// and links of the file system, empty and endless arguments.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "cli/failure_testing.h"
#include "cli/interrupt.h"
#include "cli/run_program.h"
#include "cli/view.h"
#include "src/analysis/order.h"
#include "src/engine/session.h"
#include "src/format/file.h"

namespace sightline::cli {
namespace {

using testing::BrokenModel;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::run_with;
using testing::spoil;
using testing::Start;
using testing::TemporaryFolder;
using testing::tiny;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Every item of these short texts, one of which looks at another by less than half a per cent in some head.
TEST(TokenView, WeightsThatRoundToNothing) {
  for (const std::string text : {"tired.", "[MASK]", "it", "the cat"}) {
    for (const bool special : {true, false}) {
      for (int item = 1; item <= (special ? 3 : 1); ++item) {
        std::vector<std::string> arguments = {"look", "-m", tiny(), "--token", "#" + std::to_string(item), text};
        if (!special) arguments.push_back("--no-special");
        const Outcome outcome = run_with(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_FALSE(has(outcome.output, "most elsewhere:\n")) << outcome.output;
      }
    }
  }
}

TEST(TokenView, SaysWhereAWordLooksMost) {
  EXPECT_TRUE(has(run_with({"look", "-m", tiny(), "--token", "cat", "the cat sat"}).output, "most elsewhere: L"));
}

TEST(Weights, HeavierIsAnOrderWithNumbersFirst) {
  EXPECT_TRUE(analysis::larger(0.5, 0.25));
  EXPECT_FALSE(analysis::larger(0.25, 0.5));
  EXPECT_FALSE(analysis::larger(0.5, 0.5));
  EXPECT_TRUE(analysis::larger(0, kNan));
  EXPECT_FALSE(analysis::larger(kNan, 1));
  EXPECT_FALSE(analysis::larger(kNan, kNan));
}

TEST(Weights, BlankIsWhatRoundsToNoPerCent) {
  for (const double share : {0.0, 0.0049, static_cast<double>(0.005F), 0.005, 0.0051, 0.5, kNan}) {
    EXPECT_EQ(reads_blank(share), percent(share, 3) == "   ") << share;
  }
  EXPECT_TRUE(reads_blank(0.0049));
  EXPECT_FALSE(reads_blank(0.005));
  EXPECT_FALSE(reads_blank(kNan));
}

TEST(NotANumber, IsShownAsSuchThroughout) {
  const BrokenModel model;
  spoil(model);
  const Outcome explained = run_with({"explain", "the cat", "--token", "cat", "--top", "2", "-m", model.directory()});
  EXPECT_EQ(explained.status, 0) << explained.error;
  std::size_t rows = 0;
  std::istringstream lines(explained.output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with(" %")) continue;
    ++rows;
    EXPECT_TRUE(has(line, "nan %")) << line;
    EXPECT_FALSE(has(line, " 0.000")) << line;
  }
  EXPECT_EQ(rows, 2u) << explained.output;
  EXPECT_TRUE(has(explained.output, "largest weight nan")) << explained.output;

  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--token", "cat"}, {"--token", "#2", "--no-special"}, {"--json"}}) {
    std::vector<std::string> arguments = {"look", "the cat", "-m", model.directory()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome looked = run_with(arguments);
    EXPECT_EQ(looked.status, 0) << looked.error;
    EXPECT_TRUE(has(looked.output, more == std::vector<std::string>{"--json"} ? "null" : "?")) << looked.output;
  }
}

// As many tokens as rows, but one of them numbered past the last row.
TEST(AnotherModelsTokenizer, IdBeyondTheRows) {
  const BrokenModel model;
  model.edit("tokenizer.json", "\"cat\": ", "\"cat\": 9");
  expect_failure(run_with({"look", "the dog", "-m", model.directory()}), 1,
                 {"tokenizer.json", "\"cat\"", "id 9", "136 tokens"});
  expect_failure(run_with({"info", model.directory()}), 1, {"tokenizer.json", "\"cat\"", "id 9", "136 tokens"});
}

void replace_template(const BrokenModel& model, const std::string& single) {
  std::string json = testing::file_content(model.file("tokenizer.json"));
  const std::string key = "\"single\": ";
  const std::size_t begin = json.find(key) + key.size(), end = json.find(",\n  \"pair\"");
  ASSERT_LT(begin, end);
  model.replace("tokenizer.json", json.replace(begin, end - begin, single));
}

TEST(AnotherModelsTokenizer, TypeBeyondTheModels) {
  const BrokenModel model;
  replace_template(model, R"([{"Sequence": {"id": "A", "type_id": 2}}])");
  expect_failure(run_with({"look", "the cat", "-m", model.directory()}), 1,
                 {"tokenizer.json", "type_id 2", "2 token types"});
}

TEST(AnotherModelsTokenizer, TemplateWithoutTheText) {
  const BrokenModel model;
  replace_template(model, "[]");
  expect_failure(run_with({"look", "the cat", "-m", model.directory()}), 1,
                 {"tokenizer.json", "post_processor.single"});
}

// The limit holds for this process, too, while the program runs.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Files, OverTheSizeLimitLeaveNothing) {
  const TemporaryFolder folder;
  for (const std::string name : {"map.png", "map.svg", "map.npy", "report.safetensors"}) {
    const std::string command = name.starts_with("map") ? "map" : "look";
    Outcome outcome;
    {
      const FileSizeLimit limit(100);
      outcome = run_with({command, "the cat sat", "-o", folder.path(name), "-m", tiny()});
    }
    expect_failure(outcome, 1, {name, "File too large"});
    EXPECT_TRUE(folder.names().empty());
  }
}

// In a process of its own: a file is begun, the signal comes, and the program's own check ends the writing.
int status_of_a_signal_while_writing(int signal, const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    install_interrupts();
    try {
      const WritingScope writing;
      format::AtomicFile file(path);
      file.write("begun");
      std::raise(signal);
      check_interrupt();
      file.commit();
    } catch (const Interrupted& stop) {
      _exit(128 + stop.signal);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(Signals, EveryOneThatAsksToEndLeavesNothingBehind) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const TemporaryFolder folder;
    EXPECT_EQ(status_of_a_signal_while_writing(signal, folder.path("map.png")), 128 + signal);
    EXPECT_TRUE(folder.names().empty());
  }
}

TEST(Files, LinksToThemselves) {
  for (const std::string name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    const BrokenModel model;
    model.remove(name);
    std::filesystem::create_symlink(name, model.file(name));
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"info", model.directory()}, {"look", "cat", "-m", model.directory()}}) {
      const Outcome outcome = run_with(arguments);
      expect_failure(outcome, 1, {name, "Too many levels of symbolic links"});
      EXPECT_FALSE(has(outcome.error, "filesystem error")) << outcome.error;
    }
  }
  const TemporaryFolder folder;
  std::filesystem::create_symlink("ring.png", folder.path("ring.png"));
  expect_failure(run_with({"map", "cat", "-o", folder.path("ring.png"), "-m", tiny()}), 1,
                 {"ring.png", "Too many levels of symbolic links"});
  Start start;  // the default model's place
  start.arguments = {"look", "cat"};
  start.environment = {{"XDG_CACHE_HOME", folder.path("ring.png")}};
  expect_failure(run_program(start), 1, {"ring.png", "Too many levels of symbolic links"});
}

TEST(Files, PictureBehindADanglingLink) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("target.png", folder.path("link.png"));
  EXPECT_EQ(run_with({"map", "cat", "-o", folder.path("link.png"), "-m", tiny()}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link.png")));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(folder.path("target.png"))));
}

TEST(Usage, EmptyValuesAreNone) {
  const std::vector<std::vector<std::string>> cases = {{"look", "cat", "-o"},
                                                       {"look", "cat", "--layer"},
                                                       {"look", "cat", "--head"},
                                                       {"look", "cat", "--token"},
                                                       {"look", "cat", "--top"},
                                                       {"look", "cat", "-t"},
                                                       {"look", "cat", "-m"},
                                                       {"look", "-f"},
                                                       {"explain", "cat", "--token"},
                                                       {"map", "cat", "-o"},
                                                       {"info"}};
  for (std::vector<std::string> arguments : cases) {
    arguments.emplace_back();
    expect_failure(run_with(arguments, "cat"), 2, {});
    if (arguments[arguments.size() - 2].starts_with("--")) {
      arguments.pop_back();
      arguments.back() += "=";
      expect_failure(run_with(arguments, "cat"), 2, {});
    }
  }
}

TEST(BadInput, NumbersOfKeysBeyondWhatIsKept) {
  for (const std::string top : {"0", "-1", "63", "2147483647"}) {
    expect_failure(run_with({"look", "cat", "--top", top, "-m", tiny()}), 1, {"top is " + top + ": it can be 1 to 62"});
  }
  expect_failure(run_with({"explain", "cat", "--token", "cat", "--top", "0", "-m", tiny()}), 2,
                 {"--top is 0: it can be 1 or more"});
  EXPECT_EQ(run_with({"explain", "cat", "--token", "cat", "--top", "2147483647", "-m", tiny()}).status, 0);
}

TEST(BadInput, LongArgumentsAreCutInMessages) {
  const std::string endless(5000, 'x');
  const std::string accented = [] {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "é";
    return text;
  }();
  for (const std::string& argument : {endless, accented}) {
    for (const Outcome& outcome :
         {run_with({argument}), run_with({"look", "cat", argument}), run_with({"look", "cat", "--" + argument}),
          run_with({"look", "cat", "--layer", argument}), run_with({"look", "cat", "--color", argument}),
          run_with({"map", "cat", "-o", argument}), run_with({"look", "cat", "--token", argument, "-m", tiny()}),
          run_with({"look", argument + " cat", "--token", "dog", "-m", tiny()}),
          run_with({"look", argument + " " + argument, "--token", argument, "-m", tiny()})}) {
      expect_failure(outcome, outcome.status == 2 ? 2 : 1, {"..."});
      EXPECT_LT(outcome.error.size(), 1300u) << outcome.error;
    }
  }
}

}  // namespace
}  // namespace sightline::cli
