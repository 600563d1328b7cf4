// Attention on bf16 with Precision::fast, for bench/*.py; beside libsightline.so, not in it.
#include <cstdint>
#include <cstdio>
#include <exception>

#include "sightline/attention.h"

extern "C" {

/// q, k, v, out: dense bf16; sizes: B, Hq, Hkv, Nq, Nk, D, Dv; causality is aligned at the top left. Not 0: it failed,
/// and said why on stderr.
int sightline_fast_pass(const void* const* tensors, void* out, const std::int64_t* sizes, int causal, int threads) {
  using namespace sightline;
  const auto view = [](const void* data, std::array<std::int64_t, 4> shape) {
    return TensorView{data, DType::bf16, shape, dense_strides(shape)};
  };
  AttentionProblem problem;
  problem.q = view(tensors[0], {sizes[0], sizes[1], sizes[3], sizes[5]});
  problem.k = view(tensors[1], {sizes[0], sizes[2], sizes[4], sizes[5]});
  problem.v = view(tensors[2], {sizes[0], sizes[2], sizes[4], sizes[6]});
  problem.causal = causal != 0;
  problem.alignment = Alignment::top_left;
  const std::array<std::int64_t, 4> shape = {sizes[0], sizes[1], sizes[3], sizes[6]};
  AttentionOptions options;
  options.threads = threads;
  options.precision = Precision::fast;
  try {
    attention(problem, {out, DType::bf16, shape, dense_strides(shape)}, {}, options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // extern "C"
