#ifndef SIGHTLINE_ENGINE_CHAT_H_
#define SIGHTLINE_ENGINE_CHAT_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "src/engine/prompt.h"
#include "src/template/find_chat_template.h"

namespace sightline::engine {

/// Messages as JSON text: a list of them, or an object with "messages" and, if there are any, "tools", "documents" and
/// "chat_template_kwargs" (further names for the template). `name` stands in messages of errors. Throws BadFile,
/// BadArgument for what is no list of {"role", "content"}.
nlohmann::ordered_json parse_conversation(std::string_view text, std::string_view name);

/// A model's chat template: what turns messages into a prompt.
class Chat {
 public:
  /// `name`: as Session::chat() has it.
  static Chat open(const std::filesystem::path& model, std::string_view name);

  /// The prompt of a conversation, which parse_conversation() gave or has its form. Its segments: of each message what
  /// stands in it, named by its role ("user", of later ones "user 2"), "tools" and "documents", and what the template
  /// says itself, "template"; its answers: the messages of "assistant". In messages, and in what comes with
  /// them, nothing is a control token, whatever it spells. With `add_generation_prompt` it ends where an answer begins.
  /// Throws jinja::TemplateRefusal with the template's words, and what ChatTemplate::render_spans() throws.
  Prompt prompt(const nlohmann::ordered_json& conversation, bool add_generation_prompt) const;

 private:
  explicit Chat(jinja::ModelChat chat) : chat_(std::move(chat)) {}

  jinja::ModelChat chat_;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_CHAT_H_
