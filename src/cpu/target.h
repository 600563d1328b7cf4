#ifndef SIGHTLINE_CPU_TARGET_H_
#define SIGHTLINE_CPU_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

namespace sightline::cpu {

/// Makes sure that a SIMD target is chosen, by SIGHTLINE_TARGET where it is set; called at each entry point, a few ns
/// once done. Throws BadArgument when the name is unknown or this machine cannot run it.
void ensure_target();

/// "AVX3", "AVX2", "NEON" or "SCALAR".
std::string chosen_target();
/// Those compiled in that this machine can run, best first.
std::vector<std::string> available_targets();

/// Forces a target for the rest of the process, or until the next call ("" = the default choice again). Not to be
/// called while kernels run: it is there for tests and benchmarks. Throws as ensure_target().
void force_target(std::string_view name);

}  // namespace sightline::cpu

#endif  // SIGHTLINE_CPU_TARGET_H_
