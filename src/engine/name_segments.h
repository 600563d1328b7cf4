#ifndef SIGHTLINE_ENGINE_NAME_SEGMENTS_H_
#define SIGHTLINE_ENGINE_NAME_SEGMENTS_H_

#include <span>
#include <string>

#include "src/engine/prompt.h"

namespace sightline::engine {

/// A text that a prompt holds somewhere, and its name.
struct NamedText {
  std::string name, text;
};

/// Makes segments of what stands between `[[name]]` and `[[/name]]` in the prompt, and takes these marks out of it.
/// Inside one another the inner one counts. A name begins with a letter or _, and holds letters, digits, _, - and .;
/// other brackets are text. Segments that are there already keep what no mark names. Throws BadArgument, with line and
/// column, for a mark that is never closed or never opened.
void take_markers(Prompt& prompt);

/// Makes segments of all places where these texts stand. Segments that are there already keep the rest of theirs.
/// Throws BadArgument for a text that is not there, for two that overlap, and for a name that is given twice or is
/// another segment's.
void name_texts(Prompt& prompt, std::span<const NamedText> texts);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_NAME_SEGMENTS_H_
