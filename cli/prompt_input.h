#ifndef SIGHTLINE_CLI_PROMPT_INPUT_H_
#define SIGHTLINE_CLI_PROMPT_INPUT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "src/engine/name_segments.h"
#include "src/engine/session.h"

namespace sightline::cli {

/// What the options give a model to read, before there is one: a text, or a conversation.
struct PromptInput {
  std::string text;
  std::optional<nlohmann::ordered_json> conversation;
  std::vector<engine::NamedText> segments;
};

/// Reads the text, or the files of --messages and --tools, and those of --segment. Throws BadFile, BadArgument, and
/// UsageError where there is no text, or two.
PromptInput read_prompt(const Options& options);

/// What that model reads then, with its segments. `answering`: a conversation ends where an answer begins. Throws
/// BadArgument.
engine::Prompt prompt_of(const PromptInput& input, const Options& options, const engine::Session& session,
                         bool answering);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PROMPT_INPUT_H_
