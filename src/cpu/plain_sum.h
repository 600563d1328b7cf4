#ifndef SIGHTLINE_CPU_PLAIN_SUM_H_
#define SIGHTLINE_CPU_PLAIN_SUM_H_

#include <cstddef>
#include <cstdint>

namespace sightline::cpu {

/// The sum of 32-bit words modulo 2^32, as fast as one core reads them: what reading memory takes at least. `bytes` is
/// a multiple of 4.
std::uint32_t plain_sum(const void* data, std::size_t bytes);

}  // namespace sightline::cpu

#endif  // SIGHTLINE_CPU_PLAIN_SUM_H_
