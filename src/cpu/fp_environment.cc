#include "src/cpu/fp_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "no floating-point control register known for this architecture"
#endif

namespace sightline::cpu {
namespace {

#if defined(__x86_64__)
// MXCSR after reset: all exceptions masked, round to nearest, FTZ and DAZ off.
constexpr std::uint64_t kDefaultState = 0x1F80;
std::uint64_t read_state() { return _mm_getcsr(); }
void write_state(std::uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#else
// FPCR: round to nearest, FZ off, no traps.
constexpr std::uint64_t kDefaultState = 0;
std::uint64_t read_state() {
  std::uint64_t state;
  asm volatile("mrs %0, fpcr" : "=r"(state));
  return state;
}
void write_state(std::uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#endif

}  // namespace

ScopedFpEnvironment::ScopedFpEnvironment() : saved_(read_state()) { write_state(kDefaultState); }
ScopedFpEnvironment::~ScopedFpEnvironment() { write_state(saved_); }

}  // namespace sightline::cpu
