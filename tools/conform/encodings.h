#ifndef SIGHTLINE_TOOLS_CONFORM_ENCODINGS_H_
#define SIGHTLINE_TOOLS_CONFORM_ENCODINGS_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "sightline/tokenizer.h"

namespace sightline::conform {

/// Columns of an encoding as the files write them.
nlohmann::json pieces(const tokenizer::Encoding& encoding);
nlohmann::json ids(const tokenizer::Encoding& encoding);
nlohmann::json special_mask(const tokenizer::Encoding& encoding);
nlohmann::json type_ids(const tokenizer::Encoding& encoding);
/// [begin, end) in code points of the text that a token came from; [0, 0] for those of the template.
nlohmann::json offsets(const tokenizer::Encoding& encoding, std::string_view text, std::string_view pair);

/// Throws Mismatch where the two differ.
void expect_equal(std::string_view what, const nlohmann::json& got, const nlohmann::json& expected);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_ENCODINGS_H_
