#ifndef SIGHTLINE_CLI_COMPARE_PICTURE_H_
#define SIGHTLINE_CLI_COMPARE_PICTURE_H_

#include <cstddef>

#include "src/engine/compare.h"
#include "src/format/picture.h"

namespace sightline::cli {

/// The first `top` rows of a comparison as strips, those of the two texts one below the other; a column for each word
/// that weighs anything in one of them, up to kMostDrawnWords.
format::Picture draw_comparison(const engine::TextPair& pair, const engine::Comparison& comparison, std::size_t top,
                                format::Font& font);
inline constexpr std::size_t kMostDrawnWords = 48;

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_COMPARE_PICTURE_H_
