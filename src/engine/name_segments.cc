#include "src/engine/name_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sightline/error.h"
#include "src/engine/axis.h"
#include "src/engine/segments.h"
#include "src/tokenizer/unicode.h"

namespace sightline::engine {
namespace {

// [[name]] or [[/name]] in a text.
struct Mark {
  std::size_t begin = 0, end = 0;
  bool closes = false;
  std::string name;
};

bool fits_name(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
  return letter || (!first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

std::optional<Mark> mark_at(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 2;
  Mark mark{begin, 0, at < text.size() && text[at] == '/', {}};
  at += mark.closes;
  while (at < text.size() && fits_name(text[at], mark.name.empty())) mark.name += text[at++];
  if (mark.name.empty() || text.substr(at, 2) != "]]") return std::nullopt;
  mark.end = at + 2;
  return mark;
}

std::vector<Mark> marks_in(std::string_view text) {
  std::vector<Mark> marks;
  for (std::size_t at = text.find("[["); at != std::string_view::npos; at = text.find("[[", at)) {
    const std::optional<Mark> mark = mark_at(text, at);
    at = mark ? mark->end : at + 1;
    if (mark) marks.push_back(*mark);
  }
  return marks;
}

// "line 3, column 7", from 1, in characters.
std::string place_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line = before.rfind('\n') + 1;  // npos + 1 = 0
  const auto is_start = [](char c) { return !tokenizer::is_continuation(c); };
  return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                     std::ranges::count_if(before.substr(line), is_start) + 1);
}

[[noreturn]] void refuse_mark(const Mark& mark, std::string_view text, std::string_view what) {
  throw BadArgument(
      fmt::format("{}: [[{}{}]] {}", place_of(text, mark.begin), mark.closes ? "/" : "", shortened(mark.name), what));
}

bool has_name(const std::vector<TextSegment>& segments, const std::string& name) {
  return std::ranges::find(segments, name, &TextSegment::name) != segments.end();
}

// `on_top` where it is, elsewhere what `below` says. Both ascend, apart.
std::vector<TextSegment> overlaid(const std::vector<TextSegment>& below, const std::vector<TextSegment>& on_top) {
  std::vector<TextSegment> all = on_top;
  for (const TextSegment& range : below) {
    std::size_t at = range.begin;
    auto over = std::ranges::partition_point(on_top, [&](const TextSegment& s) { return s.end <= at; });
    for (; over != on_top.end() && over->begin < range.end; ++over) {
      if (at < over->begin) all.push_back({range.name, at, over->begin});
      at = std::max(at, over->end);
    }
    if (at < range.end) all.push_back({range.name, at, range.end});
  }
  std::ranges::stable_sort(all, {}, &TextSegment::begin);
  return all;
}

// What is named between marks, in the text with them.
std::vector<TextSegment> marked_ranges(std::string_view text, const std::vector<Mark>& marks) {
  std::vector<TextSegment> ranges;
  std::vector<const Mark*> open;
  std::size_t done = 0;
  const auto close_range = [&](std::size_t end) {
    if (!open.empty()) ranges.push_back({open.back()->name, done, end});
  };
  for (const Mark& mark : marks) {
    close_range(mark.begin);
    done = mark.end;
    if (!mark.closes) {
      open.push_back(&mark);
      continue;
    }
    if (open.empty()) refuse_mark(mark, text, "closes what was not opened");
    if (open.back()->name != mark.name) {
      refuse_mark(mark, text, fmt::format("stands where [[/{}]] should", shortened(open.back()->name)));
    }
    open.pop_back();
  }
  if (!open.empty()) refuse_mark(*open.back(), text, fmt::format("is not closed: write [[/{}]]", open.back()->name));
  return ranges;
}

// Takes the marks out of the text, and moves what is told of its bytes.
void remove_marks(const std::vector<Mark>& marks, Prompt& prompt) {
  std::vector<std::size_t> removed = {0};  // bytes of the marks before each
  std::string text;
  std::size_t done = 0;
  for (const Mark& mark : marks) {
    removed.push_back(removed.back() + mark.end - mark.begin);
    text.append(prompt.text, done, mark.begin - done);
    done = mark.end;
  }
  text.append(prompt.text, done);
  const auto moved = [&](std::size_t at) {
    const auto next = std::ranges::partition_point(marks, [&](const Mark& mark) { return mark.begin < at; });
    const auto before = static_cast<std::size_t>(next - marks.begin());
    if (before == 0) return at;
    return std::max(at, marks[before - 1].end) - removed[before];  // what begins inside a mark begins behind it
  };
  const auto move = [&](auto& ranges) {
    for (auto& range : ranges) {
      range.begin = moved(range.begin);
      range.end = moved(range.end);
    }
  };
  move(prompt.plain);
  move(prompt.segments);
  move(prompt.answers);
  prompt.text = std::move(text);
}

void require_new_name(const std::string& name, const std::vector<TextSegment>& below,
                      const std::vector<TextSegment>& given) {
  if (!has_name(below, name) && !has_name(given, name)) return;
  throw BadArgument(fmt::format("there are two segments named \"{}\": name one otherwise", shortened(name)));
}

void require_apart(const std::vector<TextSegment>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i - 1].end <= ranges[i].begin) continue;
    throw BadArgument(fmt::format("segments \"{}\" and \"{}\" overlap: a token can be in one alone",
                                  shortened(ranges[i - 1].name), shortened(ranges[i].name)));
  }
}

}  // namespace

void take_markers(Prompt& prompt) {
  const std::vector<Mark> marks = marks_in(prompt.text);
  for (const Mark& mark : marks) {
    if (has_name(prompt.segments, mark.name)) refuse_mark(mark, prompt.text, "is the name of another segment, too");
  }
  prompt.segments = overlaid(prompt.segments, marked_ranges(prompt.text, marks));
  remove_marks(marks, prompt);
  require_segments(prompt.segments, prompt.text.size());
}

void name_texts(Prompt& prompt, std::span<const NamedText> texts) {
  std::vector<TextSegment> ranges;
  for (const auto& [name, text] : texts) {
    require_new_name(name, prompt.segments, ranges);
    std::size_t at = text.empty() ? std::string::npos : prompt.text.find(text);
    if (at == std::string::npos) {
      throw BadArgument(fmt::format("the text of segment \"{}\" {}", shortened(name),
                                    text.empty()
                                        ? "is empty"
                                        : "does not stand in the prompt: it has to be there byte for byte, white "
                                          "space included"));
    }
    for (; at != std::string::npos; at = prompt.text.find(text, at + text.size())) {
      ranges.push_back({name, at, at + text.size()});
    }
  }
  std::ranges::stable_sort(ranges, {}, &TextSegment::begin);
  require_apart(ranges);
  prompt.segments = overlaid(prompt.segments, ranges);
  require_segments(prompt.segments, prompt.text.size());
}

}  // namespace sightline::engine
