#ifndef SIGHTLINE_CLI_PROMPT_INPUT_H_
#define SIGHTLINE_CLI_PROMPT_INPUT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
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

/// The parts of that: the conversation of --messages and --tools, and the texts of --segment.
nlohmann::ordered_json read_conversation(const Options& options);
std::vector<engine::NamedText> read_segments(const Options& options);
/// Names parts of a prompt: what stands between --markers, and where these texts stand.
void name_parts(engine::Prompt& prompt, std::span<const engine::NamedText> segments, const Options& options);

/// What that model reads then, with its segments. `answering`: a conversation ends where an answer begins. Throws
/// BadArgument.
engine::Prompt prompt_of(const PromptInput& input, const Options& options, const engine::Session& session,
                         bool answering);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_PROMPT_INPUT_H_
