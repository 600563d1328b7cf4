// Any text as a chat template, with messages behind a NUL byte, else with a conversation: errors of Sightline are the
// only exceptions allowed, it ends quickly, and the spans lie in the text.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/format/ordered_json.h"
#include "src/template/chat_template.h"
#include "src/tokenizer/unicode.h"

namespace {

constexpr std::string_view kConversation =
    R"([{"role":"system","content":" Be <nice>. "},{"role":"user","content":"a\u00e9, b","n":[1,2.5,null,true]},)"
    R"({"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"q":"x"}}}]}])";

void check(const sightline::jinja::RenderedChat& chat) {
  if (!sightline::tokenizer::is_utf8(chat.text)) std::abort();
  std::size_t at = 0;
  for (const auto& span : chat.spans) {
    if (span.begin < at || span.end <= span.begin || span.end > chat.text.size()) std::abort();
    at = span.end;
  }
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
    check(chat.render_spans(sightline::format::parse_ordered_json(messages, "messages"), options));
  } catch (const sightline::Error&) {
  }
  return 0;
}
