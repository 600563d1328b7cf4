#ifndef SIGHTLINE_TOKENIZER_NORMALIZED_STRING_H_
#define SIGHTLINE_TOKENIZER_NORMALIZED_STRING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::tokenizer {

/// A character of normalised text, and the bytes of the original text that it stands for.
struct Char {
  char32_t code;
  std::uint32_t begin, end;  // 12 bytes a character instead of 24: texts are below 4 GiB
};

using CharSpan = std::span<const Char>;

std::string to_utf8(CharSpan chars);

/// One character of a text's new form, told by what becomes of the old characters, which are used up in their order.
struct Change {
  char32_t code;
  /// 1: inserted, standing for the same bytes as the old character before it; 0: takes the next old character's place;
  /// -n: takes its place, and the n old characters after it vanish.
  int change;
};

/// Text under normalisation. Every character keeps its place in the original text, by the rules of the Hugging Face
/// `tokenizers` library, since offsets of tokens come from it. Where the text grows beyond 64 times its length and 1024
/// characters more, BadFile is thrown.
class NormalizedString {
 public:
  NormalizedString() = default;
  /// Reads well-formed UTF-8.
  explicit NormalizedString(std::string_view utf8);
  explicit NormalizedString(CharSpan chars)
      : chars_(chars.begin(), chars.end()), given_(chars.size()), origin_(chars.empty() ? 0 : chars.front().begin) {}

  const std::vector<Char>& chars() const { return chars_; }
  bool empty() const { return chars_.empty(); }

  template <typename Keep>
  void filter(Keep keep) {
    std::erase_if(chars_, [&](const Char& c) { return !keep(c.code); });
  }
  template <typename Map>
  void map(Map map) {
    for (Char& c : chars_) c.code = map(c.code);
  }
  /// `changes` must use up every character.
  void transform(std::span<const Change> changes);
  /// Every occurrence of `pattern`, from the left; the new characters stand for the last one replaced.
  void replace(std::u32string_view pattern, std::u32string_view content);
  /// The same for given stretches of characters, ascending; before an empty one the character before it stands.
  struct Stretch {
    std::size_t begin, end;
  };
  void replace(std::span<const Stretch> stretches, std::u32string_view content);
  /// Text before the first character, if there is one; all of it stands for that one.
  void prepend(std::u32string_view text);
  void strip(bool left, bool right);

  /// A file may ask for replacements that double the text at every step. Throws BadFile for a new `size` beyond bounds.
  void check_growth(std::size_t size) const;

 private:
  std::vector<Char> chars_;
  std::size_t given_ = 0;     // characters before any change
  std::uint32_t origin_ = 0;  // where the first of them began
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_NORMALIZED_STRING_H_
