#ifndef SIGHTLINE_ANALYSIS_ORDER_H_
#define SIGHTLINE_ANALYSIS_ORDER_H_

#include <cmath>

namespace sightline::analysis {

/// Whether `a` comes before `b` in an order from the largest down; what is not a number comes last.
inline bool larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  return a > b;
}

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_ORDER_H_
