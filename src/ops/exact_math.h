#ifndef SIGHTLINE_OPS_EXACT_MATH_H_
#define SIGHTLINE_OPS_EXACT_MATH_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// exp and ln in fp64 as fixed sequences of operations that are each rounded once (no contraction, no library), so that
/// every machine gives the same bits.
namespace sightline::ops {

/// e^x for x <= 0, within 2 units in the last place; 0 below -700. Without a branch, so that loops over it vectorise.
inline double exact_exp(double x) {
  constexpr double kRound = 0x1.8p52, kLog2e = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  const double clamped = std::max(x, -700.0);
  const double shifted = clamped * kLog2e + kRound, n = shifted - kRound;
  const double r = (clamped - n * kLn2High) - n * kLn2Low;  // n * kLn2High is exact; |r| <= ln 2 / 2
  double sum = 1.0 / 6227020800;                            // Taylor: 0.347^14 / 14! < 2^-57
  for (const double term : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                            1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    sum = sum * r + term;
  }
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;  // n, in the low bits of `shifted`
  const double result = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent);
  return x < -700.0 ? 0.0 : result;
}

/// ln x for finite x > 0, to 1e-15 of the larger of 1 and |ln x|.
inline double exact_ln(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;  // ln m = 2 artanh s; |s| <= 0.172
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0x1.62e42fefa39efp-1;
}

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_EXACT_MATH_H_
