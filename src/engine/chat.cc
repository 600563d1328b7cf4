#include "src/engine/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sightline/error.h"
#include "src/engine/segments.h"
#include "src/format/ordered_json.h"

namespace sightline::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTemplate = "template", kAnswering = "assistant",
                           kForm = R"({"role": "user", "content": "..."})";

constexpr std::string_view kExtra = "extra";  // ChatSpan::field of "chat_template_kwargs"

const Json& messages_of(const Json& conversation) {
  return conversation.is_object() ? conversation.at("messages") : conversation;
}

Json field_of(const Json& conversation, const char* name) {
  return conversation.is_object() && conversation.contains(name) ? conversation.at(name) : Json();
}

void require_message(const Json& message, std::size_t number, std::string_view name) {
  const auto refuse = [&](const char* what) {
    throw BadArgument(fmt::format("{}: message {} {}: a message is {}", name, number, what, kForm));
  };
  if (!message.is_object()) refuse("is no object");
  if (!message.contains("role") || !message.at("role").is_string()) refuse("has no \"role\" that is a text");
  if (!message.contains("content") && !message.contains("tool_calls")) refuse("has no \"content\"");
}

void require_list(const Json& conversation, const char* field, std::string_view name) {
  if (!conversation.contains(field) || conversation.at(field).is_array() || conversation.at(field).is_null()) return;
  throw BadArgument(fmt::format("{}: \"{}\" must be a list", name, field));
}

void require_conversation(const Json& conversation, std::string_view name) {
  const bool wrapped = conversation.is_object() && conversation.contains("messages");
  if (!conversation.is_array() && !(wrapped && conversation.at("messages").is_array())) {
    throw BadArgument(
        fmt::format("{}: is no conversation: write a list of messages, [{}], or {{\"messages\": [...]}}", name, kForm));
  }
  const Json& messages = messages_of(conversation);
  if (messages.empty()) throw BadArgument(fmt::format("{}: has no messages", name));
  for (std::size_t i = 0; i < messages.size(); ++i) require_message(messages[i], i + 1, name);
  if (!wrapped) return;
  require_list(conversation, "tools", name);
  require_list(conversation, "documents", name);
  if (conversation.contains("chat_template_kwargs") && !conversation.at("chat_template_kwargs").is_object()) {
    throw BadArgument(fmt::format("{}: \"chat_template_kwargs\" must be an object", name));
  }
}

// The names of messages as segments: the role, numbered from its second message on; a role that has the name of another
// segment from its first.
std::vector<std::string> message_names(const Json& messages) {
  std::set<std::string, std::less<>> taken = {std::string(kTemplate), std::string(kGeneratedName), "tools", "documents",
                                              ""};
  taken.insert(std::begin(kFixedSegmentNames), std::end(kFixedSegmentNames));
  std::map<std::string, int> counts;
  std::vector<std::string> names;
  for (const Json& message : messages) {
    const std::string& role = message.at("role").get_ref<const std::string&>();
    std::string name = role;
    int& count = counts[role];
    for (++count; count > 1 || taken.contains(name); ++count) {
      name = fmt::format("{} {}", role, count);
      if (!taken.contains(name)) break;
    }
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

// A role is part of the template's own words, which may spell a control token with it ("<|" + role + "|>"). One that is
// no plain word could spell anything.
bool is_word(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return std::ranges::all_of(text, fits);
}

// Fills a prompt from the parts of a rendered text.
class PromptParts {
 public:
  PromptParts(const Json& messages, Prompt& prompt)
      : messages_(messages), names_(message_names(messages)), prompt_(prompt) {}

  void add(const jinja::ChatSpan& span) {
    const std::string_view text = std::string_view(prompt_.text).substr(span.begin, span.end - span.begin);
    const bool role = span.message && span.field == "role";
    if (!role || !is_word(text)) prompt_.plain.push_back({span.begin, span.end});
    if (role || (!span.message && span.field == kExtra)) return;  // part of what the template says
    fill(span.begin);
    prompt_.segments.push_back({span.message ? names_[*span.message] : span.field, span.begin, span.end});
    done_ = span.end;
    add_answer(span);
  }
  void end() { fill(prompt_.text.size()); }

 private:
  // What stands before `end` and is of no message is the template's.
  void fill(std::size_t end) {
    if (done_ < end) prompt_.segments.push_back({std::string(kTemplate), done_, end});
    done_ = end;
  }

  // The parts of one message that follow one another are one answer, with what the template puts between them.
  void add_answer(const jinja::ChatSpan& span) {
    const bool goes_on = span.message == answering_ && span.message;
    answering_.reset();
    if (!span.message || messages_[*span.message].at("role") != kAnswering) return;
    answering_ = span.message;
    if (goes_on) {
      prompt_.answers.back().end = span.end;
    } else {
      prompt_.answers.push_back({names_[*span.message], span.begin, span.end});
    }
  }

  const Json& messages_;
  std::vector<std::string> names_;
  Prompt& prompt_;
  std::size_t done_ = 0;
  std::optional<std::size_t> answering_;
};

}  // namespace

Json parse_conversation(std::string_view text, std::string_view name) {
  Json conversation = format::parse_ordered_json(text, name);
  require_conversation(conversation, name);
  return conversation;
}

Chat Chat::open(const std::filesystem::path& model, std::string_view name) {
  std::optional<jinja::ModelChat> chat = jinja::find_chat_template(model, name);
  if (!chat) {
    throw BadArgument(fmt::format(
        "{}: has no chat template: give one with --chat-template FILE, or write the prompt as text", model.string()));
  }
  return Chat(*std::move(chat));
}

Prompt Chat::prompt(const Json& conversation, bool add_generation_prompt) const {
  require_conversation(conversation, "messages");
  const Json& messages = messages_of(conversation);
  jinja::ChatOptions options;
  options.tools = field_of(conversation, "tools");
  options.documents = field_of(conversation, "documents");
  const Json extra = field_of(conversation, "chat_template_kwargs");
  if (extra.is_object()) options.extra = extra;
  options.add_generation_prompt = add_generation_prompt;
  options.bos_token = chat_.bos_token;
  options.eos_token = chat_.eos_token;
  jinja::RenderedChat rendered = chat_.chat_template.render_spans(messages, options);
  Prompt prompt(std::move(rendered.text), /*with_special=*/true);
  prompt.add_special = false;  // the template says what a text begins with
  PromptParts parts(messages, prompt);
  for (const jinja::ChatSpan& span : rendered.spans) parts.add(span);
  parts.end();
  return prompt;
}

}  // namespace sightline::engine
