#ifndef SIGHTLINE_CPU_FP_ENVIRONMENT_H_
#define SIGHTLINE_CPU_FP_ENVIRONMENT_H_

#include <cstdint>

namespace sightline::cpu {

/// For its lifetime this thread rounds to nearest, honours denormals and traps nothing; then the caller's state is
/// back. Results would otherwise depend on what the calling program set (FTZ is common in audio and game code).
class ScopedFpEnvironment {
 public:
  ScopedFpEnvironment();
  ~ScopedFpEnvironment();
  ScopedFpEnvironment(const ScopedFpEnvironment&) = delete;
  ScopedFpEnvironment& operator=(const ScopedFpEnvironment&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace sightline::cpu

#endif  // SIGHTLINE_CPU_FP_ENVIRONMENT_H_
