#include "src/tokenizer/normalized_string.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {

std::string to_utf8(CharSpan chars) {
  std::string text;
  for (const Char& c : chars) append_utf8(c.code, text);
  return text;
}

NormalizedString::NormalizedString(std::string_view utf8) {
  chars_.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const DecodedChar c = decode_char(utf8, at);
    chars_.push_back({c.code, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + c.length)});
    at += c.length;
  }
  given_ = chars_.size();
}

void NormalizedString::check_growth(std::size_t size) const {
  constexpr std::size_t kMaxFactor = 64;  // NFKC makes 18 characters of one, at most
  constexpr std::size_t kMaxExtra = 1024;
  if (size <= kMaxFactor * given_ + kMaxExtra) return;
  throw BadFile("the tokenizer's normalizer makes a text of " + std::to_string(given_) + " characters longer than " +
                std::to_string(kMaxFactor * given_ + kMaxExtra));
}

void NormalizedString::transform(std::span<const Change> changes) {
  check_growth(changes.size());
  std::vector<Char> changed;
  changed.reserve(changes.size());
  std::size_t used = 0;
  for (const Change& c : changes) {
    const bool inserted = c.change > 0;
    const Char& source = chars_[inserted && used > 0 ? used - 1 : used];
    changed.push_back({c.code, source.begin, source.end});
    if (!inserted) used += 1 + static_cast<std::size_t>(-c.change);
  }
  chars_ = std::move(changed);
}

void NormalizedString::replace(std::u32string_view pattern, std::u32string_view content) {
  const auto same = [](const Char& c, char32_t code) { return c.code == code; };
  std::vector<Stretch> stretches;
  for (auto at = chars_.begin(); at != chars_.end();) {
    const auto found = std::search(at, chars_.end(), pattern.begin(), pattern.end(), same);
    if (found == chars_.end()) break;
    at = found + static_cast<std::ptrdiff_t>(pattern.size());
    stretches.push_back(
        {static_cast<std::size_t>(found - chars_.begin()), static_cast<std::size_t>(at - chars_.begin())});
  }
  replace(stretches, content);
}

void NormalizedString::replace(std::span<const Stretch> stretches, std::u32string_view content) {
  if (stretches.empty()) return;
  std::vector<Char> replaced;
  const auto keep = [&](std::size_t begin, std::size_t end) {
    replaced.insert(replaced.end(), chars_.begin() + static_cast<std::ptrdiff_t>(begin),
                    chars_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  std::size_t done = 0;
  for (const Stretch& stretch : stretches) {
    keep(done, stretch.begin);
    done = stretch.end;
    check_growth(replaced.size() + content.size());
    const Char place = done > 0 ? chars_[done - 1] : Char{0, origin_, origin_};
    for (const char32_t c : content) replaced.push_back({c, place.begin, place.end});
  }
  keep(done, chars_.size());
  chars_ = std::move(replaced);
}

void NormalizedString::prepend(std::u32string_view text) {
  if (chars_.empty()) return;
  check_growth(chars_.size() + text.size());
  std::vector<Char> front;
  for (const char32_t c : text) front.push_back({c, chars_.front().begin, chars_.front().end});
  chars_.insert(chars_.begin(), front.begin(), front.end());
}

void NormalizedString::strip(bool left, bool right) {
  const auto is_text = [](const Char& c) { return !is_whitespace(c.code); };
  if (right) chars_.erase(std::find_if(chars_.rbegin(), chars_.rend(), is_text).base(), chars_.end());
  if (left) chars_.erase(chars_.begin(), std::find_if(chars_.begin(), chars_.end(), is_text));
}

}  // namespace sightline::tokenizer
