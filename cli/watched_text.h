#ifndef SIGHTLINE_CLI_WATCHED_TEXT_H_
#define SIGHTLINE_CLI_WATCHED_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/session.h"

namespace sightline::cli {

/// What is shown in one shade: a token, or several that share a character.
struct WatchedItem {
  std::int64_t token_begin = 0, token_end = 0;
  std::string text;  // UTF-8; of what a template added its name
  bool template_token = false;
  bool aside = false;     // special, or the first token: weight on it is said, not shown
  std::int64_t word = 0;  // items of one word follow one another
};

/// Prompt and text of a generation as they grow, token by token, and the words that they form.
class WatchedText {
 public:
  explicit WatchedText(const engine::PromptedGeneration& prompted);

  /// A generated token and the text that it completed. One without any joins the next that has some.
  void add(std::string_view text);
  /// Text that was held back, once there are no more tokens.
  void add_rest(std::string_view text);

  const std::vector<WatchedItem>& items() const { return items_; }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  std::int64_t tokens() const { return items_.empty() ? 0 : items_.back().token_end; }
  std::int64_t item_of(std::int64_t token) const;
  /// What the word is called: its text without white space around it, cut where it is long; where there is nothing
  /// else, marks.
  std::string word_label(std::int64_t word, bool utf8) const;

  /// A word, and the share of a row's weight that it has.
  struct Weighed {
    std::int64_t word = 0;
    double weight = 0;
  };
  /// The heaviest words of a row, `count` at most; weights [keys]. Those set aside, and without any weight, are none.
  std::vector<Weighed> heaviest(std::span<const float> weights, std::size_t count) const;

 private:
  void push(WatchedItem item);

  std::vector<WatchedItem> items_;
  std::vector<std::int64_t> item_of_token_;
  std::vector<std::int64_t> word_begin_;  // first item of each word
  std::int64_t prompt_tokens_ = 0;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCHED_TEXT_H_
