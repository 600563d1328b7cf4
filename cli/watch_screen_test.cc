#include "cli/watch_screen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/engine/name_segments.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

const engine::Session& tiny() {
  static const engine::Session session = engine::Session::open(engine::testing::source_path("tests/data/tiny-decoder"));
  return session;
}

engine::PromptedGeneration prompted(const std::string& text, int head = -1) {
  model::GenerationOptions options{.max_tokens = 12};
  options.sampling = {.temperature = 3, .seed = 1};
  options.watch = model::WatchOptions{.top = 8, .row_weights = true, .head = head};
  return tiny().generate(text, options);
}

// The step as each head by itself gave it, averaged here.
TEST(WatchedRow, IsTheMeanOfTheChosenMaps) {
  std::vector<std::vector<float>> weights(4);
  std::vector<double> entropy(4);
  for (int head = 0; head < 4; ++head) {
    engine::PromptedGeneration one = prompted("the cat sat", head);
    const auto token = one.generation.next();
    const WatchedRow row = watched_row(*token->sight, {.layer = 1, .head = head});
    EXPECT_TRUE(row.whole);
    weights[static_cast<std::size_t>(head)] = row.weights;
    entropy[static_cast<std::size_t>(head)] = row.entropy;
  }
  engine::PromptedGeneration all = prompted("the cat sat");
  const auto token = all.generation.next();
  const WatchedRow mean = watched_row(*token->sight, {.layer = 1, .head = -1});
  double sum = 0;
  for (std::size_t key = 0; key < mean.weights.size(); ++key) {
    double expected = 0;
    for (const auto& of_head : weights) expected += of_head[key] / 4;
    EXPECT_NEAR(mean.weights[key], expected, 1e-6);
    sum += mean.weights[key];
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_NEAR(mean.entropy, (entropy[0] + entropy[1] + entropy[2] + entropy[3]) / 4, 1e-5);
  // Of a head that was not watched, its heaviest keys: here all there are.
  const WatchedRow other = watched_row(*token->sight, {.layer = 1, .head = 2});
  EXPECT_FALSE(other.whole);
  for (std::size_t key = 0; key < other.weights.size(); ++key) EXPECT_NEAR(other.weights[key], weights[2][key], 1e-6);
}

TEST(WatchSteps, ForgetTheOldestBeyondTheirBytes) {
  model::StepSight sight;
  sight.row_weights.resize(1000);
  WatchSteps steps(10'000);
  for (int i = 0; i < 10; ++i) {
    sight.row = i;
    steps.add(sight);
  }
  EXPECT_EQ(steps.count(), 10);
  EXPECT_EQ(steps.first(), 8);
  EXPECT_EQ(steps.at(8).row, 8);
  EXPECT_EQ(steps.at(9).row, 9);
  WatchSteps none(1);
  none.add(sight);
  EXPECT_EQ(none.at(0).row, 9);  // the newest is always there
}

TEST(WatchedText, JoinsPartsOfACharacterAndOfAWord) {
  engine::PromptedGeneration generation = prompted("the animal's 火 xyzzy");
  WatchedText text(generation);
  std::string joined;
  std::int64_t end = 0;
  for (const WatchedItem& item : text.items()) {
    EXPECT_EQ(item.token_begin, end);
    end = item.token_end;
    joined += item.text;
    for (auto token = item.token_begin; token < item.token_end; ++token) {
      EXPECT_EQ(&text.items()[static_cast<std::size_t>(text.item_of(token))], &item);
    }
  }
  EXPECT_EQ(joined, "the animal's 火 xyzzy");
  EXPECT_EQ(end, std::ssize(generation.prompt));
  const auto prompt_items = std::ssize(text.items());
  text.add("");
  text.add("");
  text.add("語");
  text.add(" ab");
  text.add("cd");
  ASSERT_EQ(std::ssize(text.items()), prompt_items + 3);
  const WatchedItem& character = text.items()[static_cast<std::size_t>(prompt_items)];
  EXPECT_EQ(character.text, "語");
  EXPECT_EQ(character.token_end - character.token_begin, 3);
  EXPECT_EQ(text.item_of(end + 4), prompt_items + 2);
  EXPECT_EQ(text.word_label(text.items().back().word, true), "abcd");
  std::vector<float> weights(static_cast<std::size_t>(end) + 5, 0.01f);
  weights[static_cast<std::size_t>(end)] = weights[static_cast<std::size_t>(end) + 2] = 0.3f;
  weights[0] = 0.9f;  // the first token is set aside
  const auto heaviest = text.heaviest(weights, 2);
  EXPECT_EQ(heaviest[0].word, character.word);
  EXPECT_NEAR(heaviest[0].weight, 0.61, 1e-6);
}

WatchScreen screen_of(engine::PromptedGeneration& generation) {
  return {{"tiny-decoder", 2, 4, generation.segments.names_with_generated()}, WatchedText(generation), {}};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Words give way to segments, which a prompt's author named.
TEST(WatchScreen, TellsOfAllSegmentsOfAPrompt) {
  engine::Prompt prompt("the cat sat on the mat because the animal was tired");
  const std::vector<engine::NamedText> named = {
      {"system", "the cat sat"}, {"document", "on the mat"}, {"question", "because the animal was tired"}};
  engine::name_texts(prompt, named);
  model::GenerationOptions options{.max_tokens = 3};
  options.watch = model::WatchOptions{.top = 8, .row_weights = true};
  for (const int width : {80, 100, 140}) {
    engine::PromptedGeneration generation = tiny().generate(prompt, options);
    WatchScreen screen = screen_of(generation);
    screen.resize({.width = width, .utf8 = true}, 24);
    std::vector<double> mass;
    while (const auto token = generation.generation.next()) {
      screen.add(*token, 1);
      mass = watched_row(*token->sight, {}).segments;
    }
    const std::string frame = screen.frame();
    const std::size_t begin = frame.find("\x1b[23;1H"), end = frame.find("\x1b[24;1H");
    ASSERT_LT(begin, end);
    const std::string status = frame.substr(begin, end - begin);
    const std::vector<std::string> names = generation.segments.names_with_generated();
    ASSERT_EQ(names.size(), mass.size());
    int shown = 0;
    for (std::size_t s = 0; s < names.size(); ++s) {
      if (mass[s] < 0.005) continue;
      ++shown;
      EXPECT_TRUE(holds(status, fmt::format("{} {:.0f} %", names[s], 100 * mass[s]))) << status;
    }
    EXPECT_GE(shown, 4);
    EXPECT_FALSE(holds(status, "~") || holds(status, "…")) << status;
  }
}

TEST(WatchScreen, ShowsStepsLayersAndHeads) {
  engine::PromptedGeneration generation = prompted("the cat sat on the mat");
  WatchScreen screen = screen_of(generation);
  screen.resize({.width = 120, .utf8 = true}, 24);
  screen.prompt_progress(0.5);
  EXPECT_TRUE(holds(screen.frame(), "reading the prompt: 50 %"));
  double seconds = 0;
  while (const auto token = generation.generation.next()) screen.add(*token, seconds += 0.5);
  EXPECT_TRUE(holds(screen.frame(), "mean of 2 × 4 maps"));
  EXPECT_TRUE(holds(screen.frame(), "token 12  "));
  const auto press = [&](std::initializer_list<WatchKey> keys) {
    for (const WatchKey key : keys) screen.press(key);
    return screen.frame();
  };
  using enum WatchKey;
  EXPECT_TRUE(holds(press({left, left}), "token 10 of 12"));
  EXPECT_TRUE(holds(press({right, right}), "token 12  "));
  EXPECT_TRUE(holds(press({layer_on, layer_on}), "mean of L2"));
  EXPECT_TRUE(holds(press({head_back}), "L2H4"));
  EXPECT_TRUE(holds(screen.frame(), "by the 8 heaviest keys of each map"));
  EXPECT_TRUE(holds(press({layer_on}), "mean of H4 over 2 layers"));
  EXPECT_TRUE(holds(press({mean}), "mean of 2 × 4 maps"));
  EXPECT_TRUE(holds(press({pause}), "paused"));
  EXPECT_TRUE(screen.paused());
  press({enter});
  EXPECT_FALSE(screen.left());
  screen.end("length", "");
  EXPECT_FALSE(screen.paused());
  EXPECT_TRUE(holds(screen.frame(), "ended: length"));
  press({enter});
  EXPECT_TRUE(screen.left());
}

TEST(WatchScreen, EverySizeHasAFrame) {
  engine::PromptedGeneration generation = prompted("the 猫 sat\non the mat and looked at nothing for a while");
  WatchScreen screen = screen_of(generation);
  while (const auto token = generation.generation.next()) screen.add(*token, 1);
  for (int width = 0; width < 30; ++width) {
    for (int rows = 0; rows < 9; ++rows) {
      for (const ColourDepth colours : {ColourDepth::none, ColourDepth::rgb}) {
        screen.resize({.width = width, .colours = colours, .utf8 = rows % 2 == 0}, rows);
        const std::string frame = screen.frame();
        for (int row = 1; row <= std::max(1, rows); ++row) {
          EXPECT_TRUE(holds(frame, "\x1b[" + std::to_string(row) + ";1H"));
        }
        EXPECT_FALSE(holds(frame, "\x1b[" + std::to_string(std::max(1, rows) + 1) + ";1H"));
        for (const WatchKey key : {WatchKey::home, WatchKey::page_down, WatchKey::left, WatchKey::end})
          screen.press(key);
      }
    }
  }
}

}  // namespace
}  // namespace sightline::cli
