#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/analysis/generated_probes.h"
#include "src/ops/random.h"

namespace sightline::analysis {
namespace {

constexpr std::uint64_t kCodeSalt = 0x4272616b65747321;
constexpr std::uint64_t kSeedStep = 0x9e3779b97f4a7c15;  // from one text to the next
constexpr int kDepth = 4;                                // of brackets in a statement, at most
constexpr double kNested = 0.55;                         // how often an argument is nested again
constexpr std::array kNames = {"value", "count", "item", "left", "right", "index", "total", "name", "list",  "size",
                               "first", "last",  "next", "line", "text",  "key",   "data",  "node", "point", "time"};

// Writes statements, a blank between all tokens, so that tokenizers do not join brackets.
class CodeWriter {
 public:
  explicit CodeWriter(std::uint64_t seed) : random_(seed ^ kCodeSalt) {}

  std::string statement() {
    code_.clear();
    name();
    put("=");
    nested(1);
    put(";");
    return code_;
  }

 private:
  void put(std::string_view token) {
    if (!code_.empty()) code_ += ' ';
    code_ += token;
  }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_.uniform() * static_cast<double>(end)); }
  void name() { put(kNames[below(kNames.size())]); }
  void argument(int depth) { depth < kDepth&& random_.uniform() < kNested ? nested(depth + 1) : name(); }

  void arguments(int depth, std::string_view between) {
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) put(between);
      argument(depth);
    }
  }

  void nested(int depth) {
    switch (below(4)) {
      case 0:
        name();
        [[fallthrough]];
      case 1:
        put("(");
        arguments(depth, ",");
        return put(")");
      case 2:
        put("[");
        arguments(depth, ",");
        return put("]");
      default:
        put("{");
        name();
        put(":");
        arguments(depth, ",");
        return put("}");
    }
  }

  ops::Random random_;
  std::string code_;
};

constexpr std::string_view kOpening = "([{", kClosing = ")]}";

// The bracket that is all of a token's text but white space; none where there is more, or less.
std::optional<char> bracket_of(const tokenizer::Token& token, std::string_view text) {
  std::optional<char> found;
  for (const char c : text.substr(token.begin, token.end - token.begin)) {
    if (c == ' ' || c == '\n') continue;
    if (found || (kOpening.find(c) == std::string_view::npos && kClosing.find(c) == std::string_view::npos)) return {};
    found = c;
  }
  return found;
}

// Follows brackets through a text's tokens.
class BracketReader {
 public:
  void add(std::int64_t token, std::int32_t id, char bracket, std::vector<Question>& questions) {
    chars_of_id_[id].insert(bracket);
    if (kOpening.find(bracket) != std::string_view::npos) {
      open_.push_back(opened_.size());
      opened_.push_back({token, token + 1});
      return;
    }
    if (open_.empty()) return;
    const std::size_t partner = open_.back();
    open_.pop_back();
    const std::size_t first = opened_.size() > kOpenBrackets ? opened_.size() - kOpenBrackets : 0;
    if (partner < first || opened_.size() < 2) return;  // of one alone there is nothing to choose
    Question question{{token, token + 1}, {}, {partner - first}};
    question.candidates.assign(opened_.begin() + static_cast<std::ptrdiff_t>(first), opened_.end());
    questions.push_back(std::move(question));
  }

  // Whether each bracket has a token of its own.
  bool tells_apart() const {
    return std::ranges::all_of(chars_of_id_, [](const auto& entry) { return entry.second.size() == 1; });
  }

 private:
  std::vector<TokenRange> opened_;
  std::vector<std::size_t> open_;  // indexes into opened_
  std::map<std::int32_t, std::set<char>> chars_of_id_;
};

ProbeText bracket_text(const tokenizer::Encoding& encoding, std::string_view code) {
  ProbeText text;
  BracketReader reader;
  for (const tokenizer::Token& token : encoding.tokens) {
    const auto place = std::ssize(text.ids);
    text.ids.push_back(token.id);
    text.type_ids.push_back(token.type_id);
    if (token.special) continue;
    if (const std::optional<char> bracket = bracket_of(token, code)) {
      reader.add(place, token.id, *bracket, text.questions);
    }
  }
  if (!reader.tells_apart()) text.questions.clear();
  return text;
}

}  // namespace

std::string nested_code(std::int64_t statements, std::uint64_t seed) {
  CodeWriter writer(seed);
  std::string code;
  for (std::int64_t i = 0; i < statements; ++i) code.append(writer.statement()).push_back('\n');
  return code;
}

Probe bracket_probe(const tokenizer::Tokenizer& tokenizer, const GenerationPlan& plan) {
  Probe probe{"bracket", "closing to opening", PieceRule::sum, {}};
  tokenizer::EncodeOptions how;
  how.max_length = static_cast<std::size_t>(plan.length);
  for (std::int64_t i = 0; i < text_count(plan.length); ++i) {
    // A statement has seven tokens or more: so many fill the text, and its end is cut.
    const std::string code = nested_code(plan.length / 7 + 1, plan.seed + static_cast<std::uint64_t>(i) * kSeedStep);
    probe.texts.push_back(bracket_text(tokenizer.encode(code, how), code));
  }
  return probe;
}

}  // namespace sightline::analysis
