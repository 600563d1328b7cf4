#include "src/analysis/edge_sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/ops/likelihood.h"

namespace sightline::analysis {
namespace {

using Ids = std::vector<std::int32_t>;

// Half the square of the distance between vectors of length 1, which is 1 - cosine, without its loss of digits where
// the two are nearly the same.
double one_less_cosine(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / 2;
}

void normalise(std::span<double> vector) {
  double sum = 0;
  for (const double x : vector) sum += x * x;
  const double length = std::sqrt(sum);
  for (double& x : vector) x /= length;
}

// The largest logit's, of equals the first; a NaN is never taken.
std::int32_t likeliest(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t id = 1; id < logits.size(); ++id) {
    if (logits[id] > logits[best] || std::isnan(logits[best])) best = id;
  }
  return static_cast<std::int32_t>(best);
}

// Adds `factor` times the parts of another.
void add(model::Contributions& sum, const model::Contributions& more, double factor) {
  sum.heads.resize(more.heads.size());
  sum.feed_forward.resize(more.feed_forward.size());
  sum.answer += factor * more.answer;
  sum.embeddings += factor * more.embeddings;
  sum.rest += factor * more.rest;
  for (std::size_t i = 0; i < more.heads.size(); ++i) sum.heads[i] += factor * more.heads[i];
  for (std::size_t i = 0; i < more.feed_forward.size(); ++i) sum.feed_forward[i] += factor * more.feed_forward[i];
}

model::Answer along(const std::vector<double>& direction, std::int64_t begin, std::int64_t end) {
  model::Answer answer;
  answer.rows = {begin, end};
  answer.direction.assign(direction.begin(), direction.end());
  return answer;
}

}  // namespace

EdgeSweep::EdgeSweep(const model::Transformer& transformer, Output output, const model::BranchOptions& options)
    : output_(std::move(output)) {
  add_stems(transformer, options);
  const std::size_t answers = output_.answers.size();
  values_.resize(output_.kind == Output::Kind::vector ? 2 : answers + (answers > 1 ? 1 : 0));
  if (output_.kind == Output::Kind::vector) {
    const model::BranchResult& whole = stems_.front().passes.whole();
    text_vector_ = mean_vector(whole, {0, std::ssize(output_.ids)});
    row_vector_ = mean_vector(whole, output_.rows);
  }
  for (const Stem& stem : stems_) read_numbers(stem, stem.passes.whole(), values_);
  finish_numbers(values_);
}

void EdgeSweep::add_stems(const model::Transformer& transformer, model::BranchOptions options) {
  const auto tokens = std::ssize(output_.ids);
  const auto add = [&](Ids ids) {
    options.hidden_states = output_.kind == Output::Kind::vector;
    if (output_.kind == Output::Kind::place) options.logit_rows = {output_.place, output_.place + 1};
    if (output_.kind == Output::Kind::continuation) options.logit_rows = {tokens - 1, std::ssize(ids)};
    Ids types = output_.type_ids;
    if (!types.empty()) types.resize(ids.size(), types.back());
    model::Branches passes(transformer, ids, types, options);
    stems_.push_back({std::move(ids), {}, std::move(passes)});
  };
  if (output_.answers.empty()) add(output_.ids);
  if (output_.answers.empty() && output_.kind != Output::Kind::vector) choose_likeliest();
  for (std::size_t i = 0; i < output_.answers.size(); ++i) {
    Ids ids = output_.ids;
    ids.insert(ids.end(), output_.answers[i].begin(), output_.answers[i].end() - 1);
    auto stem = std::ranges::find(stems_, ids, &Stem::ids);
    if (stem == stems_.end()) {
      add(std::move(ids));
      stem = stems_.end() - 1;
    }
    stem->answers.push_back(i);
  }
}

void EdgeSweep::choose_likeliest() { output_.answers = {{likeliest(stems_.front().passes.whole().logits)}}; }

void EdgeSweep::run(std::span<const model::Branch> branches, const Reader& read) {
  std::vector<std::vector<double>> numbers(branches.size(), std::vector<double>(values_.size()));
  for (Stem& stem : stems_) {
    const bool last = &stem == &stems_.back();
    const auto take = [&](std::size_t branch, const model::BranchResult& result) {
      std::vector<double>& mine = numbers[branch];
      read_numbers(stem, result, mine);
      if (!last) return;
      finish_numbers(mine);
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] -= values_[i];
      read(branch, mine);
    };
    stem.passes.run(branches, take);
  }
}

