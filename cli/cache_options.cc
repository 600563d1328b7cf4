#include "cli/cache_options.h"

#include <fmt/core.h>

#include <map>

namespace sightline::cli {
namespace {

// llama.cpp's names of types; of its blocks of 32 ours that keep as many bits: a scale for a row, not for 32 numbers.
DType cache_type(const std::string& name, const char* option) {
  static const std::map<std::string, DType> kTypes = {
      {"", DType::f32},        {"f32", DType::f32},       {"f16", DType::f16},  {"bf16", DType::bf16},
      {"q8_0", DType::i8_row}, {"i8_row", DType::i8_row}, {"q4_1", DType::q4_1}};
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) {
    throw UsageError(fmt::format("{} is {}: it can be f32, f16, bf16, q8_0 or q4_1", option, name));
  }
  return found->second;
}

}  // namespace

model::ContextOptions cache_options(const Options& options) {
  return {.keys = cache_type(options.key_type, "-ctk"), .values = cache_type(options.value_type, "-ctv")};
}

}  // namespace sightline::cli
