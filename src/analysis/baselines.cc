#include "src/analysis/baselines.h"

#include <fmt/core.h>

#include <algorithm>

namespace sightline::analysis {
namespace {

// How many candidates stand before the row.
std::size_t count_before(const Question& question) {
  const auto after = std::ranges::lower_bound(question.candidates, question.row.begin, {}, &TokenRange::begin);
  return static_cast<std::size_t>(after - question.candidates.begin());
}

std::optional<std::size_t> nearest(const Question& question) {
  const std::size_t before = count_before(question);
  if (before == question.candidates.size()) return before > 0 ? std::optional(before - 1) : std::nullopt;
  if (before == 0) return 0;
  const std::int64_t back = question.row.begin - question.candidates[before - 1].end;
  const std::int64_t ahead = question.candidates[before].begin - question.row.end;
  return back <= ahead ? before - 1 : before;
}

// How often each n is right, from n = 1 on.
class Counts {
 public:
  void add(std::size_t n) {
    if (counts_.size() < n) counts_.resize(n);
    ++counts_[n - 1];
  }
  void offer(Rule::Kind kind, std::int64_t& most, Rule& best) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] <= most) continue;
      most = counts_[i];
      best = {kind, static_cast<std::int64_t>(i) + 1};
    }
  }

 private:
  std::vector<std::int64_t> counts_;
};

}  // namespace

std::optional<std::size_t> answer_of(const Rule& rule, const Question& question) {
  if (rule.kind == Rule::Kind::nearest) return nearest(question);
  const std::size_t before = count_before(question), n = static_cast<std::size_t>(rule.n);
  if (rule.kind == Rule::Kind::before) return n <= before ? std::optional(before - n) : std::nullopt;
  const std::size_t index = before + n - 1;
  return index < question.candidates.size() ? std::optional(index) : std::nullopt;
}

bool is_right(const Rule& rule, const Question& question) {
  const std::optional<std::size_t> answer = answer_of(rule, question);
  return answer && std::ranges::binary_search(question.right, *answer);
}

Rule best_rule(const std::vector<const Question*>& questions) {
  Counts before, after;
  std::int64_t most = 0;
  for (const Question* question : questions) {
    const std::size_t middle = count_before(*question);
    for (const std::size_t right : question->right) {
      right < middle ? before.add(middle - right) : after.add(right - middle + 1);
    }
    most += is_right({}, *question) ? 1 : 0;
  }
  Rule best;
  before.offer(Rule::Kind::before, most, best);
  after.offer(Rule::Kind::after, most, best);
  return best;
}

std::string rule_name(const Rule& rule) {
  if (rule.kind == Rule::Kind::nearest) return "nearest";
  return fmt::format("{} {}", rule.n, rule.kind == Rule::Kind::before ? "before" : "after");
}

}  // namespace sightline::analysis
