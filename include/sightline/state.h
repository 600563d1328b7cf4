#ifndef SIGHTLINE_STATE_H_
#define SIGHTLINE_STATE_H_

#include <cstdint>
#include <memory>

#include "sightline/attention.h"

namespace sightline {

/// The state of a problem's rows after a pass over some keys of their sequences: maxima, sums, the unnormalised output,
/// and what else streams. O(rows) memory. From it another pass resumes, or states of other keys merge into it.
class AttentionState {
 public:
  AttentionState();
  ~AttentionState();
  AttentionState(AttentionState&&) noexcept;
  AttentionState& operator=(AttentionState&&) noexcept;

  bool empty() const;  ///< nothing was saved

  struct Impl;
  Impl* impl() const { return impl_.get(); }
  void reset(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// The same queries are as many, of the same heads, and at the same positions: give query_position where the alignment
/// would let it follow the number of keys.
///
/// Resuming. A pass with options.save leaves the rows' state; a pass of the same queries with options.resume goes on
/// from it: its k and v hold the keys that follow, key_position is where the saved pass ended, a multiple of 64, and
/// the result is that of one pass over all keys, bit for bit. Indexes of top keys then count from the first pass's
/// first key. Key mass, overviews and chosen rows need the weights of all keys, and are refused with either; and so is
/// a state that another SIMD target or precision saved, or one without what is observed now.

/// left = left merged with right, states of the same queries over different keys. Exact to rounding; bit for bit that
/// of one pass where left ends at a multiple of 4096 positions, right begins there and holds no more than the keys up
/// to the next. Which of the two is left changes no bit, and indexes of top keys count from the first key of either. An
/// empty part (no key seen) is neutral. Throws BadArgument if the states are not of the same queries, and OutOfMemory;
/// left is then what it was.
void merge_states(AttentionState& left, const AttentionState& right);

/// What attention() would have written of the keys in the state. problem: of any of the passes (its keys are not read).
void finish_state(const AttentionProblem& problem, const AttentionState& state, const MutableTensorView& out,
                  const Observations& see = {});

/// Output and log-sum-exp of one part of the keys, f32: out [B, Hq, Nq, Dv], lse [B, Hq, Nq].
struct PartialOutput {
  TensorView out;
  const float* lse = nullptr;
};

/// Joins finished outputs of two passes over different keys (ring attention, cascades): out = (a e^lse_a + b e^lse_b) /
/// (e^lse_a + e^lse_b), lse = ln of the denominator. An empty part (out 0, lse -inf) is neutral. out may be that of a
/// or b.
void merge_outputs(const PartialOutput& a, const PartialOutput& b, const MutableTensorView& out, float* lse);

}  // namespace sightline

#endif  // SIGHTLINE_STATE_H_
