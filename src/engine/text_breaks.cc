#include "src/engine/text_breaks.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>
#include <string>

#include "sightline/error.h"
#include "src/engine/words.h"

namespace sightline::engine {
namespace {

using TextPointer = std::unique_ptr<UText, decltype(&utext_close)>;

void check(UErrorCode status) {
  if (U_FAILURE(status)) throw BadArgument(std::string("the text cannot be cut: ") + u_errorName(status));
}

std::unique_ptr<icu::BreakIterator> breaks_at(TextUnit unit) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Locale& root = icu::Locale::getRoot();
  std::unique_ptr<icu::BreakIterator> breaks(unit == TextUnit::sentence
                                                 ? icu::BreakIterator::createSentenceInstance(root, status)
                                                 : icu::BreakIterator::createCharacterInstance(root, status));
  check(status);
  return breaks;
}

}  // namespace

std::vector<TextSpan> cut_text(std::string_view text, TextUnit unit) {
  const std::unique_ptr<icu::BreakIterator> breaks = breaks_at(unit);
  UErrorCode status = U_ZERO_ERROR;
  const TextPointer view(utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status),
                         utext_close);
  check(status);
  breaks->setText(view.get(), status);
  check(status);
  std::vector<TextSpan> spans;
  std::int32_t begin = breaks->first();
  for (std::int32_t end = breaks->next(); end != icu::BreakIterator::DONE; begin = end, end = breaks->next()) {
    spans.push_back({static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
  }
  return spans;
}

std::vector<TextSpan> split_sentences(std::string_view text) {
  std::vector<TextSpan> sentences;
  for (const TextSpan& span : cut_text(text, TextUnit::sentence)) {
    const auto blank = [&](const TextSpan& s) { return is_white_space(text.substr(s.begin, s.end - s.begin)); };
    if (!sentences.empty() && (blank(span) || blank(sentences.back()))) {
      sentences.back().end = span.end;
    } else {
      sentences.push_back(span);
    }
  }
  return sentences;
}

std::size_t span_with_most(const std::vector<TextSpan>& spans, std::size_t begin, std::size_t end) {
  const auto first = std::ranges::partition_point(spans, [&](const TextSpan& s) { return s.end <= begin; });
  auto best = first == spans.end() ? std::prev(first) : first;
  std::size_t most = 0;
  for (auto span = first; span != spans.end() && span->begin < end; ++span) {
    const std::size_t held = std::min(span->end, end) - std::max(span->begin, begin);
    if (held > most) {
      most = held;
      best = span;
    }
  }
  return static_cast<std::size_t>(best - spans.begin());
}

}  // namespace sightline::engine
