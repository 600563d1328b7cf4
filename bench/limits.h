#ifndef SIGHTLINE_BENCH_LIMITS_H_
#define SIGHTLINE_BENCH_LIMITS_H_

#include <stddef.h>
#include <stdint.h>

// What this machine can do at most, in vectors of the SIMD target in use.
extern "C" {
/// The most fp32 operations a second (two a multiply-add and lane) that one core reaches without memory: the best of
/// slices of about 2 ms of process CPU time, over `seconds` of them.
double sightline_fma_peak(double seconds);

/// The same of `threads` threads together, in wall time from the first one's start to the last one's end.
double sightline_fma_peak_of_threads(double seconds, int threads);

/// The sum of 32-bit words, as fast as one core reads them. `bytes` is a multiple of 4.
uint32_t sightline_plain_sum(const void* data, size_t bytes);

/// CPU time of this process.
double sightline_process_seconds(void);
}

#endif  // SIGHTLINE_BENCH_LIMITS_H_
