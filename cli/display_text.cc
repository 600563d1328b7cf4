#include "cli/display_text.h"

#include <fmt/core.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

#include "src/engine/words.h"

namespace sightline::cli {
namespace {

// The character at `at`, which moves past it; negative where the bytes are not UTF-8.
UChar32 next(std::string_view text, std::int64_t& at) {
  UChar32 character = 0;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, static_cast<std::int64_t>(text.size()), character);
  return character;
}

bool is_shown(UChar32 character) {
  if (character == 0x200C || character == 0x200D)
    return true;  // joiners: Persian and emoji need them, and they move nothing
  switch (u_charType(character)) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_SURROGATE:
    case U_PRIVATE_USE_CHAR:
    case U_UNASSIGNED:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
      return false;
    default:
      return true;
  }
}

std::string escape(UChar32 character) {
  switch (character) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (character < 0x80) return fmt::format("\\x{:02x}", character);
  return character <= 0xFFFF ? fmt::format("\\u{:04x}", character) : fmt::format("\\U{:08x}", character);
}

int width_of(UChar32 character) {
  if (character == 0x200C || character == 0x200D) return 0;
  const int type = u_charType(character);
  if (type == U_NON_SPACING_MARK || type == U_ENCLOSING_MARK) return 0;
  if (character >= 0x1160 && character <= 0x11FF)
    return 0;  // medial vowels and final consonants of Hangul: drawn into the initial's cell
  const int width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

}  // namespace

std::string displayable(std::string_view text, bool utf8) {
  std::string shown;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(text.size());) {
    const std::int64_t begin = at;
    const UChar32 character = next(text, at);
    const std::string_view bytes = text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at - begin));
    if (character < 0) {
      for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else if (is_shown(character) && (utf8 || character < 0x80)) {
      shown += bytes;
    } else {
      shown += escape(character);
    }
  }
  return shown;
}

std::string label_text(std::string_view text, bool utf8) {
  return engine::is_white_space(text) ? with_marks(text, utf8) : displayable(text, utf8);
}

std::string with_marks(std::string_view text, bool utf8) {
  constexpr std::string_view kSpaces = " \n\t\r", kMarks[] = {"␣", "⏎", "⇥", "␍"};
  constexpr std::string_view kEscapes[] = {"\\s", "\\n", "\\t", "\\r"};
  std::string marked;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(text.size());) {
    const std::int64_t begin = at;
    const UChar32 character = next(text, at);
    const std::string_view bytes = text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at - begin));
    if (const std::size_t which = kSpaces.find(bytes); which != std::string_view::npos) {
      marked += utf8 ? kMarks[which] : kEscapes[which];
    } else if (character >= 0 && u_charType(character) == U_SPACE_SEPARATOR) {
      marked += escape(character);
    } else {
      marked += displayable(bytes, utf8);
    }
  }
  return marked;
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(text.size());) width += width_of(next(text, at));
  return width;
}

std::string take_columns(std::string_view& text, int width) {
  std::int64_t at = 0, end = 0;
  int taken = 0;
  while (at < static_cast<std::int64_t>(text.size())) {
    taken += width_of(next(text, at));
    if (taken > width) break;
    end = at;
  }
  const std::string front(text.substr(0, static_cast<std::size_t>(end)));
  text.remove_prefix(static_cast<std::size_t>(end));
  return front;
}

std::string fit_columns(std::string_view text, int width, bool utf8) {
  if (display_width(text) <= width) return std::string(text);
  return width < 1 ? std::string() : take_columns(text, width - 1) + (utf8 ? "…" : "~");
}

std::string pad_right(std::string_view text, int width, bool utf8) {
  std::string fitted = fit_columns(text, width, utf8);
  fitted.append(static_cast<std::size_t>(std::max(0, width - display_width(fitted))), ' ');
  return fitted;
}

std::string pad_left(std::string_view text, int width, bool utf8) {
  const std::string fitted = fit_columns(text, width, utf8);
  return std::string(static_cast<std::size_t>(std::max(0, width - display_width(fitted))), ' ') + fitted;
}

}  // namespace sightline::cli
