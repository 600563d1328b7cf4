#ifndef SIGHTLINE_CLI_HEADS_PICTURE_H_
#define SIGHTLINE_CLI_HEADS_PICTURE_H_

#include <string>

#include "src/engine/heads.h"
#include "src/format/picture.h"

namespace sightline::cli {

/// A cell a head, a row a layer: its role's name and score, on the colour of the score. `model`: displayable.
format::Picture draw_roles(const engine::HeadRoles& roles, const std::string& model, format::Font& font);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_HEADS_PICTURE_H_
