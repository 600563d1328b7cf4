#include "src/tokenizer/model.h"

#include "src/tokenizer/unigram.h"
#include "src/tokenizer/wordpiece.h"

namespace sightline::tokenizer {
namespace {

// Files older than tokenizers 0.10 may leave out the type; of the settings, this one is WordPiece's alone.
std::string_view type_of(const JsonObject& json) {
  const bool untyped_wordpiece = !json.has("type") && json.has("max_input_chars_per_word");
  return untyped_wordpiece ? std::string_view("WordPiece") : json.require_string("type");
}

}  // namespace

std::unique_ptr<const Model> make_model(const JsonObject& json, Vocabulary vocabulary) {
  static const std::vector<StageType<std::unique_ptr<const Model>, Vocabulary>> kTypes = {
      {"Unigram", {"unk_id", "byte_fallback", "vocab"}, make_unigram},
      {"WordPiece", {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}, make_wordpiece}};
  return make_stage_of_type(kTypes, type_of(json), json, std::move(vocabulary));
}

}  // namespace sightline::tokenizer
