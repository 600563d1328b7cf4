#include "src/tokenizer/charsmap.h"

#include <algorithm>
#include <memory>
#include <span>

#include "sightline/error.h"
#include "src/format/base64.h"
#include "src/tokenizer/grapheme.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kMaxClusterBytes = 5;

// A unit of the double array: a node's label and where its children are, or a value.
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFu; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFu; }
std::size_t offset_of(std::uint32_t unit) { return std::size_t{unit >> 10} << ((unit & 0x200u) >> 6); }

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

std::size_t count_chars(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return !is_continuation(c); }));
}

// The new form of `old_count` characters. Of more characters the last ones are inserted, with fewer the last takes the
// rest along; where there are none, the one before does, whatever it came from. So does the Hugging Face library.
void append_form(std::string_view form, std::size_t old_count, std::vector<Change>& changes) {
  const std::size_t first = changes.size();
  for (const char32_t c : to_chars(form)) changes.push_back({c, 0});
  const std::size_t new_count = changes.size() - first;
  if (new_count > old_count) {
    for (std::size_t i = first + old_count; i < changes.size(); ++i) changes[i].change = 1;
  } else if (!changes.empty()) {
    changes.back().change -= static_cast<int>(old_count - new_count);
  }
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes, std::string_view where) : where_(where) {
  if (bytes.size() < 4) throw BadFile(where_ + " is too short to be a table of characters");
  const std::uint32_t size = read_u32(bytes, 0);
  if (size > bytes.size() - 4 || size < 4 || size % 4 != 0) {
    throw BadFile(where_ + " says that its trie has " + std::to_string(size) + " bytes; " +
                  std::to_string(bytes.size() - 4) + " are there, and a trie has whole units of 4");
  }
  units_.resize(size / 4);
  for (std::size_t i = 0; i < units_.size(); ++i) units_[i] = read_u32(bytes, 4 + 4 * i);
  forms_ = bytes.substr(4 + size);
  if (!is_utf8(forms_)) throw BadFile(where_ + " holds new forms that are not UTF-8");
  for (std::size_t c = 1; c < ascii_changes_.size(); ++c) {
    const auto character = static_cast<char>(c);
    ascii_changes_[c] = find_value({&character, 1}).has_value();
  }
}

std::optional<std::uint32_t> Charsmap::find_value(std::string_view key) const {
  std::size_t node = offset_of(units_[0]);
  for (const char character : key) {
    const auto byte = static_cast<unsigned char>(character);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const bool ends = has_value(units_[node]);
    node ^= offset_of(units_[node]);
    if (ends && node < units_.size()) return value_of(units_[node]);
  }
  return std::nullopt;
}

std::optional<std::string_view> Charsmap::find(std::string_view key) const {
  const std::optional<std::uint32_t> place = find_value(key);
  if (!place) return std::nullopt;
  const bool inside = *place <= forms_.size();
  const bool starts = inside && (*place == forms_.size() || !is_continuation(forms_[*place]));
  if (!starts) throw BadFile(where_ + " names a new form at byte " + std::to_string(*place) + ", where none begins");
  const std::string_view rest = std::string_view(forms_).substr(*place);
  return rest.substr(0, rest.find('\0'));
}

void Charsmap::apply(NormalizedString& text) const {
  const CharSpan chars = text.chars();
  std::vector<Change> changes;
  changes.reserve(chars.size());
  bool changed = false;
  const auto replace = [&](std::size_t begin, std::size_t end) {
    const auto form = find(to_utf8(chars.subspan(begin, end - begin)));
    if (!form) return false;
    text.check_growth(changes.size() + count_chars(*form));
    append_form(*form, end - begin, changes);
    return changed = true;
  };
  const auto is_plain = [&](std::size_t i) { return chars[i].code < 128 && !ascii_changes_[chars[i].code]; };
  for (std::size_t at = 0; at < chars.size();) {
    if (is_plain(at) && (at + 1 == chars.size() || (chars[at + 1].code >= ' ' && chars[at + 1].code < 128))) {
      changes.push_back({chars[at++].code, 0});
      continue;
    }
    const std::size_t end = grapheme_end(chars, at);
    const bool is_short =
        end - at <= kMaxClusterBytes && to_utf8(chars.subspan(at, end - at)).size() <= kMaxClusterBytes;
    if (is_short && replace(at, end)) {
      at = end;
      continue;
    }
    for (; at < end; ++at) {
      if (!replace(at, at + 1)) changes.push_back({chars[at].code, 0});
    }
  }
  if (changed) text.transform(changes);
}

Normalizer make_precompiled(const JsonObject& json) {
  const auto bytes = format::from_base64(json.require_string("precompiled_charsmap"));
  if (!bytes) throw BadFile(json.where("precompiled_charsmap") + " is not base64");
  const auto map = std::make_shared<const Charsmap>(*bytes, json.where("precompiled_charsmap"));
  return [map](NormalizedString& text) { map->apply(text); };
}

}  // namespace sightline::tokenizer
