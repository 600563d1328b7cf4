#ifndef SIGHTLINE_CLI_HEADS_VIEW_H_
#define SIGHTLINE_CLI_HEADS_VIEW_H_

#include <string>

#include "cli/options.h"
#include "cli/painter.h"
#include "src/engine/heads.h"

namespace sightline::cli {

/// The roles that beat their baseline with their best heads, those that do not, and a grid of all heads.
void add_heads_view(Painter& painter, const engine::HeadRoles& roles, const Options& options);

/// "nsubj, dependent to head"
std::string role_title(const analysis::Role& role);

/// Sentences about how the scores came to be; the first, where it was stopped.
std::string texts_note(const engine::HeadRoles& roles);
std::string halves_note(const engine::HeadRoles& roles);
inline constexpr char kRoleCaveat[] =
    "A head that beats a role's baseline on these texts does so on these texts: that is no proof of what it is for, "
    "nor "
    "that the output depends on it.";

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEADS_VIEW_H_
