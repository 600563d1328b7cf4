#include "src/analysis/layer_measure.h"

#include <fmt/format.h>

#include "sightline/error.h"
#include "src/analysis/study_progress.h"

namespace sightline::analysis {
namespace {

constexpr double kPassShare = 0.2;  // of a layer's time that its own pass takes, about

class LayerObserver : public model::AttentionObserver {
 public:
  LayerObserver(const LayerMeasure& measure, StudyProgress& progress) : measure_(measure), progress_(progress) {}

  Observations request(const model::LayerAttention&) override {
    progress_.begin(kPassShare);
    return {};
  }
  void done(const model::LayerAttention& call) override {
    progress_.begin(1 - kPassShare);
    measure_(call.layer, call.problem, progress_.hook());
  }

 private:
  const LayerMeasure& measure_;
  StudyProgress& progress_;
};

}  // namespace

void measure_layers(const StudyInput& input, const LayerMeasure& measure, Study& study) {
  StudyProgress progress(input.options.progress, static_cast<double>(input.transformer->config().layers));
  LayerObserver observer(measure, progress);
  const model::TokenSequence text{input.ids, input.type_ids};
  try {
    input.transformer->forward({&text, 1},
                               {.threads = input.options.threads, .observer = &observer, .progress = progress.hook()});
  } catch (const Cancelled&) {
    study.complete = false;
  }
}

std::string head_label(std::int64_t layer, std::int64_t head) { return fmt::format("L{}H{}", layer + 1, head + 1); }

}  // namespace sightline::analysis
