#include "src/tokenizer/decoder.h"

#include <array>
#include <string_view>
#include <utility>

namespace sightline::tokenizer {
namespace {

void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  for (std::size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, at + content.size())) {
    text.replace(at, pattern.size(), content);
  }
}

// English punctuation and clitics lose the space before them. It works within a piece, as the reference does, not
// across.
void clean_up(std::string& piece) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kJoins = {{{" .", "."},
                                                                                            {" ?", "?"},
                                                                                            {" !", "!"},
                                                                                            {" ,", ","},
                                                                                            {" ' ", "'"},
                                                                                            {" n't", "n't"},
                                                                                            {" 'm", "'m"},
                                                                                            {" do not", " don't"},
                                                                                            {" 's", "'s"},
                                                                                            {" 've", "'ve"},
                                                                                            {" 're", "'re"}}};
  for (const auto& [pattern, content] : kJoins) replace_all(piece, pattern, content);
}

Decoder make_wordpiece_decoder(const JsonObject& json) {
  const std::string prefix = json.require_string("prefix");
  const bool cleanup = json.require_bool("cleanup");
  return [=](std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0) pieces[i] = pieces[i].starts_with(prefix) ? pieces[i].substr(prefix.size()) : " " + pieces[i];
      if (cleanup) clean_up(pieces[i]);
    }
  };
}

Decoder make_sequence(const JsonObject& json) {
  const std::vector<Decoder> decoders = make_stages(make_decoder, json, "decoders");
  return [=](std::vector<std::string>& pieces) {
    for (const Decoder& decode : decoders) decode(pieces);
  };
}

}  // namespace

Decoder make_decoder(const JsonObject& json) {
  static const std::vector<StageType<Decoder>> kTypes = {{"Sequence", {"decoders"}, make_sequence},
                                                         {"WordPiece", {"prefix", "cleanup"}, make_wordpiece_decoder}};
  return make_stage(kTypes, json);
}

}  // namespace sightline::tokenizer
