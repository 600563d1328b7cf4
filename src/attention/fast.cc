#include "src/attention/fast.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "sightline/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sightline {
namespace {

#if defined(__x86_64__)

constexpr bool bit(unsigned word, int number) { return (word >> number & 1) != 0; }

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned part) {
  Leaf found;
  __get_cpuid_count(leaf, part, &found.eax, &found.ebx, &found.ecx, &found.edx);
  return found;
}

// What the operating system saves of the registers; 0 where it does not say.
unsigned saved_registers() {
  if (!bit(cpuid(1, 0).ecx, 27)) return 0;  // OSXSAVE
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool detect_avx512_bf16() {
  constexpr unsigned kVectors = 0xe6;  // SSE, AVX, and the three parts of AVX-512
  if ((saved_registers() & kVectors) != kVectors) return false;
  const unsigned features = cpuid(7, 0).ebx;
  const bool avx512 = bit(features, 16) && bit(features, 17) && bit(features, 30) && bit(features, 31);  // F DQ BW VL
  return avx512 && cpuid(7, 0).eax >= 1 && bit(cpuid(7, 1).eax, 5);
}

// The kernel gives a process the room for tiles when it asks; from then on they are its, in all threads.
bool tiles_permitted() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestComponent = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestComponent, kTileData) == 0;
#else
  return false;
#endif
}

// Tiles, and what they are filled with.
bool detect_amx_bf16() {
  constexpr unsigned kTiles = 3u << 17;  // their configuration and data
  const unsigned features = cpuid(7, 0).edx;
  return detect_avx512_bf16() && (saved_registers() & kTiles) == kTiles && bit(features, 22) && bit(features, 24) &&
         tiles_permitted();
}

#else
bool detect_avx512_bf16() { return false; }
bool detect_amx_bf16() { return false; }
#endif

const FastProducts* chosen() {
  const char* variable = std::getenv("SIGHTLINE_FAST");
  const std::string wanted = variable == nullptr ? "" : variable;
  if (wanted != "" && wanted != "amx_bf16" && wanted != "avx512_bf16") {
    throw BadArgument("unknown instruction in SIGHTLINE_FAST: " + wanted + "; it may be amx_bf16 or avx512_bf16");
  }
  if (wanted != "avx512_bf16" && has_amx_bf16()) return amx_products();
  if (wanted != "amx_bf16" && has_avx512_bf16()) return avx512_products();
  if (wanted != "") throw BadArgument("SIGHTLINE_FAST: this machine has no " + wanted);
  return nullptr;
}

const FastProducts* of_machine() {
  static const FastProducts* const products = chosen();
  return products;
}

std::atomic<const FastProducts*> forced{nullptr};

const FastProducts* in_use() {
  const FastProducts* other = forced.load(std::memory_order_acquire);
  if (other == nullptr) return of_machine();
  return other->instruction == nullptr ? nullptr : other;
}

}  // namespace

bool has_avx512_bf16() {
  static const bool has = detect_avx512_bf16();
  return has;
}

bool has_amx_bf16() {
  static const bool has = detect_amx_bf16();
  return has;
}

const FastProducts* products_of(Precision precision) {
  if (precision == Precision::exact) return nullptr;
  const FastProducts* products = in_use();
  if (products == nullptr) {
    throw BadArgument("not supported: Precision::fast on this machine, which has neither avx512_bf16 nor amx_bf16");
  }
  return products;
}

void force_products(const FastProducts* products) { forced.store(products, std::memory_order_release); }

bool fast_available() { return in_use() != nullptr; }

std::string fast_instruction() { return fast_available() ? in_use()->instruction : ""; }

}  // namespace sightline
