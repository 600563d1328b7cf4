#include "src/tokenizer/decoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/byte_level.h"
#include "src/tokenizer/byte_piece.h"
#include "src/tokenizer/metaspace.h"
#include "src/tokenizer/replacement.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  std::string replaced;
  std::size_t done = 0;
  for (std::size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, done)) {
    replaced.append(text, done, at - done).append(content);
    done = at + pattern.size();
  }
  if (done > 0) text = replaced.append(text, done);
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

// A run of bytes becomes the text that it spells; where it spells none, every byte becomes U+FFFD.
void join_bytes(std::vector<std::string>& pieces) {
  std::vector<std::string> joined;
  std::string run;
  const auto end_run = [&] {
    if (is_utf8(run)) {
      if (!run.empty()) joined.push_back(run);
    } else {
      joined.insert(joined.end(), run.size(), "\xEF\xBF\xBD");
    }
    run.clear();
  };
  for (std::string& piece : pieces) {
    if (const auto byte = byte_of_piece(piece)) {
      run += static_cast<char>(*byte);
      continue;
    }
    end_run();
    joined.push_back(std::move(piece));
  }
  end_run();
  pieces = std::move(joined);
}

Decoder make_byte_fallback(const JsonObject&) { return join_bytes; }

Decoder make_byte_level(const JsonObject&) { return decode_bytes; }

Decoder make_fuse(const JsonObject&) {
  return [](std::vector<std::string>& pieces) {
    std::string fused;
    for (const std::string& piece : pieces) fused += piece;
    pieces.assign(1, std::move(fused));
  };
}

Decoder make_strip(const JsonObject& json) {
  const std::string content = json.require_string("content");
  if (to_chars(content).size() != 1) throw BadFile(json.where("content") + " must be one character");
  const std::int64_t start = json.require_int("start", 0);
  const std::int64_t stop = json.require_int("stop", 0);
  return [=](std::vector<std::string>& pieces) {
    for (std::string& piece : pieces) {
      std::string_view rest = piece;
      for (std::int64_t i = 0; i < start && rest.starts_with(content); ++i) rest.remove_prefix(content.size());
      for (std::int64_t i = 0; i < stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
      piece = std::string(rest);
    }
  };
}

std::string replaced(const Regex& regex, const std::string& content, const std::string& piece) {
  const NormalizedString text(piece);
  std::string result;
  std::size_t done = 0;
  const auto keep_up_to = [&](std::size_t end) { result += to_utf8(CharSpan(text.chars()).subspan(done, end - done)); };
  regex.for_each_match(text.chars(), [&](std::size_t begin, std::size_t end) {
    keep_up_to(begin);
    result += content;
    done = end;
  });
  keep_up_to(text.chars().size());
  return result;
}

Decoder make_replace(const JsonObject& json) {
  return [replacement = read_replacement(json)](std::vector<std::string>& pieces) {
    for (std::string& piece : pieces) {
      if (replacement.regex) {
        piece = replaced(*replacement.regex, replacement.content, piece);
      } else {
        replace_all(piece, replacement.pattern, replacement.content);
      }
    }
  };
}

// The suffix that ends a word is a space, but at the end of the text.
Decoder make_bpe_decoder(const JsonObject& json) {
  const std::string suffix = json.require_string("suffix");
  if (suffix.empty()) throw UnsupportedModel(json.where("suffix") + " is empty, which is not supported");
  return [=](std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) replace_all(pieces[i], suffix, i + 1 < pieces.size() ? " " : "");
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
  static const std::vector<StageType<Decoder>> kTypes = {
      {"BPEDecoder", {"suffix"}, make_bpe_decoder},
      {"ByteFallback", {}, make_byte_fallback},
      {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, make_byte_level},
      {"Fuse", {}, make_fuse},
      {"Metaspace", {"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"}, make_metaspace_decoder},
      {"Replace", {"pattern", "content"}, make_replace},
      {"Sequence", {"decoders"}, make_sequence},
      {"Strip", {"content", "start", "stop"}, make_strip},
      {"WordPiece", {"prefix", "cleanup"}, make_wordpiece_decoder}};
  return make_stage(kTypes, json);
}

}  // namespace sightline::tokenizer
