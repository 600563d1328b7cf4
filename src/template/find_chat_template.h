#ifndef SIGHTLINE_TEMPLATE_FIND_CHAT_TEMPLATE_H_
#define SIGHTLINE_TEMPLATE_FIND_CHAT_TEMPLATE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/template/chat_template.h"

namespace sightline::jinja {

/// The chat template that comes with a model, and the tokens that it speaks of.
struct ModelChat {
  ChatTemplate chat_template;
  std::string name;                // "default", or as it was asked for
  std::vector<std::string> names;  // all that the model has
  std::optional<std::string> bos_token, eos_token;
};

/// A model's template: of a GGUF file `tokenizer.chat_template` and `tokenizer.chat_template.NAME`; of a directory
/// chat_template.jinja and additional_chat_templates/NAME.jinja, else `chat_template` of tokenizer_config.json (a text,
/// or a list of named ones), else that of chat_template.json. Nothing where the model has none. `name` empty: the one
/// named "default", or the only one. A name that the model does not have may be the path of a file with a template.
/// Throws BadFile, UnsupportedModel, and BadArgument for a name that is neither, naming those that the model has.
std::optional<ModelChat> find_chat_template(const std::filesystem::path& model, std::string_view name = {});

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_FIND_CHAT_TEMPLATE_H_
