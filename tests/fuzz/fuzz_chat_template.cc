// Any text as a chat template, with messages behind a NUL byte, else with a conversation: errors of Sightline are the
// only exceptions allowed, it ends quickly, and the spans lie in the text and leave nothing of the messages
// out.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/format/ordered_json.h"
#include "src/template/chat_template.h"
#include "src/tokenizer/unicode.h"

namespace {

constexpr std::string_view kConversation =
    R"([{"role":"system","content":" Be ߊ<nice>. "},{"role":"user","content":"a\u00e9, b","n":[1,2.5,null,true]},)"
    R"({"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"ߊ":"xߊ"}}}],"ߊ":1}])";

// A letter without case, which no filter changes.
constexpr std::string_view kMark = "\u07CA";

// `only_given`: the template does not write the mark itself, so that each one is a message's.
void check(const sightline::jinja::RenderedChat& chat, bool only_given) {
  if (!sightline::tokenizer::is_utf8(chat.text)) std::abort();
  std::size_t at = 0;
  for (const auto& span : chat.spans) {
    if (span.begin < at || span.end <= span.begin || span.end > chat.text.size()) std::abort();
    if (only_given && chat.text.substr(at, span.begin - at).find(kMark) != std::string::npos) std::abort();
    at = span.end;
  }
  if (only_given && chat.text.find(kMark, at) != std::string::npos) std::abort();
}

bool may_spell_mark(std::string_view source) {
  return source.find(kMark) != source.npos || source.find('\\') != source.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = input.find('\0');
  const std::string_view messages = nul == input.npos ? kConversation : input.substr(nul + 1);
  try {
    const auto chat = sightline::jinja::ChatTemplate::parse(input.substr(0, nul), "fuzz");
    sightline::jinja::ChatOptions options;
    options.bos_token = "<s>";
    options.tools = nlohmann::ordered_json::parse(R"([{"type":"function","function":{"name":"f"}}])");
    // The sanitizers make each step many times as slow.
    options.limits.steps = 300'000;
    options.limits.bytes = std::size_t{32} << 20;
    check(chat.render_spans(sightline::format::parse_ordered_json(messages, "messages"), options),
          !may_spell_mark(input.substr(0, nul)));
  } catch (const sightline::Error&) {
  }
  return 0;
}
