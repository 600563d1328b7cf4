#include "src/tokenizer/post_processor.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/byte_level.h"

namespace sightline::tokenizer {
namespace {

using PostProcessorPtr = std::unique_ptr<const PostProcessor>;

// Caps on what a small file can make large: parts of a template, tokens of one special token, tokens added in all.
constexpr std::size_t kMaxParts = 256, kMaxTokens = 256, kMaxAdded = 1024;

Token special_token(std::string piece, std::int32_t id, std::int32_t type_id) {
  Token token;
  token.piece = std::move(piece);
  token.id = id;
  token.type_id = type_id;
  token.special = true;
  return token;
}

void extend_by_token(TokenRange& range, const Token& token) {
  range.largest_type_id = std::max(range.largest_type_id, token.type_id);
  if (token.id <= range.largest_id) return;
  range.largest_id = token.id;
  range.largest_piece = token.piece;
}

// What a template is made of: one of the sequences, or tokens of its own.
struct TemplatePart {
  std::size_t sequence = 0;  // where there are no tokens
  std::vector<Token> tokens;
  std::int32_t type_id = 0;
};

using Template = std::vector<TemplatePart>;
using SpecialTokens = std::unordered_map<std::string, std::vector<Token>>;

// {"id": ..., "ids": [...], "tokens": [...]}
std::vector<Token> read_special_token(const JsonObject& json) {
  static constexpr std::array<std::string_view, 3> kSettings = {"id", "ids", "tokens"};
  refuse_unknown_settings(json, kSettings);
  const nlohmann::json& ids = json.require_array("ids");
  const nlohmann::json& pieces = json.require_array("tokens");
  if (ids.size() != pieces.size() || ids.empty() || ids.size() > kMaxTokens) {
    throw BadFile(json.where("ids") + " and \"tokens\" must be as many, from 1 to " + std::to_string(kMaxTokens));
  }
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool valid = ids[i].is_number_unsigned() && ids[i].get<std::uint64_t>() <= std::uint64_t{INT32_MAX};
    if (!valid || !pieces[i].is_string()) throw BadFile(json.where("ids") + " must be token ids, \"tokens\" strings");
    tokens.push_back(special_token(pieces[i].get<std::string>(), ids[i].get<std::int32_t>(), 0));
  }
  return tokens;
}

SpecialTokens read_special_tokens(const JsonObject& json) {
  SpecialTokens tokens;
  const JsonObject map = json.require_object("special_tokens");
  for (const auto& [name, value] : map.value().items()) {
    tokens.emplace(name, read_special_token(map.require_object(name)));
  }
  return tokens;
}

std::int32_t type_id_of(const JsonObject& json) {
  return static_cast<std::int32_t>(json.require_int("type_id", 0, INT32_MAX));
}

TemplatePart read_sequence_part(const JsonObject& json, std::size_t sequences) {
  const std::string& name = json.require_string("id");
  const std::size_t sequence = name == "A" ? 0 : name == "B" ? 1 : 2;
  if (sequence >= sequences)
    throw BadFile(json.where("id") + " is " + format::quote(name) + ", which this template has not");
  return {sequence, {}, type_id_of(json)};
}

TemplatePart read_token_part(const JsonObject& json, const SpecialTokens& special) {
  const std::string& name = json.require_string("id");
  const auto found = special.find(name);
  if (found == special.end()) {
    throw BadFile(json.where("id") + " is " + format::quote(name) + ", which is not in \"special_tokens\"");
  }
  TemplatePart part{0, found->second, type_id_of(json)};
  for (Token& token : part.tokens) token.type_id = part.type_id;
  return part;
}

TemplatePart read_part(const JsonObject& json, std::size_t sequences, const SpecialTokens& special) {
  static constexpr std::array<std::string_view, 2> kParts = {"Sequence", "SpecialToken"};
  static constexpr std::array<std::string_view, 2> kSettings = {"id", "type_id"};
  refuse_unknown_settings(json, kParts);
  const bool is_sequence = json.has("Sequence");
  if (is_sequence == json.has("SpecialToken")) {
    throw BadFile(json.where("Sequence") + " or \"SpecialToken\": a template's part must be one of them");
  }
  const JsonObject part = json.require_object(is_sequence ? "Sequence" : "SpecialToken");
  refuse_unknown_settings(part, kSettings);
  return is_sequence ? read_sequence_part(part, sequences) : read_token_part(part, special);
}

Template read_template(const JsonObject& json, std::string_view key, std::size_t sequences,
                       const SpecialTokens& special) {
  const std::vector<JsonObject> parts = require_objects(json, key);
  if (parts.size() > kMaxParts) {
    throw BadFile(json.where(key) + " has " + std::to_string(parts.size()) + " parts; a template may have " +
                  std::to_string(kMaxParts));
  }
  Template result;
  for (const JsonObject& part : parts) result.push_back(read_part(part, sequences, special));
  return result;
}

class TemplateProcessing : public PostProcessor {
 public:
  explicit TemplateProcessing(const JsonObject& json) {
    const SpecialTokens special = read_special_tokens(json);
    single_ = read_template(json, "single", 1, special);
    pair_ = read_template(json, "pair", 2, special);
  }

  std::size_t added(bool pair) const override {
    std::size_t count = 0;
    for (const TemplatePart& part : pair ? pair_ : single_) count += part.tokens.size();
    return count;
  }

  void process(Sequences& sequences, bool add_special) const override {
    Sequences parts;
    for (const TemplatePart& part : sequences.size() == 2 ? pair_ : single_) {
      if (part.tokens.empty()) {
        parts.push_back(sequences[part.sequence]);
        for (Token& token : parts.back()) token.type_id = part.type_id;
      } else if (add_special) {
        parts.push_back(part.tokens);
      }
    }
    sequences = std::move(parts);
  }

