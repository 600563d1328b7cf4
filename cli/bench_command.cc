#include <fmt/core.h>
#include <unistd.h>

#include "cli/cache_options.h"
#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/interrupt.h"
#include "cli/painter.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/engine/bench_report.h"

namespace sightline::cli {
namespace {

using engine::Bench;
using engine::BenchCase;
using engine::BenchRun;

engine::BenchOptions bench_options(const Options& options, Progress& progress) {
  engine::BenchOptions bench;
  bench.prompt = options.bench.prompt;
  bench.generated = options.bench.generated;
  bench.depth = options.bench.depth;
  bench.repetitions = options.bench.repetitions;
  bench.watch = options.bench.watch;
  bench.cache = cache_options(options);
  bench.progress = &progress;
  return bench;
}

void add_head(Painter& painter, const engine::ModelFacts& model, const Bench& bench) {
  painter.accent(displayable(model.name, painter.terminal().utf8));
  painter.text(fmt::format(": {:.1f} M parameters, weights {}, of which a token reads {}",
                           static_cast<double>(model.parameters) / 1e6, engine::memory_text(model.weights.bytes),
                           engine::memory_text(bench.token_bytes)));
  painter.newline().text(fmt::format("{} thread{}, {}; a plain sum reads {:.1f} GB/s", bench.threads,
                                     bench.threads == 1 ? "" : "s", bench.target, bench.bandwidth / 1e9));
  painter.newline().newline();
}

// Four digits, or as many as stand before the point.
std::string rate_text(double rate) {
  return fmt::format("{:.{}f}", rate, rate < 10 ? 3 : rate < 100 ? 2 : rate < 1000 ? 1 : 0);
}

void add_cases(Painter& painter, const Bench& bench) {
  painter.soft(fmt::format("{:<28}{:>18}{:>19}{:>14}", "", "tokens a second", "a CPU second", "of what the"));
  painter.newline();
  painter.soft(fmt::format("{:<28}{:>9}{:>9}{:>10}{:>9}{:>14}", "", "best", "median", "best", "median", "sum allows"));
  painter.newline();
  for (const BenchCase& of : bench.cases) {
    painter.text(fmt::format("{:<28}{:>9}{:>9}{:>10}{:>9}", of.name + (of.watched ? ", watched" : ""),
                             rate_text(of.best_rate()), rate_text(of.median_rate()),
                             rate_text(of.best_rate(&BenchRun::cpu)), rate_text(of.median_rate(&BenchRun::cpu))));
    if (of.decoding) painter.text(fmt::format("{:>12.0f} %", 100 * bench.bandwidth_share(of)));
    painter.newline();
  }
}

void add_bench_view(Painter& painter, const engine::ModelFacts& model, const Bench& bench) {
  add_head(painter, model, bench);
  add_cases(painter, bench);
  if (!bench.complete) painter.note(stopped_note("runs"));
}

}  // namespace

void run_bench(const Options& options) {
  PassLine progress("measuring:");
  const engine::BenchOptions how = bench_options(options, progress);
  const engine::Session session = open_session(options);
  const WritingScope until_asked;  // a signal ends the runs, not the program: what was measured is shown
  const Bench bench = session.bench(how);
  progress.end();
  if (options.json) {
    write_output(engine::report_text(engine::bench_report(session.model(), bench, how)));
  } else if (!bench.cases.empty()) {
    Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
    add_bench_view(painter, session.model(), bench);
    write_output(painter.result());
  }
  check_interrupt();
}

}  // namespace sightline::cli
