#ifndef SIGHTLINE_TEMPLATE_CHAT_TEMPLATE_H_
#define SIGHTLINE_TEMPLATE_CHAT_TEMPLATE_H_

#include <cstddef>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/error.h"
#include "src/template/budget.h"

/// Chat templates: Jinja, as far as they use it, with the text that python-jinja2 gives (docs/chat.md).
namespace sightline::jinja {

/// What a template is given beside the messages. In objects the order of keys counts: `tojson` keeps it.
struct ChatOptions {
  nlohmann::ordered_json tools, documents;           // lists, or null
  std::optional<bool> add_generation_prompt = true;  // nothing: the template does not know the name
  std::optional<std::string> bos_token, eos_token;
  nlohmann::ordered_json extra = nlohmann::ordered_json::object();  // further names; these win over those above
  std::optional<std::tm> now;                                       // for strftime_now; nothing: the local time
  Limits limits;
};

/// Bytes [begin, end) of the rendered text that are a string of the messages, tools, documents or `extra`, or a part of
/// one, names in their objects too: changed in case, trimmed, escaped for JSON they still are. Numbers, and what the
/// template itself says, are in none.
struct ChatSpan {
  std::size_t begin = 0, end = 0;
  std::optional<std::size_t> message;  // which one, from 0; nothing: not of a message
  std::string field;                   // "content", "role"; without a message "tools", "documents" or "extra"
};

struct RenderedChat {
  std::string text;
  std::vector<ChatSpan> spans;  // ascending, apart from one another
};

/// The template refuses the messages: what it passed to raise_exception is text().
class TemplateRefusal : public BadArgument {
 public:
  TemplateRefusal(const std::string& message, std::string text) : BadArgument(message), text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class ChatTemplate {
 public:
  /// `name` stands in messages, with the line. Throws BadFile for what is not Jinja, UnsupportedModel for a construct,
  /// filter or test that is not known, by its name.
  static ChatTemplate parse(std::string_view source, std::string_view name);

  /// Throws TemplateRefusal; BadArgument where an operation does not fit the messages (Python would raise TypeError or
  /// UndefinedError) or they are not UTF-8; UnsupportedModel for a function or method that is not known; BadFile for a
  /// template that runs away; OutOfMemory. Threads may render at the same time.
  RenderedChat render_spans(const nlohmann::ordered_json& messages, const ChatOptions& options = {}) const;
  std::string render(const nlohmann::ordered_json& messages, const ChatOptions& options = {}) const {
    return render_spans(messages, options).text;
  }

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_CHAT_TEMPLATE_H_
