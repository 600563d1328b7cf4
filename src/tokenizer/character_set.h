#ifndef SIGHTLINE_TOKENIZER_CHARACTER_SET_H_
#define SIGHTLINE_TOKENIZER_CHARACTER_SET_H_

#include <unicode/uniset.h>

#include <optional>
#include <string>
#include <string_view>

/// Sets of characters as the patterns of a tokenizer.json mean them. The reference library matches patterns by
/// Oniguruma with the tables of Unicode 16, whatever release ICU has here.
namespace sightline::tokenizer {

using CharacterSet = icu::UnicodeSet;

CharacterSet set_of(char32_t first, char32_t last);
CharacterSet white_space();      // \s: U+0085 is in it, U+180E is not
CharacterSet word_chars();       // \w in a class: letters, marks, decimal digits, connecting punctuation
CharacterSet lone_word_chars();  // \w elsewhere: the superscripts and fractions of Latin-1 too, as Oniguruma has it
CharacterSet digits();           // \d: Nd
/// What \p{name} or [:name:] stands for: a general category ("Lu", "Letter"), a script ("Han") or one of POSIX's names.
/// The scripts Common and Unknown are not had: too much of them is new.
std::optional<CharacterSet> named_set(std::string_view name);

/// The set and everything that differs from one of its characters by case alone: s, S and U+017F.
CharacterSet without_case(CharacterSet set);
/// Whether one character stands for all of `chars` where case does not count: U+00DF for "ss".
bool is_case_of_one_character(std::u32string_view chars);
/// Whether several characters stand for `c` where case does not count: "ss" for U+00DF.
bool is_case_of_several_characters(char32_t c);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_CHARACTER_SET_H_
