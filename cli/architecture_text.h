#ifndef SIGHTLINE_CLI_ARCHITECTURE_TEXT_H_
#define SIGHTLINE_CLI_ARCHITECTURE_TEXT_H_

#include <cstdint>
#include <string>

#include "src/model/config.h"

namespace sightline::cli {

/// 22713216 -> "22,713,216".
std::string grouped(std::int64_t number);

/// Parts of a description in a line's words: "32 a layer, 8 of keys and values, 128 numbers each".
std::string heads_text(const model::TransformerConfig& config);
/// "causal, windows of 1,024 tokens in layers 1-5, 7-11; scores capped at 50".
std::string attention_text(const model::TransformerConfig& config);
/// "rotary, base 500,000, 128 numbers of a head, llama3 (factor 8, from 8,192)"; one for each rope that differs.
std::string positions_text(const model::TransformerConfig& config);
/// "RMSNorm before each block, epsilon 1e-05".
std::string norms_text(const model::TransformerConfig& config);
/// "gated (SiLU), 8,192 wide".
std::string feed_forward_text(const model::TransformerConfig& config);
/// "the word embedding's transpose", "none".
std::string output_text(const model::TransformerConfig& config);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_ARCHITECTURE_TEXT_H_
