#include "cli/prompt_input.h"

#include <fmt/core.h>

#include <utility>

#include "cli/streams.h"
#include "src/engine/chat.h"
#include "src/format/file.h"
#include "src/format/ordered_json.h"

namespace sightline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStandardInput = "/dev/stdin";

void require_no_text(const Options& options) {
  const auto refuse = [](bool given, const char* what) {
    if (given) throw UsageError(fmt::format("--messages and {} were both given: leave one of them out", what));
  };
  refuse(options.text.has_value(), "a text");
  refuse(!options.file.empty(), "--file");
  refuse(options.special, "--special");  // a template's own control tokens always count, in messages none does
}

Json read_tools(const std::string& path) {
  Json tools = format::parse_ordered_json(format::read_file(path, engine::kMaxTextBytes), path);
  if (!tools.is_array()) throw BadArgument(fmt::format("{}: is no list of tools: write [{{...}}, ...]", path));
  return tools;
}

// NAME=FILE. The line's end that editors put behind a text is not looked for.
engine::NamedText read_segment(const std::string& spec) {
  const std::size_t at = spec.find('=');
  if (at == 0 || at == std::string::npos || at + 1 == spec.size()) {
    throw UsageError(fmt::format("--segment is {}: write NAME=FILE", spec));
  }
  std::string text = format::read_file(spec.substr(at + 1), engine::kMaxTextBytes);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return {spec.substr(0, at), std::move(text)};
}

}  // namespace

Json read_conversation(const Options& options) {
  const bool standard = options.messages == "-";
  const std::string text =
      format::read_file(standard ? kStandardInput : options.messages.c_str(), engine::kMaxTextBytes);
  Json conversation = engine::parse_conversation(text, standard ? "standard input" : options.messages);
  if (options.tools.empty()) return conversation;
  if (conversation.is_array()) {
    Json whole = Json::object();
    whole["messages"] = std::move(conversation);
    conversation = std::move(whole);
  }
  if (conversation.contains("tools")) {
    throw UsageError(fmt::format("{} has tools, and --tools was given: leave one of them out", options.messages));
  }
  conversation["tools"] = read_tools(options.tools);
  return conversation;
}

PromptInput read_prompt(const Options& options) {
  PromptInput input;
  input.segments = read_segments(options);
  if (!options.messages.empty()) {
    require_no_text(options);
    input.conversation = read_conversation(options);
    return input;
  }
  const auto refuse = [](bool given, const char* what) {
    if (given) throw UsageError(fmt::format("{} is for conversations: add --messages", what));
  };
  refuse(!options.chat_template.empty(), "--chat-template");
  refuse(!options.tools.empty(), "--tools");
  input.text = read_text(options);
  return input;
}

engine::Prompt prompt_of(const PromptInput& input, const Options& options, const engine::Session& session,
                         bool answering) {
  engine::Prompt prompt = input.conversation
                              ? session.chat(options.chat_template).prompt(*input.conversation, answering)
                              : engine::Prompt(input.text, options.special);
  name_parts(prompt, input.segments, options);
  return prompt;
}

void name_parts(engine::Prompt& prompt, std::span<const engine::NamedText> segments, const Options& options) {
  if (options.markers) engine::take_markers(prompt);
  engine::name_texts(prompt, segments);
}

std::vector<engine::NamedText> read_segments(const Options& options) {
  std::vector<engine::NamedText> segments;
  for (const std::string& spec : options.segments) segments.push_back(read_segment(spec));
  return segments;
}

}  // namespace sightline::cli
