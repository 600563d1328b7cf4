#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/report_output.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/analysis/order.h"
#include "src/engine/explain.h"

namespace sightline::cli {
namespace {

constexpr int kLongestKey = 12, kWidestBar = 12;
constexpr int kCapped = 10;  // columns of the softcap's step, which the bars give up

class ExplainView {
 public:
  ExplainView(Painter& painter, const engine::Look& look, const engine::Explanation& steps, const Options& options)
      : painter_(painter), axis_(look.axis(true, true)), steps_(steps), options_(options) {
    for (const engine::AxisItem& item : axis_) {
      labels_.push_back(item_label(item, painter));
      key_width_ = std::clamp(display_width(labels_.back()), key_width_, kLongestKey);
    }
    if (capped()) bar_ -= kCapped;
    if (steps.sink) key_width_ = std::max(key_width_, 6);
  }

  void add() {
    const std::string where = fmt::format("\"{}\" (token {} of {}) in layer {}, head {}", labels_[token()], token() + 1,
                                          axis_.size(), steps_.map.layer, steps_.map.head);
    painter_.paragraph({{Ink::accent, where}, {Ink::plain, steps_.scaled ? "" : ", scores not divided"}});
    add_vector(fmt::format("query: {} numbers", steps_.query.size()), steps_.query);
    painter_.newline();
    add_table();
    add_vector(fmt::format("the sum, what the head says for this token: {} numbers", steps_.output.size()),
               steps_.output);
    painter_.newline();
    add_peaks();
    say(fmt::format("farthest from the fused kernel: {:.1e} in a weight, {:.1e} in the sum", steps_.weight_difference,
                    steps_.output_difference));
  }

 private:
  std::size_t token() const { return static_cast<std::size_t>(steps_.token); }
  bool utf8() const { return painter_.terminal().utf8; }
  std::string root() const { return fmt::format("{}{}", painter_.glyph("√", "sqrt"), steps_.query.size()); }

