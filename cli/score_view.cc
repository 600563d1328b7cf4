#include "cli/score_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

using engine::LookToken;
using engine::TokenScore;

constexpr double kFullShade = 10;  // nats: a probability of 1 in 22,000
constexpr std::size_t kMostSurprising = 10;
constexpr int kLeastLabel = 5, kMostLabel = 20;  // columns
constexpr int kNumbers = 29;                     // columns of a row before the likeliest tokens, its label left out

std::string label_of(const std::string& label, const Painter& painter) {
  return with_marks(label, painter.terminal().utf8);
}

// A row a token: its number, its label, how likely it was, and what was likelier.
class ScoreTable {
 public:
  ScoreTable(Painter& painter, const Options& options) : painter_(painter), options_(options) {}

  // `rows`: indexes of the tokens. `scores`: of tokens, ascending.
  void add(std::span<const LookToken> tokens, std::span<const TokenScore> scores, std::span<const std::int64_t> rows) {
    label_width_ = kLeastLabel;
    for (const std::int64_t row : rows) {
      label_width_ = std::max(label_width_, display_width(label_of(at(tokens, row).label, painter_)));
    }
    label_width_ = std::min(label_width_, kMostLabel);
    painter_.soft(fmt::format("{:>7} {} {:>9} {:>7}  {}", "", pad("token"), "log-prob", "rank",
                              options_.top ? "likeliest, and their log-probabilities" : "likeliest"));
    painter_.newline();
    for (const std::int64_t row : rows) {
      const auto score = std::ranges::lower_bound(scores, row, {}, &TokenScore::token);
      add_row(row, at(tokens, row), score != scores.end() && score->token == row ? &*score : nullptr);
    }
  }

 private:
  static const LookToken& at(std::span<const LookToken> tokens, std::int64_t row) {
    return tokens[static_cast<std::size_t>(row)];
  }
  bool utf8() const { return painter_.terminal().utf8; }
  std::string pad(const std::string& label) const { return pad_right(label, label_width_, utf8()); }

  void add_row(std::int64_t row, const LookToken& token, const TokenScore* score) {
    painter_.soft(fmt::format("{:>7} ", row + 1));
    const std::string label = pad(label_of(token.label, painter_));
    if (score == nullptr) {
      painter_.text(label).soft(fmt::format(" {:>9} {:>7}", "-", "-")).newline();
      return;
    }
    painter_.tinted(std::min(1.0, -score->log_probability / kFullShade), label);
    painter_.text(fmt::format(" {:>9.3f} {:>7}", score->log_probability, score->rank));
    options_.top ? add_likeliest(*score) : add_likelier(*score);
    painter_.newline();
  }

  // The token that was likelier than all others, where it is not the text's.
  void add_likelier(const TokenScore& score) {
    if (score.rank == 1) return;
    const engine::LikelyText& best = score.likeliest.front();
    painter_.text("  ").text(fit_columns(label_of(best.label, painter_), room() - 8, utf8()));
    painter_.soft(fmt::format(" {:.3f}", best.log_probability));
  }

  // As many as fit; those that do not begin lines of their own below.
  void add_likeliest(const TokenScore& score) {
    int used = 0;
    for (const engine::LikelyText& token : score.likeliest) {
      const std::string label = fit_columns(label_of(token.label, painter_), kMostLabel, utf8());
      const std::string number = fmt::format(" {:.3f}", token.log_probability);
      const int columns = 2 + display_width(label) + static_cast<int>(number.size());
      if (used > 0 && used + columns > room()) {
        painter_.newline().spaces(label_width_ + kNumbers - 3);
        used = 0;
      }
      used += columns;
      painter_.text("  ").text(label).soft(number);
    }
  }

  int room() const { return std::max(20, painter_.terminal().width - label_width_ - kNumbers + 3); }

  Painter& painter_;
  const Options& options_;
  int label_width_ = kLeastLabel;
};

std::vector<std::int64_t> numbers(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = from; i < to; ++i) all.push_back(i);
  return all;
}

// The text as it stands, each token on the colour of its surprise.
class ShadedText {
 public:
  explicit ShadedText(Painter& painter) : painter_(painter) {}

  void add(const engine::Score& score) {
    auto next = score.scores.begin();
    std::size_t shown = 0;  // bytes of the text
    for (std::int64_t i = 0; i < std::ssize(score.tokens); ++i) {
      const LookToken& token = score.tokens[static_cast<std::size_t>(i)];
      const bool scored = next != score.scores.end() && next->token == i;
      add_token(reading_of(token, score.text, shown), scored ? &*next : nullptr);
      shown = std::max(shown, token.byte_end);
      if (scored) ++next;
    }
    if (used_ > 0) painter_.newline();
    painter_.soft("surprise in nats: 0 ");
    for (int step = 0; step <= 10; ++step) painter_.shade(step / 10.0, 2);
    painter_.soft(fmt::format(" {:.0f} and more", kFullShade)).newline();
  }

