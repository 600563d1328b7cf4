#ifndef SIGHTLINE_CLI_CHAT_COMMAND_H_
#define SIGHTLINE_CLI_CHAT_COMMAND_H_

#include "cli/options.h"

namespace sightline::cli {

/// The command `generate --chat`: a conversation, a message a line of standard input, until that ends or /quit.
/// Everything said stays in one cache. Throws Error at the end where a message of a pipe could not be answered.
void run_chat(const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_CHAT_COMMAND_H_