  void add_vector(const std::string& title, const std::vector<double>& numbers) {
    const double norm = std::sqrt(std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0));
    painter_.bold(title).text(fmt::format(", length {:.3f}", norm)).newline();
    const auto across = static_cast<std::size_t>(std::clamp((painter_.terminal().width - 2) / 8 / 4 * 4, 4, 16));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i % across == 0) painter_.spaces(2);
      painter_.text(fmt::format("{:>8.3f}", numbers[i]));
      if (i % across == across - 1 || i + 1 == numbers.size()) painter_.newline();
    }
  }

  void add_table() {
    const std::string_view dot = painter_.glyph("q·k", "q.k"), times = painter_.glyph("w·v", "w*v");
    painter_
        .soft(fmt::format("{} {:>9} {:>9}{} {:>8} {} {:>7} {:>7} {:>7}", pad_left("", key_width_, utf8()), "1 score",
                          "2 scale", capped() ? fmt::format(" {:>9}", "and cap") : "", "3 weight", blank_bar(), "",
                          "4 mix", "share of"))
        .newline();
    painter_.bold(pad_left("key", key_width_, utf8()));
    painter_
        .bold(fmt::format(" {} {}{} {} {} {} {} {}", pad_left(dot, 9, utf8()), pad_left(scale_name(), 9, utf8()),
                          capped() ? fmt::format(" {:>9}", fmt::format("at {:g}", steps_.softcap)) : "",
                          pad_left("softmax", 8, utf8()), blank_bar(), pad_left("|v|", 7, utf8()),
                          pad_left(fmt::format("|{}|", times), 7, utf8()), pad_left("the sum", 7, utf8())))
        .newline();
    for (const std::size_t key : listed_keys()) add_key(key);
    add_rest();
    if (steps_.sink) add_sink(*steps_.sink);
    add_sum_line("all", 1 - missing_weight() + (steps_.sink ? steps_.sink->weight : 0));
    add_hidden();
  }

  bool capped() const { return steps_.softcap > 0; }
  std::string blank_bar() const { return std::string(static_cast<std::size_t>(bar_), ' '); }

  // What the second step is called: the division by the root of the width, or the model's own factor.
  std::string scale_name() const {
    if (!steps_.scaled) return "as it is";
    return divides_by_root() ? fmt::format("{}{}", painter_.glyph("÷", "/"), root())
                             : fmt::format("{}{:.4g}", painter_.glyph("×", "x"), steps_.scale);
  }
  bool divides_by_root() const {
    const double scale = steps_.with_scale.scale * std::sqrt(static_cast<double>(steps_.query.size()));
    return std::abs(scale - 1) < 1e-5;
  }

  void add_sum_line(const std::string& name, double weight) {
    painter_.text(fmt::format("{} {:>9} {:>9}{} {:>8.4f}", pad_left(name, key_width_, utf8()), "", "",
                              std::string(capped() ? kCapped : 0, ' '), weight));
    painter_.newline();
  }

  // A logit without a key: it takes weight and mixes nothing.
  void add_sink(const engine::ExplainedSink& sink) {
    painter_.soft(pad_left("(sink)", key_width_, utf8()));
    painter_.text(fmt::format(" {:>9} {}{:>9.3f} ", "", std::string(capped() ? kCapped : 0, ' '), sink.logit));
    painter_.tinted(format::ease(sink.weight), fmt::format("{:>8.4f}", sink.weight))
        .text(" ")
        .soft(share_bar(sink.weight, bar_, painter_));
    painter_.newline();
  }

  void add_hidden() {
    const std::int64_t hidden = std::ssize(steps_.keys) - std::ssize(steps_.visible);
    if (hidden > 0)
      painter_.note(fmt::format("{} of the {} tokens are not seen by this row", hidden, steps_.keys.size()));
  }

  // With --top the heaviest ones, in the order of the text all the same.
  std::vector<std::size_t> listed_keys() const {
    std::vector<std::size_t> keys(steps_.visible.begin(), steps_.visible.end());
    if (!options_.top || keys.size() <= static_cast<std::size_t>(*options_.top)) return keys;
    std::stable_sort(keys.begin(), keys.end(), [&](std::size_t a, std::size_t b) {
      return analysis::larger(steps_.keys[a].weight, steps_.keys[b].weight);
    });
    keys.resize(static_cast<std::size_t>(*options_.top));
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  double missing_weight() const {
    double sum = 0;
    for (const engine::ExplainedKey& key : steps_.keys) sum += key.weight;
    return 1 - sum;
  }

  // Part of the sum that the key's contribution makes up, along the sum's direction: these parts add up to 1.
  double share_of_sum(std::size_t key) const {
    const auto width = static_cast<std::ptrdiff_t>(steps_.output.size());
    const auto begin = steps_.contributions.begin() + static_cast<std::ptrdiff_t>(key) * width;
    const double along = std::inner_product(begin, begin + width, steps_.output.begin(), 0.0);
    const double whole = std::inner_product(steps_.output.begin(), steps_.output.end(), steps_.output.begin(), 0.0);
    return whole == 0 ? 0 : along / whole;
  }

  void add_key(std::size_t index) {
    const engine::ExplainedKey& key = steps_.keys[index];
    const std::string name = pad_left(labels_[index], key_width_, utf8());
    if (axis_[index].special) {
      painter_.soft(name);
    } else {
      painter_.text(name);
    }
    painter_.text(fmt::format(" {:>9.3f} {:>9.3f} ", key.dot, key.scaled));
    if (capped()) painter_.text(fmt::format("{:>9.3f} ", key.score));
    painter_.tinted(format::ease(key.weight), fmt::format("{:>8.4f}", key.weight)).text(" ");
    painter_.soft(share_bar(key.weight, bar_, painter_))
        .text(fmt::format(" {:>7.3f} {:>7.3f} {:>5.0f} %", key.value_norm, key.contribution_norm,
                          std::round(100 * share_of_sum(index)) + 0.0));  // + 0.0: no -0
    painter_.newline();
  }

  void add_rest() {
    const auto listed = listed_keys();
    if (listed.size() == steps_.visible.size()) return;
    double rest = 1 - missing_weight();
    for (const std::size_t key : listed) rest -= steps_.keys[key].weight;
    add_sum_line(fmt::format("{} more", steps_.visible.size() - listed.size()), rest < 0 ? 0.0 : rest);
  }

  void add_peaks() {
    const auto peak_line = [](std::string_view how, const engine::Peak& peak) {
      return fmt::format("{}: largest weight {:.4f}, entropy {:.3f} nats", how, peak.max_weight, peak.entropy);
    };
    say(peak_line(
        divides_by_root() ? fmt::format("divided by {}", root()) : fmt::format("times {:.4g}", steps_.with_scale.scale),
        steps_.with_scale));
    say(peak_line("not divided", steps_.without_scale));
  }

  void say(const std::string& sentence) { painter_.paragraph({{Ink::plain, sentence}}); }

  Painter& painter_;
  engine::Axis axis_;
  const engine::Explanation& steps_;
  const Options& options_;
  std::vector<std::string> labels_;
  int key_width_ = 4;
  int bar_ = kWidestBar;
};

}  // namespace

void run_explain(const Options& options) {
  require_top(options);
  const engine::Look look = look_at_text(options, std::nullopt, true);
  const engine::MapId map = chosen_map(look, options);
  const engine::Explanation steps =
      engine::explain(look, engine::find_token(look, options.token), map, !options.no_scale);
  const engine::ReportOptions report = {{map}, map, false, true};
  save_report(options, look, report, {&steps, 1});
  if (options.json) return write_output(engine::report_text(engine::build_report(look, report, {&steps, 1})));
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  ExplainView(painter, look, steps, options).add();
  add_knock_outs(painter, look.knock_outs());
  add_caveat(painter);
  write_output(painter.result());
}

}  // namespace sightline::cli
