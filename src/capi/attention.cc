#include "sightline/attention.h"

#include <string>

#include "sightline/backward.h"
#include "sightline/error.h"
#include "sightline/sightline.h"
#include "sightline/version.h"
#include "src/capi/arguments.h"
#include "src/capi/convert.h"
#include "src/capi/status.h"

namespace sightline::capi {
namespace {

void run_tile(const sightline_attention_args* passed, const sightline_tile_range* r, std::int64_t stage_code,
              float* out) {
  const Arguments args(passed);
  if (r == nullptr || out == nullptr) throw BadArgument(r == nullptr ? "range is null" : "out is null");
  const TileRange range{r->batch, r->head, r->row_begin, r->row_end, r->key_begin, r->key_end};
  const Observations& state = args.observations();
  tile(args.problem(), {state.row_max, state.row_sum}, range, stage(stage_code), out);
}

Gradients gradients(const sightline_gradients& g) {
  return {view<MutableTensorView>(g.q),
          view<MutableTensorView>(g.k),
          view<MutableTensorView>(g.v),
          view<MutableTensorView>(g.bias),
          g.sinks,
          g.alibi_slopes,
          g.relative_bias};
}

void run_backward(const sightline_attention_args* passed, const sightline_gradients* asked) {
  const Arguments args(passed);
  require(asked != nullptr, "gradients is null");
  const auto g = read_struct(asked, sizeof *asked, "sightline_gradients");
  const Observations& state = args.observations();
  const ForwardResult forward{args.out(), state.row_max, state.row_sum};
  attention_backward(args.problem(), forward, view<TensorView>(g.dout), gradients(g), {args.threads()});
}

}  // namespace
}  // namespace sightline::capi

int sightline_attention(const sightline_attention_args* args, char* message, size_t message_size) {
  return sightline::capi::guarded({message, message_size}, [&] {
    const sightline::capi::Arguments read(args);
    sightline::attention(read.problem(), read.out(), read.observations(), {read.threads()});
  });
}

int sightline_tile(const sightline_attention_args* args, const sightline_tile_range* range, int64_t stage, float* out,
                   char* message, size_t message_size) {
  return sightline::capi::guarded({message, message_size}, [&] { sightline::capi::run_tile(args, range, stage, out); });
}

int sightline_attention_backward(const sightline_attention_args* args, const sightline_gradients* gradients,
                                 char* message, size_t message_size) {
  return sightline::capi::guarded({message, message_size}, [&] { sightline::capi::run_backward(args, gradients); });
}

const char* sightline_version(void) { return SIGHTLINE_VERSION; }

int sightline_arithmetic_version(void) { return sightline::kArithmeticVersion; }

const char* sightline_simd_target(void) {
  try {
    static const std::string target = sightline::simd_target();
    return target.c_str();
  } catch (...) {
    return nullptr;
  }
}
