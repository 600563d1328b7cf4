#include "cli/watched_text.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <map>

#include "cli/display_text.h"
#include "src/engine/axis.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

constexpr int kLabelColumns = 24;  // a model can write a word without end

// Letters, digits and their marks; an ideograph is a word of its own.
bool joins(UChar32 character) {
  if (character < 0) return false;
  const int width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
  const int type = u_charType(character);
  const bool mark = type == U_NON_SPACING_MARK || type == U_COMBINING_SPACING_MARK || type == U_ENCLOSING_MARK;
  return mark || (u_isalnum(character) && width != U_EA_WIDE && width != U_EA_FULLWIDTH);
}

bool continues_word(std::string_view before, std::string_view after) {
  if (before.empty() || after.empty()) return false;
  UChar32 last = 0, first = 0;
  before = before.substr(before.size() - std::min<std::size_t>(before.size(), 4));  // ICU counts in 32 bits
  auto end = static_cast<std::int32_t>(before.size());
  U8_PREV(reinterpret_cast<const std::uint8_t*>(before.data()), 0, end, last);
  std::int64_t begin = 0;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(after.data()), begin, static_cast<std::int64_t>(after.size()), first);
  return joins(last) && joins(first);
}

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && tokenizer::is_continuation(text[at]);
}

}  // namespace

WatchedText::WatchedText(const engine::PromptedGeneration& prompted) : prompt_tokens_(std::ssize(prompted.prompt)) {
  const std::vector<std::string> names = prompted.segments.names_with_generated();
  const std::vector<std::int32_t>& segments = prompted.generation.prompt().segments;
  std::size_t shown = 0;  // bytes of the prompt's text that the items have
  for (std::size_t i = 0; i < prompted.prompt.size(); ++i) {
    const engine::LookToken& token = prompted.prompt[i];
    WatchedItem item{static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1, {}};
    const std::int32_t segment = segments.empty() ? -1 : segments[i];
    const std::string name = segment < 0 ? "" : names[static_cast<std::size_t>(segment)];
    item.aside = token.special || name == "special" || name == "first";
    if (token.special && token.byte_begin == token.byte_end) {
      item.text = token.label;
      item.template_token = true;
    } else {
      std::size_t end = std::max(shown, token.byte_end);
      while (inside_character(prompted.text, end)) ++end;
      item.text = prompted.text.substr(shown, end - shown);
      shown = end;
    }
    if (item.text.empty() && !items_.empty()) {  // a later part of a character
      items_.back().token_end = item.token_end;
      item_of_token_.push_back(std::ssize(items_) - 1);
    } else {
      push(std::move(item));
    }
  }
  if (!items_.empty() && shown > 0) items_.back().text += prompted.text.substr(shown);
}

void WatchedText::push(WatchedItem item) {
  const bool apart = items_.empty() || item.token_begin == prompt_tokens_ || item.template_token ||
                     items_.back().template_token || items_.back().aside != item.aside;
  const bool same_word = !apart && continues_word(items_.back().text, item.text);
  if (!same_word) word_begin_.push_back(std::ssize(items_));
  item.word = std::ssize(word_begin_) - 1;
  item_of_token_.push_back(std::ssize(items_));
  items_.push_back(std::move(item));
}

void WatchedText::add(std::string_view text) {
  const std::int64_t token = tokens();
  if (token > prompt_tokens_ && items_.back().text.empty()) {
    WatchedItem open = std::move(items_.back());
    items_.pop_back();
    if (word_begin_.back() == std::ssize(items_)) word_begin_.pop_back();
    item_of_token_.pop_back();
    open.token_end = token + 1;
    open.text = text;
    const std::int64_t begin = open.token_begin;
    push(std::move(open));
    item_of_token_.resize(static_cast<std::size_t>(begin));
    item_of_token_.resize(static_cast<std::size_t>(token) + 1, std::ssize(items_) - 1);
    return;
  }
  push({token, token + 1, std::string(text)});
}

void WatchedText::add_rest(std::string_view text) {
  if (!items_.empty()) items_.back().text += text;
}

std::int64_t WatchedText::item_of(std::int64_t token) const {
  return item_of_token_.at(static_cast<std::size_t>(token));
}

std::string WatchedText::word_label(std::int64_t word, bool utf8) const {
  const auto begin = static_cast<std::size_t>(word_begin_.at(static_cast<std::size_t>(word)));
  std::string text;
  for (std::size_t i = begin; i < items_.size() && items_[i].word == word; ++i) text += items_[i].text;
  const std::string_view core = engine::trimmed(text);
  return fit_columns(core.empty() ? with_marks(text, utf8) : displayable(core, utf8), kLabelColumns, utf8);
}

std::vector<WatchedText::Weighed> WatchedText::heaviest(std::span<const float> weights, std::size_t count) const {
  std::vector<Weighed> words(word_begin_.size());
  for (std::size_t key = 0; key < std::min(weights.size(), item_of_token_.size()); ++key) {
    const WatchedItem& item = items_[static_cast<std::size_t>(item_of_token_[key])];
    Weighed& word = words[static_cast<std::size_t>(item.word)];
    word.word = item.word;
    if (!item.aside) word.weight += weights[key];
  }
  std::erase_if(words, [](const Weighed& word) { return !(word.weight > 0); });
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(count, words.size()));
  std::partial_sort(words.begin(), end, words.end(), [](const Weighed& a, const Weighed& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.word < b.word;
  });
  words.erase(end, words.end());
  return words;
}

}  // namespace sightline::cli
