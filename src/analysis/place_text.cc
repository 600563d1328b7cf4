#include "src/analysis/place_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "src/cpu/parallel.h"

namespace sightline::analysis {
namespace {

constexpr std::int32_t kFirst = 0, kSeparator = 1, kSegments = 2;

bool is_special(const RepeatedText& text, std::int64_t token) {
  return std::ranges::binary_search(text.special, token);
}

bool is_separator(const RepeatedText& text, std::int64_t key) { return key > 0 && is_special(text, key); }

// How many tokens back the place lies, of the copy just before for repetitions.
std::int64_t offset_of(Place place, std::int64_t period) {
  switch (place) {
    case Place::previous:
      return 1;
    case Place::next:
      return -1;
    case Place::duplicate:
      return period;
    case Place::induction:
      return period - 1;
    default:
      return 0;
  }
}

bool is_repetition(Place place) { return place == Place::duplicate || place == Place::induction; }

bool is_offset(Place place) {
  return place == Place::previous || place == Place::current || place == Place::next || is_repetition(place);
}

SeenKeys seen_keys(const AttentionProblem& problem, std::int64_t row) {
  SeenKeys seen{0, problem.k.shape[2]};
  if (problem.window_left >= 0) seen.begin = std::max<std::int64_t>(0, row - problem.window_left);
  if (problem.causal) seen.end = row + 1;
  if (problem.window_right >= 0) seen.end = std::min(seen.end, row + problem.window_right + 1);
  return seen;
}

// Of an even look, which for a sink is one at the sink beside the keys.
double even_weight(Place place, const RepeatedText& text, std::int64_t row, const SeenKeys& seen) {
  if (place == Place::sink) return 1.0 / static_cast<double>(seen.count() + 1);
  return static_cast<double>(right_count(place, text, row, seen)) / static_cast<double>(seen.count());
}

}  // namespace

std::string place_name(Place place) {
  switch (place) {
    case Place::previous:
      return "previous token";
    case Place::current:
      return "same token";
    case Place::next:
      return "next token";
    case Place::first:
      return "first token";
    case Place::separator:
      return "separator";
    case Place::sink:
      return "sink";
    case Place::duplicate:
      return "duplicate token";
    case Place::induction:
      return "induction";
  }
  return {};
}

bool asks(Place place, const RepeatedText& text, std::int64_t row) {
  if (is_repetition(place)) return row >= text.block_begin + text.period && row < text.block_end;
  if (is_special(text, row)) return false;
  switch (place) {
    case Place::previous:
    case Place::first:
      return row > 0;
    case Place::next:
      return row + 1 < text.tokens();
    case Place::separator:
      return !text.special.empty() && text.special.back() > 0;
    default:
      return true;
  }
}

bool is_right(Place place, const RepeatedText& text, std::int64_t row, std::int64_t key) {
  if (place == Place::first) return key == 0;
  if (place == Place::separator) return is_separator(text, key);
  if (place == Place::sink) return false;
  const std::int64_t back = row - key;
  if (!is_repetition(place)) return back == offset_of(place, 0);
  const std::int64_t rest = place == Place::induction ? back + 1 : back;
  return back > 0 && key >= text.block_begin && rest % text.period == 0;
}

std::int64_t right_count(Place place, const RepeatedText& text, std::int64_t row, const SeenKeys& seen) {
  if (is_repetition(place)) {
    std::int64_t count = 0;
    for (std::int64_t key = row - offset_of(place, text.period); key >= text.block_begin; key -= text.period) {
      count += key >= seen.begin && key < seen.end ? 1 : 0;
    }
    return count;
  }
  if (place != Place::separator) {
    const std::int64_t key = place == Place::first ? 0 : row - offset_of(place, 0);
    return key >= seen.begin && key < seen.end && place != Place::sink ? 1 : 0;
  }
  std::int64_t count = 0;
  for (const std::int64_t key : text.special) count += key > 0 && key >= seen.begin && key < seen.end ? 1 : 0;
  return count;
}

std::string baseline_name(const PlaceBaseline& baseline) {
  return baseline.offset ? fmt::format("{} back or even", *baseline.offset) : "even look";
}

PlaceBaseline best_baseline(Place place, const std::vector<const RepeatedText*>& texts, bool causal) {
  if (!is_repetition(place)) return {};
  double most = 0;  // of an even look
  std::map<std::int64_t, std::int64_t> rows_of_offset;
  for (const RepeatedText* text : texts) {
    for (std::int64_t row = text->block_begin + text->period; row < text->block_end; ++row) {
      most += even_weight(place, *text, row, {0, causal ? row + 1 : text->tokens()});
    }
    const std::int64_t last = text->block_end - 1;
    for (std::int64_t back = offset_of(place, text->period); last - back >= text->block_begin; back += text->period) {
      rows_of_offset[back] += text->block_end - std::max(text->block_begin + back, text->block_begin + text->period);
    }
  }
  PlaceBaseline best;
  for (const auto& [back, rows] : rows_of_offset) {
    if (static_cast<double>(rows) <= most) continue;
    most = static_cast<double>(rows);
    best.offset = back;
  }
  return best;
}

PlaceText::PlaceText(const RepeatedText& text, std::vector<AskedPlace> places)
    : text_(text), places_(std::move(places)) {
  for (const AskedPlace& asked : places_) {
    if (!is_offset(asked.place)) continue;
    const std::int64_t first = offset_of(asked.place, text.period);
    offsets_.push_back(-first);
    if (!is_repetition(asked.place)) continue;
    for (std::int64_t back = first + text.period; back < text.block_end; back += text.period) offsets_.push_back(-back);
  }
  std::ranges::sort(offsets_);
  offsets_.erase(std::unique(offsets_.begin(), offsets_.end()), offsets_.end());
  for (std::int64_t key = 0; key < text.tokens(); ++key) {
    segment_of_token_.push_back(key == 0 ? kFirst : is_separator(text, key) ? kSeparator : -1);
  }
}

Observations PlaceText::request(const model::LayerAttention& call, ObservedBuffers& buffers) {
  const auto rows = static_cast<std::size_t>(call.problem.q.shape[1] * call.problem.q.shape[2]);
  Observations see;
  buffers.top_index.resize(rows);
  buffers.top_weight.resize(rows);
  see.top_k = 1;
  see.topk_index = buffers.top_index.data();
  see.topk_weight = buffers.top_weight.data();
  buffers.segment_mass.resize(rows * kSegments);
  see.segment_of_key = segment_of_token_;
  see.segments = kSegments;
  see.segment_mass = buffers.segment_mass.data();
  buffers.sink_weight.resize(rows);
  see.sink_weight = buffers.sink_weight.data();
  if (offsets_.empty()) return see;
  buffers.offset_mass.resize(rows * offsets_.size());
  see.offsets = offsets_;
  see.offset_mass = buffers.offset_mass.data();
  return see;
}

// The rows of one head as they were observed.
class PlaceText::Rows {
 public:
  Rows(const PlaceText& asked, const model::LayerAttention& call, const ObservedBuffers& buffers, std::int64_t head)
      : asked_(asked), problem_(call.problem), buffers_(buffers), first_(head * call.problem.q.shape[2]) {}

