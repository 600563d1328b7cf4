#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sightline::cli {
namespace {

using Environment = std::map<std::string, std::string>;

TerminalSource source(bool is_terminal, int columns, Environment environment) {
  return {is_terminal, columns, [environment](const char* name) -> const char* {
            const auto found = environment.find(name);
            return found == environment.end() ? nullptr : found->second.c_str();
          }};
}

TEST(Terminal, WidthIsTheTerminalsThenColumnsThenEighty) {
  EXPECT_EQ(detect_terminal(source(true, 132, {{"COLUMNS", "70"}}), ColourChoice::automatic).width, 132);
  EXPECT_EQ(detect_terminal(source(true, 0, {{"COLUMNS", "70"}}), ColourChoice::automatic).width, 70);
  EXPECT_EQ(detect_terminal(source(false, 132, {}), ColourChoice::automatic).width, 80);
  EXPECT_EQ(detect_terminal(source(false, 0, {{"COLUMNS", "wide"}}), ColourChoice::automatic).width, 80);
  EXPECT_EQ(detect_terminal(source(true, 3, {}), ColourChoice::automatic).width, 40);
  EXPECT_EQ(detect_terminal(source(false, 0, {{"COLUMNS", "99999999"}}), ColourChoice::automatic).width, 1000);
}

ColourDepth colours(bool is_terminal, Environment environment, ColourChoice choice) {
  return detect_terminal(source(is_terminal, 80, std::move(environment)), choice).colours;
}

TEST(Terminal, ColoursFollowTermAndColorterm) {
  constexpr auto kAuto = ColourChoice::automatic;
  EXPECT_EQ(colours(true, {{"TERM", "xterm-256color"}}, kAuto), ColourDepth::xterm256);
  EXPECT_EQ(colours(true, {{"TERM", "xterm-256color"}, {"COLORTERM", "truecolor"}}, kAuto), ColourDepth::rgb);
  EXPECT_EQ(colours(true, {{"TERM", "xterm-direct"}}, kAuto), ColourDepth::rgb);
  EXPECT_EQ(colours(true, {{"TERM", "linux"}}, kAuto), ColourDepth::ansi16);
  EXPECT_EQ(colours(true, {{"TERM", "dumb"}}, kAuto), ColourDepth::none);
  EXPECT_EQ(colours(true, {}, kAuto), ColourDepth::none);
}

TEST(Terminal, NoColoursInPipesOrUnderNoColor) {
  const Environment full = {{"TERM", "xterm-256color"}, {"COLORTERM", "truecolor"}};
  Environment refused = full;
  refused["NO_COLOR"] = "1";
  EXPECT_EQ(colours(false, full, ColourChoice::automatic), ColourDepth::none);
  EXPECT_EQ(colours(true, refused, ColourChoice::automatic), ColourDepth::none);
  EXPECT_EQ(colours(true, full, ColourChoice::never), ColourDepth::none);
  EXPECT_EQ(colours(false, refused, ColourChoice::always), ColourDepth::rgb);
  refused["NO_COLOR"] = "";  // empty counts as not set, as no-color.org has it
  EXPECT_EQ(colours(true, refused, ColourChoice::automatic), ColourDepth::rgb);
}

TEST(Terminal, Utf8ByTheFirstVariableThatIsSet) {
  const auto utf8 = [](Environment environment) {
    return detect_terminal(source(true, 80, std::move(environment)), ColourChoice::automatic).utf8;
  };
  EXPECT_TRUE(utf8({{"LANG", "en_US.UTF-8"}}));
  EXPECT_TRUE(utf8({{"LANG", "C.utf8"}}));
  EXPECT_TRUE(utf8({{"LC_ALL", ""}, {"LC_CTYPE", "de_DE.UTF-8"}}));
  EXPECT_FALSE(utf8({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  EXPECT_FALSE(utf8({{"LANG", "de_DE.ISO-8859-1"}}));
  EXPECT_FALSE(utf8({}));
}

TEST(Terminal, LightWhereTheBackgroundIs) {
  const auto theme = [](const char* value) {
    return detect_terminal(source(true, 80, {{"COLORFGBG", value}}), ColourChoice::automatic).theme;
  };
  EXPECT_EQ(theme("0;15"), format::Theme::light);
  EXPECT_EQ(theme("0;default;7"), format::Theme::light);
  EXPECT_EQ(theme("15;0"), format::Theme::dark);
  EXPECT_EQ(theme(""), format::Theme::dark);
}

}  // namespace
}  // namespace sightline::cli
