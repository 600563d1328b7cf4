#ifndef SIGHTLINE_CAPI_FUNCTIONS_H_
#define SIGHTLINE_CAPI_FUNCTIONS_H_

#include <exception>

#include "sightline/mask.h"
#include "sightline/sightline.h"

namespace sightline::capi {

/// A function of the caller's asked for the end of the call.
class Stopped : public std::exception {
 public:
  explicit Stopped(const char* what = "stopped by a score or mask function") : what_(what) {}
  const char* what() const noexcept override { return what_; }

 private:
  const char* const what_;  // a literal
};

inline sightline_score_tile in_c(const ScoreTile& tile) {
  return {tile.scores, tile.row_stride, tile.key_stride, tile.rows,         tile.keys,        tile.batch,
          tile.head,   tile.first_row,  tile.first_key,  tile.row_position, tile.key_position};
}

class ScoreOfC final : public ScoreFunction {
 public:
  explicit ScoreOfC(const sightline_score_function& function) : function_(function) {}
  void apply(const ScoreTile& tile) const override {
    const sightline_score_tile passed = in_c(tile);
    if (function_.apply(function_.user, &passed) != 0) throw Stopped();
  }

 private:
  sightline_score_function function_;
};

class MaskOfC final : public MaskFunction {
 public:
  explicit MaskOfC(const sightline_mask_function& function) : function_(function) {}
  Sees summary(const ScoreTile& tile) const override {
    if (function_.summary == nullptr) return Sees::part;
    const sightline_score_tile passed = in_c(tile);
    switch (function_.summary(function_.user, &passed)) {
      case SIGHTLINE_SEES_NOTHING:
        return Sees::nothing;
      case SIGHTLINE_SEES_PART:
        return Sees::part;
      case SIGHTLINE_SEES_ALL:
        return Sees::all;
      default:
        throw Stopped();
    }
  }
  void hide(const ScoreTile& tile) const override {
    const sightline_score_tile passed = in_c(tile);
    if (function_.hide(function_.user, &passed) != 0) throw Stopped();
  }

 private:
  sightline_mask_function function_;
};

}  // namespace sightline::capi

#endif  // SIGHTLINE_CAPI_FUNCTIONS_H_
