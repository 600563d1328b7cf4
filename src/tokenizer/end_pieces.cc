#include "src/tokenizer/end_pieces.h"

namespace sightline::tokenizer {
namespace {

constexpr std::string_view kEndPieces[] = {
    "<|im_end|>",       // ChatML: Qwen, SmolLM, Phi-4, Yi, ...
    "<|eot_id|>",       // Llama 3: a turn,
    "<|eom_id|>",       // a message that calls a tool,
    "<|end_of_text|>",  // a text; Granite's too
    "<|eot|>",          // the first two of Llama 4
    "<|eom|>",
    "<end_of_turn>",                            // Gemma
    kMessageEnd,                                // Phi-3
    kHarmonyReturn,                             // gpt-oss: an answer,
    kHarmonyCall,                               // a call of a tool
    "<|endoftext|>",                            // GPT-2 and many after it
    "<|end_of_turn|>",                          // OpenChat
    "<|END_OF_TURN_TOKEN|>",                    // Command R
    "<end_of_utterance>",                       // SmolVLM, Idefics
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",  // DeepSeek
    "<|EOT|>",                                  // DeepSeek Coder
    "<EOT>",                                    // Code Llama: what it fills in,
    "\u2581<EOT>",                              // as SentencePiece spells it
};

}  // namespace

std::span<const std::string_view> end_pieces() { return kEndPieces; }

}  // namespace sightline::tokenizer
