#ifndef SIGHTLINE_TOKENIZER_END_PIECES_H_
#define SIGHTLINE_TOKENIZER_END_PIECES_H_

#include <span>
#include <string_view>

namespace sightline::tokenizer {

/// How families of models spell the special tokens that end a turn or a text, for files that do not name them all: a
/// chat model's end of turn is often no "eos" of its file. Spellings that also mean something else ("</s>" is a tag of
/// HTML in Gemma's vocabulary) are not among them.
std::span<const std::string_view> end_pieces();

/// In gpt-oss's format "<|end|>" closes a message within a turn, such as its thoughts; these two close the turn.
inline constexpr std::string_view kMessageEnd = "<|end|>", kHarmonyReturn = "<|return|>", kHarmonyCall = "<|call|>";

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_END_PIECES_H_
