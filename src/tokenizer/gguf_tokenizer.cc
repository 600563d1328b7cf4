#include "src/tokenizer/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "sightline/error.h"
#include "src/format/base64.h"
#include "src/format/json.h"
#include "src/tokenizer/end_pieces.h"
#include "src/tokenizer/gguf_patterns.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

using Json = nlohmann::json;
using format::GgufMetadata;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // "▁"
constexpr std::string_view kPrefix = "tokenizer.ggml.";

// Types of tokens, as the format numbers them.
enum class TokenType : std::int64_t { normal = 1, unknown, control, user_defined, unused, byte };

std::string key_of(std::string_view name) { return std::string(kPrefix) + std::string(name); }

// Tokens that end a turn or a text: some files have them as user-defined ones, which text might then become.
bool ends_text(std::string_view piece) {
  return piece == "</s>" || std::ranges::find(end_pieces(), piece) != end_pieces().end();
}

/// Pieces, their types and scores, which are as many (the file is checked), and which of them the file names.
class GgufVocabulary {
 public:
  explicit GgufVocabulary(const GgufMetadata& metadata) : metadata_(metadata) {
    const auto pieces = metadata.find_strings(key_of("tokens"));
    if (!pieces) throw BadFile(metadata.where(key_of("tokens")) + " is missing: the file has no tokenizer");
    pieces_ = *pieces;
    for (std::size_t id = 0; id < pieces_.size(); ++id) check_utf8(id);
    if (const auto types = metadata.find_ints(key_of("token_type"))) {
      for (const std::int64_t type : *types) types_.push_back(static_cast<TokenType>(type));
    }
    types_.resize(pieces_.size(), TokenType::normal);
  }

  const std::vector<std::string_view>& pieces() const { return pieces_; }
  TokenType type(std::size_t id) const { return types_[id]; }

  std::vector<float> scores() const {
    auto scores = metadata_.find_floats(key_of("scores"));
    if (!scores) throw BadFile(metadata_.where(key_of("scores")) + " is missing");
    if (std::ranges::any_of(*scores, [](float score) { return !std::isfinite(score); })) {
      throw BadFile(metadata_.where(key_of("scores")) + " holds a score that is not finite");
    }
    return *scores;
  }

  /// The id that a key like "bos_token_id" names.
  std::optional<std::int32_t> named(std::string_view key) const {
    const auto last = static_cast<std::int64_t>(pieces_.size()) - 1;
    const auto id = metadata_.find_int(key_of(key), -1, UINT32_MAX);
    if (!id || *id < 0 || *id == UINT32_MAX) return std::nullopt;  // "none", as some files spell it
    if (*id > last) {
      throw BadFile(metadata_.where(key_of(key)) + " is " + std::to_string(*id) + ", but the vocabulary has " +
                    std::to_string(pieces_.size()) + " pieces");
    }
    return static_cast<std::int32_t>(*id);
  }

  bool is_special(std::size_t id) const {
    return type(id) == TokenType::control || type(id) == TokenType::unknown ||
           (type(id) == TokenType::user_defined && ends_text(pieces_[id]));
  }

