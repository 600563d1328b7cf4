#include "src/engine/score_report.h"

#include "sightline/attention.h"
#include "src/engine/memory.h"
#include "src/engine/report_fields.h"
#include "src/engine/report_numbers.h"

namespace sightline::engine {
namespace {

// Numbers of JSON, and notes on those that it cannot write.
class ScoreJson {
 public:
  explicit ScoreJson(int top) : top_(top) {}

  // Tokens with their scores; `first`: index of the first that is listed.
  ReportJson tokens(std::string_view text, const std::vector<LookToken>& tokens, const std::vector<TokenScore>& scores,
                    std::int64_t first = 0) {
    ReportJson json = ReportJson::array();
    auto score = scores.begin();
    for (std::int64_t i = first; i < std::ssize(tokens); ++i) {
      const LookToken& token = tokens[static_cast<std::size_t>(i)];
      json.push_back({{"id", token.id},
                      {"piece", token.piece},
                      {"label", token.label},
                      {"text", text.substr(token.byte_begin, token.byte_end - token.byte_begin)},
                      {"special", token.special}});
      if (score != scores.end() && score->token == i) add(*score++, json.back());
    }
    return json;
  }

  ReportJson summary(const ScoreSummary& sums) {
    return {{"tokens", sums.tokens},
            {"bytes", sums.bytes},
            {"log_probability", number_(sums.log_probability)},
            {"mean_log_probability", number_(sums.mean())},
            {"perplexity", number_(sums.perplexity())},
            {"bits_per_byte", number_(sums.bits_per_byte())}};
  }

  ReportJson notes() const {
    ReportJson notes = ReportJson::array();
    number_.note("scores", notes);
    return notes;
  }

 private:
  void add(const TokenScore& score, ReportJson& json) {
    json["before"] = score.before;
    json["log_probability"] = number_(score.log_probability);
    json["rank"] = score.rank;
    json["likeliest"] = likely(score.likeliest.front());
    if (top_ == 0) return;
    json["top"] = ReportJson::array();
    for (const LikelyText& token : score.likeliest) json["top"].push_back(likely(token));
  }

  ReportJson likely(const LikelyText& token) {
    return {{"id", token.id}, {"label", token.label}, {"log_probability", number_(token.log_probability)}};
  }

  int top_;
  ReportNumbers number_;
};

ReportJson head_json(const ModelFacts& model, const std::string& text, const ScoreOptions& options,
                     std::span<const TextKnockOut> knock_outs) {
  return {{"sightline_score", kReportVersion},
          {"arithmetic_version", kArithmeticVersion},
          {"model", model_json(model)},
          {"text", text},
          {"blocked", knock_outs_json(knock_outs)},
          {"cache", {{"keys", dtype_name(options.cache.keys)}, {"values", dtype_name(options.cache.values)}}}};
}

}  // namespace

ReportJson score_report(const ModelFacts& model, const Score& score, const ScoreOptions& options, int top) {
  return within_memory(kNoMemoryForReport, [&] {
    ScoreJson part(top);
    ReportJson json = head_json(model, score.text, options, score.knock_outs);
    json["context"] = score.context;
    json["stride"] = score.stride;
    json["windows"] = score.windows;
    json["tokens"] = part.tokens(score.text, score.tokens, score.scores);
    json["summary"] = part.summary(score.summary);
    json["complete"] = score.complete;
    json["notes"] = part.notes();
    return json;
  });
}

ReportJson score_report(const ModelFacts& model, const TargetScores& scores, const ScoreOptions& options, int top) {
  return within_memory(kNoMemoryForReport, [&] {
    ScoreJson part(top);
    ReportJson json = head_json(model, scores.prompt, options, scores.knock_outs);
    json["context"] = scores.context;
    json["tokens"] = part.tokens(scores.prompt, scores.tokens, {});
    json["first"] = scores.first;
    json["targets"] = ReportJson::array();
    for (const TargetScore& target : scores.targets) {
      json["targets"].push_back(
          {{"target", target.target},
           {"rank", target.rank},
           {"tokens", part.tokens(scores.prompt + target.target, target.tokens, target.scores, scores.first)},
           {"summary", part.summary(target.summary)}});
    }
    json["complete"] = scores.complete;
    json["notes"] = part.notes();
    return json;
  });
}

}  // namespace sightline::engine