void EdgeSweep::read_numbers(const Stem& stem, const model::BranchResult& result, std::span<double> numbers) const {
  output_.kind == Output::Kind::vector ? read_vectors(result, numbers) : read_answers(stem, result, numbers);
}

void EdgeSweep::read_answers(const Stem& stem, const model::BranchResult& result, std::span<double> numbers) const {
  const std::size_t rows = output_.kind == Output::Kind::place ? 1 : stem.ids.size() - output_.ids.size() + 1;
  const std::size_t vocabulary = result.logits.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> logits = result.logits.subspan(row * vocabulary, vocabulary);
    const ops::LogSoftmax softmax(logits);
    for (const std::size_t answer : stem.answers) {
      const double log_probability = softmax(logits[static_cast<std::size_t>(output_.answers[answer][row])]);
      numbers[answer] = row == 0 ? log_probability : numbers[answer] + log_probability;
    }
  }
}

void EdgeSweep::read_vectors(const model::BranchResult& result, std::span<double> numbers) const {
  numbers[0] = one_less_cosine(text_vector_, mean_vector(result, {0, std::ssize(output_.ids)}));
  numbers[1] = one_less_cosine(row_vector_, mean_vector(result, output_.rows));
}

void EdgeSweep::finish_numbers(std::span<double> numbers) const {
  if (output_.kind != Output::Kind::vector && output_.answers.size() > 1) numbers.back() = numbers[0] - numbers[1];
}

std::vector<double> EdgeSweep::mean_vector(const model::BranchResult& result, TokenRange rows) const {
  const model::BranchResult& whole = stems_.front().passes.whole();
  const std::size_t width = whole.hidden_state.size() / output_.ids.size();
  std::vector<double> mean(width);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const model::BranchResult& from = row < result.first_row ? whole : result;
    const auto values = from.hidden_state.subspan(static_cast<std::size_t>(row - from.first_row) * width, width);
    for (std::size_t i = 0; i < width; ++i) mean[i] += values[i];
  }
  normalise(mean);
  return mean;
}

model::Contributions EdgeSweep::answer_contributions(Stem& stem, std::size_t answer) {
  const Ids& ids = output_.answers[answer];
  const std::int64_t first = output_.kind == Output::Kind::place ? output_.place : std::ssize(output_.ids) - 1;
  model::Contributions sum;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
    model::Answer token;
    token.rows = {first + i, first + i + 1};
    token.tokens = {{ids[static_cast<std::size_t>(i)], 1}};
    token.minus_mean = true;
    add(sum, model::contributions(stem.passes, token), 1);
  }
  return sum;
}

model::Contributions EdgeSweep::margin_contributions(const model::Contributions& first,
                                                     const model::Contributions& second) {
  const Ids &a = output_.answers[0], &b = output_.answers[1];
  const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
  if (at == std::ssize(a) || at == std::ssize(b)) {  // one begins with all of the other: no token stands against one
    model::Contributions difference = first;
    add(difference, second, -1);
    return difference;
  }
  const std::int64_t row = (output_.kind == Output::Kind::place ? output_.place : std::ssize(output_.ids) - 1) + at;
  model::Answer answer;
  answer.rows = {row, row + 1};
  answer.tokens = {{a[static_cast<std::size_t>(at)], 1}, {b[static_cast<std::size_t>(at)], -1}};
  const auto has_first = [](const Stem& stem) { return std::ranges::find(stem.answers, 0U) != stem.answers.end(); };
  return model::contributions(std::ranges::find_if(stems_, has_first)->passes, answer);
}

std::vector<model::Contributions> EdgeSweep::contributions() {
  model::Branches& passes = stems_.front().passes;
  if (output_.kind == Output::Kind::vector) {
    return {model::contributions(passes, along(text_vector_, 0, std::ssize(output_.ids))),
            model::contributions(passes, along(row_vector_, output_.rows.begin, output_.rows.end))};
  }
  std::vector<model::Contributions> all(output_.answers.size());
  for (Stem& stem : stems_) {
    for (const std::size_t answer : stem.answers) all[answer] = answer_contributions(stem, answer);
  }
  if (all.size() > 1) all.push_back(margin_contributions(all[0], all[1]));
  return all;
}

model::BranchWork EdgeSweep::work() const {
  model::BranchWork sum;
  for (const Stem& stem : stems_) {
    const model::BranchWork work = stem.passes.work();
    sum.done += work.done;
    sum.naive += work.naive;
  }
  return sum;
}

}  // namespace sightline::analysis
