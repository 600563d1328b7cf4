// Any text as a conversation, for three templates (the first byte says which), then with marks taken out of it: errors
// of Sightline are the only exceptions allowed, what becomes of it is a prompt that a session takes, and its control
// tokens are those that the template spells.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/error.h"
#include "src/engine/chat.h"
#include "src/engine/name_segments.h"
#include "src/engine/segments.h"

namespace {

using sightline::engine::Chat;
using sightline::engine::Prompt;
using sightline::engine::TextSegment;
using sightline::tokenizer::Tokenizer;

constexpr std::array<const char*, 3> kTemplates = {
    // Between what stands in messages and what the template says tokens could come about.
    "{% for m in messages %}<e>{{ m.role | trim }}<{{ m.content | trim }}>{{ m.content | replace('x', '') }}e>"
    "{% endfor %}",
    "{{ bos_token }}{{ tools | tojson }}{{ documents }}{% for m in messages %}{{ m | tojson(indent=1) }}<e>{% endfor "
    "%}",
    "{% for m in messages %}{% for c in m.content or '' %}{{ c }}{{ c.lower() }}{% endfor %}[{{ m.content | upper }}]"
    "{{ m }}{{ more }}{% endfor %}<e>"};

Chat open_chat(const char* source) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "sightline-fuzz-messages";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "chat_template.jinja") << source;
  std::ofstream(directory / "tokenizer_config.json") << R"({"bos_token": "<e>"})";
  Chat chat = Chat::open(directory, "");
  std::filesystem::remove_all(directory);
  return chat;
}

// "<e>" is a special token of raw text, "<É>" one of text whose letters are made small and composed.
const Tokenizer& tokenizer() {
  static const Tokenizer tokenizer = Tokenizer::parse(
      R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Lowercase"},{"type":"NFKC"}]},
      "added_tokens":[{"id":0,"content":"<unk>","special":true,"normalized":false,"single_word":false,"lstrip":false,
      "rstrip":false},{"id":1,"content":"<e>","special":true,"normalized":false,"single_word":false,"lstrip":false,
      "rstrip":false},{"id":2,"content":"<É>","special":true,"normalized":true,"single_word":false,"lstrip":false,
      "rstrip":false}],"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["<e>",0],["<É>",0],["<é>",0],["<",-2],
      ["e",-2],[">",-2],["é",-2]]}})",
      "tokenizer.json");
  return tokenizer;
}

void require(bool holds) {
  if (!holds) std::abort();
}

// How often the template spells a control token itself.
std::size_t spelled(std::size_t chosen, std::size_t messages) {
  return chosen == 0 ? messages : chosen == 1 ? messages + 1 : 1;
}

void check_ranges(const std::vector<TextSegment>& ranges, std::size_t size) {
  std::size_t done = 0;
  for (const TextSegment& range : ranges) {
    require(range.begin >= done && range.end >= range.begin && range.end <= size);
    done = range.end;
  }
}

void check(const Prompt& prompt, std::size_t control) {
  sightline::engine::require_segments(prompt.segments, prompt.text.size());
  check_ranges(prompt.segments, prompt.text.size());
  check_ranges(prompt.answers, prompt.text.size());
  sightline::tokenizer::EncodeOptions how;
  how.add_special = prompt.add_special;
  how.parse_special = prompt.special;
  how.plain = prompt.plain;
  std::size_t found = 0;
  for (const auto& token : tokenizer().encode(prompt.text, how).tokens) {
    if (token.id != 1 && token.id != 2) continue;
    ++found;
    require(token.control);
    for (const auto& [begin, end] : prompt.plain) require(token.end <= begin || end <= token.begin);
  }
  require(found == control);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<Chat, 3> chats = {open_chat(kTemplates[0]), open_chat(kTemplates[1]),
                                            open_chat(kTemplates[2])};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const auto conversation = sightline::engine::parse_conversation(text, "messages");
    const std::size_t chosen = data[0] % chats.size();
    const auto& messages = conversation.is_object() ? conversation.at("messages") : conversation;
    const std::size_t control = spelled(chosen, messages.size());
    Prompt prompt = chats[chosen].prompt(conversation, data[0] > 127);
    check(prompt, control);
    sightline::engine::take_markers(prompt);
    check(prompt, control);
    sightline::engine::name_texts(prompt, std::array{sightline::engine::NamedText{"named", "<e"}});
    check(prompt, control);
  } catch (const sightline::Error&) {
  }
  return 0;
}
