#include "src/cpu/target.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "hwy/highway.h"
#include "hwy/targets.h"
#include "sightline/error.h"
#include "src/cpu/dispatch.h"

namespace sightline::cpu {
namespace {

struct TargetName {
  std::string_view name;
  std::int64_t bit;
};

// First the names shown, then further spellings understood.
constexpr TargetName kNames[] = {
    {"AVX3", HWY_AVX3},     {"AVX2", HWY_AVX2},   {"NEON", HWY_NEON},
    {"SCALAR", HWY_SCALAR}, {"AVX512", HWY_AVX3}, {"AVX-512", HWY_AVX3},
};

std::once_flag once;
hwy::ChosenTarget in_use;
std::atomic<std::int64_t> allowed{0};  // the best of them is in use

// Asked once: what the program forbids Highway later is its own affair.
std::int64_t runnable() {
  static const std::int64_t targets = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS;
  return targets;
}

std::string name_of(std::int64_t bit) {
  for (const TargetName& target : kNames) {
    if (target.bit == bit) return std::string(target.name);
  }
  return hwy::TargetName(bit);
}

std::string join(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::int64_t parse(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const TargetName& target : kNames) {
    if (target.name == upper) {
      if ((runnable() & target.bit) != 0) return target.bit;
      throw BadArgument("SIMD target " + std::string(name) + " cannot run on this machine; it can run " +
                        join(available_targets()));
    }
  }
  throw BadArgument("unknown SIMD target '" + std::string(name) + "'; this machine can run " +
                    join(available_targets()));
}

void choose(std::string_view name) {
  const std::int64_t targets = name.empty() ? runnable() : parse(name);
  allowed.store(targets);
  in_use.Update(targets);
}

}  // namespace

void ensure_target() {
  std::call_once(once, [] {
    const char* wanted = std::getenv("SIGHTLINE_TARGET");
    choose(wanted == nullptr ? "" : wanted);
  });
}

const hwy::ChosenTarget& dispatch_target() {
  ensure_target();
  return in_use;
}

std::string chosen_target() {
  ensure_target();
  const std::int64_t chosen = allowed.load();
  return name_of(chosen & -chosen);
}

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (std::int64_t left = runnable(); left != 0; left &= left - 1) names.push_back(name_of(left & -left));
  return names;
}

void force_target(std::string_view name) {
  ensure_target();
  choose(name);
}

}  // namespace sightline::cpu
