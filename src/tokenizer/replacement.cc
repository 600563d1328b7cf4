#include "src/tokenizer/replacement.h"

#include "sightline/error.h"

namespace sightline::tokenizer {

Replacement read_replacement(const JsonObject& json) {
  const JsonObject pattern = json.require_object("pattern");
  Replacement replacement;
  replacement.content = json.require_string("content");
  if (pattern.has("Regex")) {
    if (replacement.content.find('$') != std::string::npos) {
      throw UnsupportedModel(json.where("content") + " is " + format::quote(replacement.content) +
                             ": groups of a Regex are not supported");
    }
    replacement.regex.emplace(pattern.require_string("Regex"), pattern.where("Regex"));
    return replacement;
  }
  replacement.pattern = pattern.require_string("String");
  if (replacement.pattern.empty()) {
    throw UnsupportedModel(pattern.where("String") + " is empty, which is not supported");
  }
  return replacement;
}

}  // namespace sightline::tokenizer
