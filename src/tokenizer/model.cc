#include "src/tokenizer/model.h"

#include "src/tokenizer/bpe.h"
#include "src/tokenizer/unigram.h"
#include "src/tokenizer/wordpiece.h"

namespace sightline::tokenizer {
namespace {

using ModelPtr = std::unique_ptr<const Model>;

template <ModelPtr (*make)(const JsonObject&, Vocabulary)>
ModelPtr without_merges(const JsonObject& json, Vocabulary vocabulary, Merges) {
  return make(json, std::move(vocabulary));
}

// Files older than tokenizers 0.10 may leave out the type; of the settings, these are of one model alone.
std::string_view type_of(const JsonObject& json) {
  if (!json.has("type") && json.has("max_input_chars_per_word")) return "WordPiece";
  if (!json.has("type") && json.has("merges")) return "BPE";
  return json.require_string("type");
}

}  // namespace

std::unique_ptr<const Model> make_model(const JsonObject& json, Vocabulary vocabulary, Merges merges) {
  static const std::vector<StageType<ModelPtr, Vocabulary, Merges>> kTypes = {
      {"BPE",
       {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
        "ignore_merges", "vocab", "merges"},
       make_bpe},
      {"Unigram", {"unk_id", "byte_fallback", "vocab"}, without_merges<make_unigram>},
      {"WordPiece",
       {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"},
       without_merges<make_wordpiece>}};
  return make_stage_of_type(kTypes, type_of(json), json, std::move(vocabulary), std::move(merges));
}

}  // namespace sightline::tokenizer
