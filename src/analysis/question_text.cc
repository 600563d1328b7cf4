#include "src/analysis/question_text.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "src/cpu/parallel.h"

namespace sightline::analysis {
namespace {

// The weight that rows [rows, keys] give a candidate.
double weight_on(const TokenRange& candidate, PieceRule pieces, std::span<const float> rows, std::int64_t keys) {
  double all = 0;
  const auto count = static_cast<std::int64_t>(rows.size()) / keys;
  for (std::int64_t key = candidate.begin; key < candidate.end; ++key) {
    double weight = 0;
    for (std::int64_t row = 0; row < count; ++row) weight += rows[static_cast<std::size_t>(row * keys + key)];
    weight /= static_cast<double>(count);
    all = pieces == PieceRule::sum || key == candidate.begin ? all + weight : std::max(all, weight);
  }
  return all;
}

// NaN is no answer.
Answer answer_to(const AskedQuestion& asked, std::span<const float> rows, std::int64_t keys) {
  const Question& question = *asked.question;
  Answer answer;
  answer.baseline = asked.baseline ? 1 : 0;
  double heaviest = -1;
  auto right = question.right.begin();
  for (std::size_t i = 0; i < question.candidates.size(); ++i) {
    const double weight = weight_on(question.candidates[i], asked.pieces, rows, keys);
    const bool is_right = right != question.right.end() && *right == i;
    if (is_right) {
      answer.weight += weight;
      ++right;
    }
    if (!(weight > heaviest)) continue;
    heaviest = weight;
    answer.right = is_right;
  }
  return answer;
}

}  // namespace

// Weights of asked rows of one head.
class QuestionText::RowReader {
 public:
  RowReader(const QuestionText& text, const model::LayerAttention& call, const ObservedBuffers& buffers,
            std::int64_t head)
      : text_(text),
        call_(call),
        buffers_(buffers),
        head_(head),
        keys_(call.problem.k.shape[2]),
        whole_(text.comes_whole(call)) {}

  // [rows, keys]
  std::span<const float> read(const TokenRange& rows) {
    const auto size = static_cast<std::size_t>((rows.end - rows.begin) * keys_);
    if (whole_) {
      const auto at = std::ranges::lower_bound(text_.rows_, rows.begin) - text_.rows_.begin();
      const std::int64_t row = head_ * std::ssize(text_.rows_) + at;
      return std::span(buffers_.row_weights).subspan(static_cast<std::size_t>(row * keys_), size);
    }
    if (rows == held_) return tile_;
    tile_.resize(size);
    const RowState state{buffers_.row_max.data(), buffers_.row_sum.data()};
    tile(call_.problem, state, {0, head_, rows.begin, rows.end, 0, keys_}, Stage::weights, tile_.data());
    held_ = rows;
    return tile_;
  }

 private:
  const QuestionText& text_;
  const model::LayerAttention& call_;
  const ObservedBuffers& buffers_;
  std::int64_t head_, keys_;
  bool whole_;
  TokenRange held_;
  std::vector<float> tile_;
};

void QuestionText::find_rows() {
  if (!rows_.empty()) return;
  // Questions about one row stand together, so that it is read once.
  std::ranges::stable_sort(questions_, {}, [](const AskedQuestion& asked) { return asked.question->row.begin; });
  for (const AskedQuestion& asked : questions_) {
    for (std::int64_t row = asked.question->row.begin; row < asked.question->row.end; ++row) rows_.push_back(row);
  }
  std::ranges::sort(rows_);
  rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
}

bool QuestionText::comes_whole(const model::LayerAttention& call) const {
  return call.problem.q.shape[1] * std::ssize(rows_) * call.problem.k.shape[2] <= whole_weights_;
}

Observations QuestionText::request(const model::LayerAttention& call, ObservedBuffers& buffers) {
  find_rows();
  const std::int64_t heads = call.problem.q.shape[1], rows = call.problem.q.shape[2], keys = call.problem.k.shape[2];
  Observations see;
  if (comes_whole(call)) {
    buffers.row_weights.resize(static_cast<std::size_t>(heads * std::ssize(rows_) * keys));
    see.rows = rows_;
    see.row_weights = buffers.row_weights.data();
    return see;
  }
  buffers.row_max.resize(static_cast<std::size_t>(heads * rows));
  buffers.row_sum.resize(buffers.row_max.size());
  see.row_max = buffers.row_max.data();
  see.row_sum = buffers.row_sum.data();
  return see;
}

void QuestionText::done(const model::LayerAttention& call, const ObservedBuffers& buffers, const AskedHeads& asked,
                        Tallies& to) {
  const std::int64_t heads = call.problem.q.shape[1], keys = call.problem.k.shape[2];
  cpu::parallel_for(std::ssize(asked.heads), asked.threads, [&](std::int64_t i) {
    const std::int64_t head = asked.heads[static_cast<std::size_t>(i)];
    const auto map = static_cast<std::size_t>(call.layer * heads + head);
    RowReader reader(*this, call, buffers, head);
    std::map<std::pair<std::size_t, int>, Tally> of_role;  // and half
    for (const AskedQuestion& one : questions_) {
      of_role[{one.role, one.half}].add(answer_to(one, reader.read(one.question->row), keys));
    }
    for (const auto& [role, tally] : of_role) to.at(role.first, map, role.second).add_text(tally);
  });
}

}  // namespace sightline::analysis
