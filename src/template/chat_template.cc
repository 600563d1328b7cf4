#include "src/template/chat_template.h"

#include <new>

#include "src/format/json.h"
#include "src/template/interpreter.h"
#include "src/template/json_input.h"
#include "src/template/lexer.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

constexpr std::size_t kMaxSource = std::size_t{1} << 20;

using Names = std::vector<std::pair<std::string, Value>>;

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  localtime_r(&now, &time);
  return time;
}

std::tm checked(const std::tm& time) {
  const bool valid = time.tm_mon >= 0 && time.tm_mon < 12 && time.tm_wday >= 0 && time.tm_wday < 7 &&
                     time.tm_mday >= 1 && time.tm_mday <= 31 && time.tm_hour >= 0 && time.tm_hour < 24 &&
                     time.tm_year >= -900 && time.tm_year < 8100;
  if (!valid) throw BadArgument("the time for a chat template is no time");
  return time;
}

Names names_of(JsonInput& input, const nlohmann::ordered_json& messages, const ChatOptions& options) {
  if (!options.extra.is_object()) fail("what is passed to the template must be an object");
  Names names;
  names.emplace_back("messages", input.messages(messages));
  names.emplace_back("tools", input.labelled(options.tools, "tools"));
  names.emplace_back("documents", input.labelled(options.documents, "documents"));
  if (options.add_generation_prompt) names.emplace_back("add_generation_prompt", *options.add_generation_prompt);
  if (options.bos_token) names.emplace_back("bos_token", input.plain(*options.bos_token));
  if (options.eos_token) names.emplace_back("eos_token", input.plain(*options.eos_token));
  for (const auto& [key, value] : options.extra.items()) {
    const bool is_list = key == "tools" || key == "documents";
    names.emplace_back(key, input.labelled(value, is_list ? key : "extra"));
  }
  return names;
}

[[noreturn]] void raise(const Fault& fault, const std::string& where) {
  switch (fault.kind) {
    case Fault::Kind::refusal:
      throw TemplateRefusal(where + "the chat template refuses the messages: " + format::quote(fault.message),
                            fault.message);
    case Fault::Kind::unsupported:
      throw UnsupportedModel(where + "not supported in chat templates: " + fault.message);
    case Fault::Kind::runaway:
      throw BadFile(where + fault.message);
    case Fault::Kind::argument:
      break;
  }
  throw BadArgument(where + "the chat template does not fit the messages: " + fault.message);
}

// What is said of a template holds names from it, which may be anything.
std::string one_line(const std::string& message) {
  std::string out;
  for (const char c : message.substr(0, 200)) out += c >= 0x20 && c < 0x7F ? c : '?';
  return out;
}

}  // namespace

struct ChatTemplate::Impl {
  std::string name;
  Body body;
};

ChatTemplate ChatTemplate::parse(std::string_view source, std::string_view name) {
  const std::string label(name);
  if (source.size() > kMaxSource) throw BadFile(label + ": a chat template of more than 1 MiB");
  if (!tokenizer::is_utf8(source)) throw BadFile(label + ": the chat template is not UTF-8");
  try {
    ChatTemplate result;
    result.impl_ = std::make_shared<const Impl>(Impl{label, parse_template(source)});
    return result;
  } catch (const SourceFault& fault) {
    const std::string where = label + ":" + std::to_string(fault.line) + ": ";
    if (fault.unsupported) {
      throw UnsupportedModel(where + "not supported in chat templates: " + one_line(fault.message));
    }
    throw BadFile(where + "the chat template is malformed: " + one_line(fault.message));
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(label + ": no memory for the chat template");
  }
}

RenderedChat ChatTemplate::render_spans(const nlohmann::ordered_json& messages, const ChatOptions& options) const {
  Interpreter interpreter(options.limits, checked(options.now ? *options.now : local_time()));
  JsonInput input(interpreter.budget());
  std::string where = impl_->name + ": ";
  try {
    const Names names = names_of(input, messages, options);
    try {
      const Text text = interpreter.run(impl_->body, names);
      RenderedChat result{text.bytes(), {}};
      for (const Run& run : text.runs()) {
        const SourceLabel& label = input.labels()[run.source];
        result.spans.push_back({run.begin, run.end, label.message, label.field});
      }
      return result;
    } catch (const Fault&) {
      where = impl_->name + ":" + std::to_string(interpreter.line()) + ": ";
      throw;
    }
  } catch (const Fault& fault) {
    raise(fault.kind == Fault::Kind::refusal ? fault : Fault{fault.kind, one_line(fault.message)}, where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(where + "no memory to render the chat template");
  }
}

}  // namespace sightline::jinja