  void extend(TokenRange& range) const override {
    range.keeps_text = false;
    for (const TemplatePart& part : single_) {
      for (const Token& token : part.tokens) extend_by_token(range, token);
      if (!part.tokens.empty()) continue;
      range.keeps_text = true;
      range.largest_type_id = std::max(range.largest_type_id, part.type_id);
    }
  }

 private:
  Template single_, pair_;
};

// ["[SEP]", 102]
Token read_named_token(const JsonObject& json, std::string_view key) {
  const nlohmann::json& pair = json.require_array(key);
  const bool valid = pair.size() == 2 && pair[0].is_string() && pair[1].is_number_unsigned() &&
                     pair[1].get<std::uint64_t>() <= std::uint64_t{INT32_MAX};
  if (!valid) throw BadFile(json.where(key) + " must be a token and its id");
  return special_token(pair[0].get<std::string>(), pair[1].get<std::int32_t>(), 0);
}

/// [CLS] A [SEP], and B [SEP] for a pair.
class BertProcessing : public PostProcessor {
 public:
  explicit BertProcessing(const JsonObject& json)
      : cls_(read_named_token(json, "cls")), sep_(read_named_token(json, "sep")) {}

  std::size_t added(bool pair) const override { return pair ? 3 : 2; }

  void process(Sequences& sequences, bool add_special) const override {
    if (!add_special) return;
    sequences[0].insert(sequences[0].begin(), cls_);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      sequences[i].push_back(sep_);
      sequences[i].back().type_id = static_cast<std::int32_t>(i);
    }
  }

  void extend(TokenRange& range) const override {
    extend_by_token(range, cls_);
    extend_by_token(range, sep_);
  }

 private:
  Token cls_, sep_;
};

/// <s> A </s>, and </s> B </s> for a pair; all of one segment.
class RobertaProcessing : public PostProcessor {
 public:
  explicit RobertaProcessing(const JsonObject& json)
      : cls_(read_named_token(json, "cls")),
        sep_(read_named_token(json, "sep")),
        trims_(json.require_bool("trim_offsets")),
        prepends_space_(json.require_bool("add_prefix_space")) {}

  std::size_t added(bool pair) const override { return pair ? 4 : 2; }

  void process(Sequences& sequences, bool add_special) const override {
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (trims_) trim_ranges(sequences[i], prepends_space_);
      for (Token& token : sequences[i]) token.type_id = 0;
      if (!add_special) continue;
      sequences[i].insert(sequences[i].begin(), i == 0 ? cls_ : sep_);
      sequences[i].push_back(sep_);
    }
  }

  void extend(TokenRange& range) const override {
    extend_by_token(range, cls_);
    extend_by_token(range, sep_);
  }

 private:
  Token cls_, sep_;
  bool trims_, prepends_space_;
};

/// Adds no token; takes white space out of the ranges of tokens.
class ByteLevelTrimming : public PostProcessor {
 public:
  explicit ByteLevelTrimming(const JsonObject& json)
      : trims_(json.require_bool("trim_offsets")), prepends_space_(json.require_bool("add_prefix_space")) {}

  std::size_t added(bool) const override { return 0; }

  void process(Sequences& sequences, bool) const override {
    if (!trims_) return;
    for (std::vector<Token>& part : sequences) trim_ranges(part, prepends_space_);
  }

  void extend(TokenRange&) const override {}

 private:
  bool trims_, prepends_space_;
};

class SequenceOfProcessors : public PostProcessor {
 public:
  explicit SequenceOfProcessors(const JsonObject& json)
      : processors_(make_stages(make_post_processor, json, "processors")) {
    for (std::size_t i = 0; i + 1 < processors_.size(); ++i) {
      if (dynamic_cast<const TemplateProcessing*>(processors_[i].get()) != nullptr ||
          dynamic_cast<const SequenceOfProcessors*>(processors_[i].get()) != nullptr) {
        throw UnsupportedModel(json.where("processors") +
                               " has a template before the last one, which is not supported");
      }
    }
  }

  std::size_t added(bool pair) const override {
    std::size_t count = 0;
    for (const PostProcessorPtr& processor : processors_) count += processor->added(pair);
    return count;
  }

  void process(Sequences& sequences, bool add_special) const override {
    for (const PostProcessorPtr& processor : processors_) processor->process(sequences, add_special);
  }

  void extend(TokenRange& range) const override {
    for (const PostProcessorPtr& processor : processors_) processor->extend(range);
  }

 private:
  std::vector<PostProcessorPtr> processors_;
};

template <typename Processor>
PostProcessorPtr make(const JsonObject& json) {
  return std::make_unique<Processor>(json);
}

}  // namespace

PostProcessorPtr make_post_processor(const JsonObject& json) {
  static const std::vector<StageType<PostProcessorPtr>> kTypes = {
      {"BertProcessing", {"sep", "cls"}, make<BertProcessing>},
      {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, make<ByteLevelTrimming>},
      {"RobertaProcessing", {"sep", "cls", "trim_offsets", "add_prefix_space"}, make<RobertaProcessing>},
      {"Sequence", {"processors"}, make<SequenceOfProcessors>},
      {"TemplateProcessing", {"single", "pair", "special_tokens"}, make<TemplateProcessing>}};
  PostProcessorPtr processor = make_stage(kTypes, json);
  if (std::max(processor->added(false), processor->added(true)) > kMaxAdded) {
    throw BadFile(json.where("type") + " adds more than " + std::to_string(kMaxAdded) + " special tokens to a text");
  }
  return processor;
}

}  // namespace sightline::tokenizer
