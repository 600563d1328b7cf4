#include "src/tokenizer/metaspace.h"

#include <string>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

struct Metaspace {
  enum class Prepend {
    always,  // before every section of the text that does not begin with a mark
    first,   // the same, but only at the start of the text
    never,
  };
  char32_t mark;
  Prepend prepend = Prepend::always;
  bool split = true;
};

Metaspace::Prepend read_scheme(const JsonObject& json) {
  const std::string* scheme = json.find_string("prepend_scheme");
  const bool legacy_never = !json.find_bool("add_prefix_space").value_or(true);
  if (scheme == nullptr) return legacy_never ? Metaspace::Prepend::never : Metaspace::Prepend::always;
  if (legacy_never && *scheme != "never") {
    throw BadFile(json.where("prepend_scheme") + " is " + format::quote(*scheme) +
                  ", but \"add_prefix_space\" is false");
  }
  if (*scheme == "always") return Metaspace::Prepend::always;
  if (*scheme == "first") return Metaspace::Prepend::first;
  if (*scheme == "never") return Metaspace::Prepend::never;
  throw UnsupportedModel(json.where("prepend_scheme") + " is " + format::quote(*scheme) +
                         ", which is not supported; always, first and never are");
}

Metaspace read_metaspace(const JsonObject& json) {
  const std::u32string mark = to_chars(json.require_string("replacement"));
  if (mark.size() != 1) throw BadFile(json.where("replacement") + " must be one character");
  return {mark[0], read_scheme(json), json.find_bool("split").value_or(true)};
}

// Appends the characters of a split as they become, and the splits that they make.
void append_marked(const Metaspace& metaspace, CharSpan chars, PreTokenizedString& out) {
  const auto is_mark = [&](const Char& c) { return c.code == U' ' || c.code == metaspace.mark; };
  std::size_t begin = out.chars.size();
  const bool wanted = metaspace.prepend == Metaspace::Prepend::always ||
                      (metaspace.prepend == Metaspace::Prepend::first && chars.front().begin == 0);
  if (wanted && !is_mark(chars.front())) {
    out.chars.push_back({metaspace.mark, chars.front().begin, chars.front().end});
  }
  for (std::size_t i = 0; i < chars.size(); ++i) {
    const bool marked = is_mark(chars[i]);
    if (marked && metaspace.split && out.chars.size() > begin) {
      out.splits.push_back({begin, out.chars.size(), {}});
      begin = out.chars.size();
    }
    out.chars.push_back({marked ? metaspace.mark : chars[i].code, chars[i].begin, chars[i].end});
  }
  out.splits.push_back({begin, out.chars.size(), {}});
}

void mark_spaces(const Metaspace& metaspace, PreTokenizedString& text) {
  PreTokenizedString out;
  out.chars.reserve(text.chars.size() + text.splits.size());
  out.splits.reserve(text.splits.size());
  for (const Split& split : text.splits) {
    const CharSpan chars = CharSpan(text.chars).subspan(split.begin, split.end - split.begin);
    if (!split.added_token) {
      append_marked(metaspace, chars, out);
      continue;
    }
    out.splits.push_back({out.chars.size(), out.chars.size() + chars.size(), split.added_token});
    out.chars.insert(out.chars.end(), chars.begin(), chars.end());
  }
  text = std::move(out);
}

std::string spaced(const std::string& piece, const Metaspace& metaspace, bool drop) {
  std::string text;
  for (const char32_t c : to_chars(piece)) {
    if (c != metaspace.mark) {
      append_utf8(c, text);
    } else if (!drop) {
      text += ' ';
    }
  }
  return text;
}

}  // namespace

PreTokenizer make_metaspace(const JsonObject& json) {
  return [metaspace = read_metaspace(json)](PreTokenizedString& text) { mark_spaces(metaspace, text); };
}

Decoder make_metaspace_decoder(const JsonObject& json) {
  return [metaspace = read_metaspace(json)](std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i] = spaced(pieces[i], metaspace, i == 0 && metaspace.prepend != Metaspace::Prepend::never);
    }
  };
}

}  // namespace sightline::tokenizer