 private:
  // The text up to the token's end that was not shown yet; of parts of a character after the first, their bytes.
  static std::string reading_of(const LookToken& token, const std::string& text, std::size_t shown) {
    return token.byte_end > shown ? text.substr(shown, token.byte_end - shown) : token.label;
  }

  void add_token(const std::string& reading, const TokenScore* score) {
    const std::string shown = spaced(reading, painter_.terminal().utf8);
    if (used_ > 0 && used_ + display_width(shown) > painter_.terminal().width) end_line();
    for (std::string_view rest = shown; !rest.empty();) {
      const std::string_view part = take_columns(rest, painter_.terminal().width - used_);
      if (part.empty()) break;
      score ? painter_.tinted(std::min(1.0, -score->log_probability / kFullShade), part) : painter_.soft(part);
      used_ += display_width(part);
      if (!rest.empty()) end_line();
    }
    if (reading.ends_with('\n')) end_line();
  }

  // Spaces before a word stay spaces, so that the text reads on; all else that would not show is marked.
  static std::string spaced(std::string_view reading, bool utf8) {
    const std::size_t begin = std::min(reading.find_first_not_of(' '), reading.size());
    return std::string(begin, ' ') + with_marks(reading.substr(begin), utf8);
  }

  void end_line() {
    painter_.text("\n");
    used_ = 0;
  }

  Painter& painter_;
  int used_ = 0;  // columns of the line
};

void add_summary(Painter& painter, const engine::ScoreSummary& sums) {
  const auto line = [&](const char* what, const std::string& number, const std::string& more) {
    painter.text(fmt::format("{:<16} {:>12}", what, number)).soft(more).newline();
  };
  line("tokens scored", fmt::format("{}", sums.tokens), "");
  line("log-probability", fmt::format("{:.3f}", sums.log_probability),
       fmt::format(" nats, {:.4f} a token", sums.mean()));
  const double perplexity = sums.perplexity();
  line("perplexity", perplexity < 1e6 ? fmt::format("{:.4f}", perplexity) : fmt::format("{:.4g}", perplexity), "");
  line("bits per byte", fmt::format("{:.4f}", sums.bits_per_byte()), fmt::format(" of {} bytes", sums.bytes));
}

void add_most_surprising(Painter& painter, const engine::Score& score, const Options& options) {
  std::vector<TokenScore> order(score.scores);
  const std::size_t count = std::min(order.size(), kMostSurprising);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                            &TokenScore::log_probability);
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(order[i].token);
  painter.soft("The most surprising tokens (--tokens lists all):").newline();
  ScoreTable(painter, options).add(score.tokens, score.scores, rows);
}

void add_windows(Painter& painter, const engine::Score& score) {
  if (score.windows < 2) return;
  painter.note(
      fmt::format("In {} windows of {} tokens, each beginning {} after the one before: at least {} tokens stand "
                  "before each token that is scored, but in the first",
                  score.windows, score.context, score.stride, score.context - score.stride));
}

}  // namespace

void add_score_view(Painter& painter, const engine::Score& score, const Options& options) {
  const bool is_long = std::ssize(score.tokens) > kLongText && !options.tokens;
  if (score.scores.empty()) {
    painter.note("No token was scored");
    return;
  }
  if (is_long) {
    add_most_surprising(painter, score, options);
  } else if (painter.coloured() && !options.top && !options.tokens) {
    ShadedText(painter).add(score);
  } else {
    ScoreTable(painter, options).add(score.tokens, score.scores, numbers(0, std::ssize(score.tokens)));
  }
  painter.newline();
  add_summary(painter, score.summary);
  add_windows(painter, score);
  add_knock_outs(painter, score.knock_outs);
  if (!score.complete) painter.note(stopped_note("text"));
}

void add_target_view(Painter& painter, const engine::TargetScores& scores, const Options& options) {
  std::vector<const engine::TargetScore*> order;
  for (const engine::TargetScore& target : scores.targets) order.push_back(&target);
  std::ranges::stable_sort(order, {}, &engine::TargetScore::rank);
  painter.soft("  rank   log-prob   a token  tokens  target").newline();
  for (const engine::TargetScore* target : order) {
    const engine::ScoreSummary& sums = target->summary;
    painter.text(
        fmt::format("{:>6} {:>10.3f} {:>9.3f} {:>7}  ", target->rank, sums.log_probability, sums.mean(), sums.tokens));
    painter.bold(displayable("\"" + target->target + "\"", painter.terminal().utf8)).newline();
    if (!options.top && !options.tokens) continue;
    ScoreTable(painter, options).add(target->tokens, target->scores, numbers(scores.first, std::ssize(target->tokens)));
  }
  if (scores.seam_moved()) {
    const LookToken& token = scores.tokens[static_cast<std::size_t>(scores.first)];
    painter.note(
        fmt::format("A target changes how the end of the text is read: all are scored from the text's token {} "
                    "on, {}",
                    scores.first + 1, label_of(token.label, painter)));
  }
  add_knock_outs(painter, scores.knock_outs);
  if (!scores.complete) painter.note(stopped_note("targets"));
}

}  // namespace sightline::cli
