#ifndef SIGHTLINE_OPS_RANDOM_H_
#define SIGHTLINE_OPS_RANDOM_H_

#include <array>
#include <cstdint>

namespace sightline::ops {

/// Random numbers that a seed decides, the same on every machine: xoshiro256** (Blackman & Vigna 2018), its state
/// filled by splitmix64 (Steele, Lea & Flood 2014), as its authors advise. The standard library's engines would do, but
/// not its distributions: those differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  explicit Random(const std::array<std::uint64_t, 4>& state) : state_(state) {}  // not all 0

  std::uint64_t bits();
  /// Evenly from [0, 1): the upper 53 bits of bits(), times 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::array<std::uint64_t, 4> state_;
};

/// The next number of splitmix64, whose state is one number.
std::uint64_t splitmix(std::uint64_t& state);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_RANDOM_H_
