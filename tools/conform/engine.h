#ifndef SIGHTLINE_TOOLS_CONFORM_ENGINE_H_
#define SIGHTLINE_TOOLS_CONFORM_ENGINE_H_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "sightline/attention.h"
#include "tools/conform/arrays.h"
#include "tools/conform/backward.h"

namespace sightline::conform {

/// What one attention call gives, whichever engine computed it.
struct AttentionValues {
  Array out;                                       // [B, Hq, Nq, Dv]
  Array lse, row_max, entropy;                     // [B, Hq, Nq]
  Array column_mass;                               // [B, Hq, Nk]
  Array topk_weight;                               // [B, Hq, Nq, top_k]
  std::vector<std::int64_t> topk_index;            // as topk_weight
  Array weights;                                   // [B, Hq, Nq, Nk], by tiles
  Array row_weights;                               // the same through chosen rows, all of them
  Array sink_weight = {}, entropy_with_sink = {};  // [B, Hq, Nq]; empty where there are no sinks
};

/// How to call an engine.
struct AttentionCall {
  int top_k = 4;
  int threads = 2;
  std::array<std::int64_t, 4> out_strides{};  // all 0: dense
};

/// An implementation of attention that cases are run on.
struct Engine {
  std::string name;
  std::function<AttentionValues(const AttentionProblem&, const AttentionCall&)> run;
  std::function<Array(const AttentionProblem&, Stage)> stage;  // [B, Hq, Nq, Nk]; weights are in run()
  bool validates = true;                                       // refuses shapes that do not fit
  std::function<GradientValues(const AttentionProblem&, const TensorView& dout)> gradients;
};

/// sightline::attention() on each SIMD target that runs here; on the one of SIGHTLINE_TARGET alone where that is set.
std::vector<Engine> kernel_engines();
/// The plain fp64 loops.
Engine reference_engine();

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_ENGINE_H_