  Answer answer(const AskedPlace& role, std::int64_t row) const {
    const RepeatedText& text = asked_.text_;
    Answer answer;
    answer.right = is_answered(role.place, row);
    answer.weight = weight_at(role.place, row);
    answer.even_weight = even_weight(role.place, text, row, seen_keys(problem_, row));
    answer.baseline = answer.even_weight;
    if (role.baseline.offset) answer.baseline = is_right(role.place, text, row, row - *role.baseline.offset) ? 1 : 0;
    return answer;
  }

 private:
  bool is_answered(Place place, std::int64_t row) const {
    const auto at = static_cast<std::size_t>(first_ + row);
    if (place == Place::sink) return buffers_.sink_weight[at] > buffers_.top_weight[at];
    return buffers_.top_index[at] >= 0 && is_right(place, asked_.text_, row, buffers_.top_index[at]);
  }

  double weight_at(Place place, std::int64_t row) const {
    const auto at = static_cast<std::size_t>(first_ + row);
    if (place == Place::sink) return buffers_.sink_weight[at];
    if (place == Place::first) return buffers_.segment_mass[at * kSegments + kFirst];
    if (place == Place::separator) return buffers_.segment_mass[at * kSegments + kSeparator];
    double sum = 0;
    for (std::size_t i = 0; i < asked_.offsets_.size(); ++i) {
      if (!is_right(place, asked_.text_, row, row + asked_.offsets_[i])) continue;
      sum += buffers_.offset_mass[at * asked_.offsets_.size() + i];
    }
    return sum;
  }

  const PlaceText& asked_;
  const AttentionProblem& problem_;
  const ObservedBuffers& buffers_;
  std::int64_t first_;
};

void PlaceText::done(const model::LayerAttention& call, const ObservedBuffers& buffers, const AskedHeads& asked,
                     Tallies& to) {
  const std::int64_t heads = call.problem.q.shape[1];
  cpu::parallel_for(std::ssize(asked.heads), asked.threads, [&](std::int64_t i) {
    const std::int64_t head = asked.heads[static_cast<std::size_t>(i)];
    const Rows rows(*this, call, buffers, head);
    for (const AskedPlace& one : places_) {
      Tally tally;
      for (std::int64_t row = 0; row < text_.tokens(); ++row) {
        if (asks(one.place, text_, row)) tally.add(rows.answer(one, row));
      }
      to.at(one.role, static_cast<std::size_t>(call.layer * heads + head), one.half).add_text(tally);
    }
  });
}

}  // namespace sightline::analysis
