#ifndef SIGHTLINE_ANALYSIS_FIT_H_
#define SIGHTLINE_ANALYSIS_FIT_H_

#include <span>

namespace sightline::analysis {

/// The exponent b of y = a x^b, by least squares of the logarithms. NaN with fewer than two points, or a number that
/// has no logarithm.
double fitted_exponent(std::span<const double> x, std::span<const double> y);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_FIT_H_
