#ifndef SIGHTLINE_CPU_CLOCK_H_
#define SIGHTLINE_CPU_CLOCK_H_

namespace sightline::cpu {

/// Seconds, from some moment on.
double wall_seconds();
/// Seconds that all threads of this process have taken.
double cpu_seconds();

}  // namespace sightline::cpu

#endif  // SIGHTLINE_CPU_CLOCK_H_
