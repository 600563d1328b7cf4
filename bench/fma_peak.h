#ifndef SIGHTLINE_BENCH_FMA_PEAK_H_
#define SIGHTLINE_BENCH_FMA_PEAK_H_

extern "C" {
/// The most fp32 operations a second (two a multiply-add and lane) that one core reaches with vectors of the SIMD
/// target in use and no memory: the best of slices of about 2 ms of process CPU time, over `seconds` of them.
double sightline_fma_peak(double seconds);

/// CPU time of this process.
double sightline_process_seconds(void);
}

#endif  // SIGHTLINE_BENCH_FMA_PEAK_H_
