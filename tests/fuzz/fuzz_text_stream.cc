// Any bytes as they come: what a stream gives is UTF-8 whatever the pieces, and all in all the same; and any ids as
// tokens, of a vocabulary of bytes and of one of words with byte pieces.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/generation/stop_text.h"
#include "src/tokenizer/text_stream.h"
#include "src/tokenizer/unicode.h"

namespace {

using sightline::tokenizer::TextStream;
using sightline::tokenizer::Tokenizer;
using sightline::tokenizer::Utf8Stream;

const Tokenizer& bytes_and_words() {
  static const Tokenizer tokenizer = Tokenizer::parse(
      R"({"added_tokens":[{"id":8,"content":"<s>","special":true,"normalized":false,"single_word":false,"lstrip":false,
      "rstrip":false}],"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Metaspace",
      "replacement":"▁","prepend_scheme":"always"}]},"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,
      "vocab":[["<unk>",0],["<0xF0>",-1],["<0x9F>",-1],["<0x92>",-1],["<0xA9>",-1],["▁a",-2],["é",-2],["▁",-3]]}})",
      "tokenizer.json");
  return tokenizer;
}

std::string streamed(std::string_view bytes, std::size_t piece) {
  Utf8Stream stream;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string part = stream.add(bytes.substr(at, piece));
    if (!sightline::tokenizer::is_utf8(part)) std::abort();
    text += part;
  }
  return text + stream.finish();
}

void stream_tokens(std::string_view ids) {
  TextStream stream(bytes_and_words());
  sightline::model::StopText stops({"\xC3\xA9 a", "aa"});
  std::string text;
  for (const char id : ids) {
    const std::string part = stream.add(static_cast<signed char>(id) % 12);
    if (!sightline::tokenizer::is_utf8(part)) std::abort();
    text += stops.add(part);
  }
  text += stops.add(stream.finish());
  text += stops.finish();
  if (!sightline::tokenizer::is_utf8(text) || text.find("aa") != text.npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = streamed(input, size + 1);
  if (whole != streamed(input, 1) || whole != streamed(input, 3)) std::abort();
  if (sightline::tokenizer::is_utf8(input) && whole != input) std::abort();
  stream_tokens(input);
  return 0;
}