  /// "added_tokens" of a tokenizer.json. `found` is the model's vocabulary: where pieces are equal, the one it finds.
  Json added_tokens(const Vocabulary& found) const {
    Json tokens = Json::array();
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      const bool added = is_special(id) || type(id) == TokenType::user_defined;
      if (!added || pieces_[id].empty()) continue;
      const auto entry = found.find(pieces_[id]);
      if (!entry || entry->id != static_cast<std::int32_t>(id)) continue;
      tokens.push_back({{"id", id},
                        {"content", pieces_[id]},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", is_special(id)}});
    }
    return tokens;
  }

 private:
  void check_utf8(std::size_t id) const {
    for (std::size_t at = 0; at < pieces_[id].size();) {
      const std::size_t length = decode_char(pieces_[id], at).length;
      if (length == 0)
        throw BadFile(metadata_.where(key_of("tokens")) + ": token " + std::to_string(id) + " is not UTF-8");
      at += length;
    }
  }
  const GgufMetadata& metadata_;
  std::vector<std::string_view> pieces_;
  std::vector<TokenType> types_;
};

// What stands around a text: ids, or none.
struct Frame {
  std::optional<std::int32_t> begin, end;
  bool second_segment = false;  // of a pair: [begin] A [end] B [end], B being segment 1; else each has its own frame
};

Json special_part(std::string_view piece, int segment) {
  return {{"SpecialToken", {{"id", piece}, {"type_id", segment}}}};
}

Json sequence_part(const char* name, int segment) { return {{"Sequence", {{"id", name}, {"type_id", segment}}}}; }

Json template_of(const Frame& frame, const GgufVocabulary& vocabulary) {
  Json tokens = Json::object(), single = Json::array(), pair = Json::array();
  const auto add = [&](Json& parts, std::optional<std::int32_t> id, int segment) {
    if (!id) return;
    const std::string piece(vocabulary.pieces()[static_cast<std::size_t>(*id)]);
    const std::string name = std::to_string(*id);  // pieces need not be unique
    tokens[name] = {{"id", name}, {"ids", {static_cast<std::uint32_t>(*id)}}, {"tokens", {piece}}};
    parts.push_back(special_part(name, segment));
  };
  const auto add_sequence = [&](Json& parts, const char* name, int segment, bool begins) {
    if (begins) add(parts, frame.begin, segment);
    parts.push_back(sequence_part(name, segment));
    add(parts, frame.end, segment);
  };
  add_sequence(single, "A", 0, true);
  add_sequence(pair, "A", 0, true);
  add_sequence(pair, "B", frame.second_segment ? 1 : 0, !frame.second_segment);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

class GgufReader {
 public:
  GgufReader(const GgufMetadata& metadata, const GgufTokenizerOptions& options)
      : metadata_(metadata), options_(options), vocabulary_(metadata) {
    file_ = {{"normalizer", nullptr}, {"pre_tokenizer", nullptr}, {"post_processor", nullptr}, {"decoder", nullptr}};
  }

  GgufTokenizer read() {
    const std::string_view kind = metadata_.require_string(key_of("model"));
    if (!options_.pre.empty() && kind != "gpt2") {
      throw BadArgument(metadata_.name() + " has a tokenizer of the kind " + format::quote(kind) +
                        ", which takes no --pre");
    }
    std::unique_ptr<const Model> model;
    if (kind == "gpt2") {
      model = read_byte_level();
    } else if (kind == "llama") {
      model = read_sentencepiece();
    } else if (kind == "bert") {
      model = read_wordpiece();
    } else if (kind == "t5") {
      model = read_unigram();
    } else {
      throw UnsupportedModel(metadata_.where(key_of("model")) + " is " + format::quote(kind) +
                             ", which is not supported; gpt2, llama, bert and t5 are");
    }
    file_["added_tokens"] = vocabulary_.added_tokens(model->vocabulary());
    return {std::move(file_), std::move(model)};
  }

 private:
  bool flag(std::string_view key, bool otherwise) const { return metadata_.find_bool(key_of(key)).value_or(otherwise); }

  std::unique_ptr<const Model> model_of(const Json& settings, Vocabulary vocabulary, Merges merges = {}) const {
    return make_model(JsonObject(settings, metadata_.name(), "tokenizer"), std::move(vocabulary), std::move(merges));
  }

  // "add_bos_token" and "add_eos_token" say what the template adds.
  void frame_by_flags(bool adds_bos, bool adds_eos) {
    Frame frame;
    if (flag("add_bos_token", adds_bos)) frame.begin = vocabulary_.named("bos_token_id");
    if (flag("add_eos_token", adds_eos)) frame.end = vocabulary_.named("eos_token_id");
    if (frame.begin || frame.end) file_["post_processor"] = template_of(frame, vocabulary_);
  }

  const GgufPatterns& patterns() const {
    const std::string_view named = metadata_.find_string(key_of("pre")).value_or("default");
    const std::string_view name = options_.pre.empty() ? named : std::string_view(options_.pre);
    if (const GgufPatterns* patterns = find_gguf_patterns(name)) return *patterns;
    if (!options_.pre.empty()) {
      throw BadArgument("--pre " + options_.pre + " is not known; known are " + gguf_pattern_names());
    }
    throw UnsupportedModel(metadata_.where(key_of("pre")) + " is " + format::quote(name) +
                           ", which is not known; --pre NAME chooses one that is: " + gguf_pattern_names());
  }

  std::unique_ptr<const Model> read_byte_level() {
    const GgufPatterns& pre = patterns();
    Json stages = Json::array();
    for (const std::string_view pattern : pre.patterns) {
      stages.push_back(
          {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
    }
    const Json bytes = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
    stages.push_back(bytes);
    file_["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", stages}};
    file_["decoder"] = bytes;
    if (flag("normalizer.nfc", false)) file_["normalizer"] = {{"type", "NFC"}};
    frame_by_flags(pre.adds_bos, false);

    const auto pairs = metadata_.find_strings(key_of("merges"));
    if (!pairs) throw BadFile(metadata_.where(key_of("merges")) + " is missing");
    Vocabulary vocabulary(vocabulary_.pieces());
    Merges merges(*pairs, vocabulary, metadata_.where(key_of("merges")));
    return model_of({{"type", "BPE"}, {"vocab", Json::object()}, {"ignore_merges", pre.ignores_merges}},
                    std::move(vocabulary), std::move(merges));
  }

  std::unique_ptr<const Model> read_sentencepiece() {
    const bool prepends = flag("add_space_prefix", true);
    Json normalizers = Json::array();
    if (prepends) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpaceMark}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceMark}});
    file_["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
    Json decoders = {{{"type", "Replace"}, {"pattern", {{"String", kSpaceMark}}}, {"content", " "}},
                     {{"type", "ByteFallback"}},
                     {{"type", "Fuse"}}};
    if (prepends) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    file_["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
    frame_by_flags(true, false);

    std::vector<float> scores = vocabulary_.scores();
    for (std::size_t id = 0; id < scores.size(); ++id) {
      const bool merges = vocabulary_.type(id) == TokenType::normal || vocabulary_.type(id) == TokenType::user_defined;
      if (!merges) scores[id] = -std::numeric_limits<float>::infinity();
    }
    Vocabulary vocabulary(vocabulary_.pieces());
    Merges merges(vocabulary, scores);
    Json settings = {{"type", "BPE"}, {"vocab", Json::object()}, {"byte_fallback", true}, {"fuse_unk", true}};
    if (const auto unknown = vocabulary_.named("unknown_token_id")) {
      settings["unk_token"] = vocabulary_.pieces()[static_cast<std::size_t>(*unknown)];
    }
    return model_of(settings, std::move(vocabulary), std::move(merges));
  }

  // Such a file spells the beginning of a word "▁x" and what continues one "x"; here "x" and "##x" do.
  std::unique_ptr<const Model> read_wordpiece() {
    const bool lowercase = flag("normalizer.lowercase", true);
    file_["normalizer"] = {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", true},
                           {"strip_accents", flag("normalizer.strip_accents", lowercase)},
                           {"lowercase", lowercase}};
    file_["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
    file_["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
    Frame frame{vocabulary_.named("cls_token_id"), vocabulary_.named("seperator_token_id"), true};  // so it is spelled
    if (!frame.begin) frame.begin = vocabulary_.named("bos_token_id");
    if (!frame.end) frame.end = vocabulary_.named("eos_token_id");
    if (frame.begin || frame.end) file_["post_processor"] = template_of(frame, vocabulary_);

    const auto unknown = vocabulary_.named("unknown_token_id");
    if (!unknown) throw BadFile(metadata_.where(key_of("unknown_token_id")) + " is missing");
    std::vector<std::string> respelled;
    for (std::size_t id = 0; id < vocabulary_.pieces().size(); ++id) respelled.push_back(respell(id));
    const std::vector<std::string_view> pieces(respelled.begin(), respelled.end());
    return model_of({{"type", "WordPiece"},
                     {"vocab", Json::object()},
                     {"unk_token", respelled[static_cast<std::size_t>(*unknown)]},
                     {"continuing_subword_prefix", "##"},
                     {"max_input_chars_per_word", 100}},
                    Vocabulary(pieces));
  }

  std::string respell(std::size_t id) const {
    const std::string_view piece = vocabulary_.pieces()[id];
    const bool bracketed = piece.size() > 2 && piece.starts_with('[') && piece.ends_with(']');
    if (vocabulary_.type(id) != TokenType::normal || bracketed) return std::string(piece);
    if (piece.starts_with(kSpaceMark)) return std::string(piece.substr(kSpaceMark.size()));
    return "##" + std::string(piece);
  }

  std::unique_ptr<const Model> read_unigram() {
    if (const format::GgufValue* map = metadata_.find(key_of("precompiled_charsmap"))) {
      const bool bytes = map->type == format::GgufType::u8 || map->type == format::GgufType::i8;
      if (!map->is_array || !bytes) {
        throw BadFile(metadata_.where(key_of("precompiled_charsmap")) + " must be an array of bytes");
      }
      file_["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", format::base64(map->bytes)}};
    }
    const Json mark = {{"type", "Metaspace"},
                       {"replacement", kSpaceMark},
                       {"prepend_scheme", flag("add_space_prefix", true) ? "always" : "never"},
                       {"split", true}};
    Json stages = Json::array();
    if (flag("remove_extra_whitespaces", true)) stages.push_back({{"type", "WhitespaceSplit"}});
    stages.push_back(mark);
    file_["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", stages}};
    file_["decoder"] = mark;
    frame_by_flags(false, true);

    const std::vector<float> scores = vocabulary_.scores();
    Json settings = {{"type", "Unigram"}, {"vocab", Json::array()}, {"byte_fallback", false}};
    if (const auto unknown = vocabulary_.named("unknown_token_id")) settings["unk_id"] = *unknown;
    return model_of(settings, Vocabulary(vocabulary_.pieces(), std::vector<double>(scores.begin(), scores.end())));
  }

  const GgufMetadata& metadata_;
  const GgufTokenizerOptions& options_;
  GgufVocabulary vocabulary_;
  Json file_;
};

}  // namespace

GgufTokenizer read_gguf_tokenizer(const format::GgufMetadata& metadata, const GgufTokenizerOptions& options) {
  return GgufReader(metadata, options).read();
}

}  // namespace sightline::tokenizer
