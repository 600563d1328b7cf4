#include "src/format/gguf_types.h"

#include <array>

namespace sightline::format {
namespace {

// By number. Those without a name were given up before files carried them, or are layouts for one kind of machine that
// programs make when they load a model.
constexpr std::array<GgufTensorType, 42> kTensorTypes = {{
    {"F32", DType::f32},
    {"F16", DType::f16},
    {"Q4_0", DType::q4_0},
    {"Q4_1", DType::q4_1},
    {"Q4_2", std::nullopt},
    {"Q4_3", std::nullopt},
    {"Q5_0", DType::q5_0},
    {"Q5_1", DType::q5_1},
    {"Q8_0", DType::q8_0},
    {"Q8_1", std::nullopt},
    {"Q2_K", DType::q2_k},
    {"Q3_K", DType::q3_k},
    {"Q4_K", DType::q4_k},
    {"Q5_K", DType::q5_k},
    {"Q6_K", DType::q6_k},
    {"Q8_K", std::nullopt},
    {"IQ2_XXS", std::nullopt},
    {"IQ2_XS", std::nullopt},
    {"IQ3_XXS", std::nullopt},
    {"IQ1_S", std::nullopt},
    {"IQ4_NL", DType::iq4_nl},
    {"IQ3_S", std::nullopt},
    {"IQ2_S", std::nullopt},
    {"IQ4_XS", DType::iq4_xs},
    {"I8", DType::i8},
    {"I16", DType::i16},
    {"I32", DType::i32},
    {"I64", DType::i64},
    {"F64", DType::f64},
    {"IQ1_M", std::nullopt},
    {"BF16", DType::bf16},
    {"Q4_0_4_4", std::nullopt},
    {"Q4_0_4_8", std::nullopt},
    {"Q4_0_8_8", std::nullopt},
    {"TQ1_0", std::nullopt},
    {"TQ2_0", std::nullopt},
    {"IQ4_NL_4_4", std::nullopt},
    {"IQ4_NL_4_8", std::nullopt},
    {"IQ4_NL_8_8", std::nullopt},
    {"MXFP4", DType::mxfp4},
    {"NVFP4", std::nullopt},
    {"Q1_0", std::nullopt},
}};

struct ValueTypeInfo {
  const char* name;
  std::size_t size;
};
constexpr std::array<ValueTypeInfo, 13> kValueTypes = {{{"u8", 1},
                                                        {"i8", 1},
                                                        {"u16", 2},
                                                        {"i16", 2},
                                                        {"u32", 4},
                                                        {"i32", 4},
                                                        {"f32", 4},
                                                        {"a boolean", 1},
                                                        {"a string", 0},
                                                        {"an array", 0},
                                                        {"u64", 8},
                                                        {"i64", 8},
                                                        {"f64", 8}}};

}  // namespace

const GgufTensorType* find_tensor_type(std::uint32_t number) {
  return number < kTensorTypes.size() ? &kTensorTypes[number] : nullptr;
}

std::size_t value_size(GgufType type) { return kValueTypes[static_cast<std::size_t>(type)].size; }

const char* value_type_name(GgufType type) { return kValueTypes[static_cast<std::size_t>(type)].name; }

bool is_integer(GgufType type) {
  switch (type) {
    case GgufType::f32:
    case GgufType::f64:
    case GgufType::boolean:
    case GgufType::string:
    case GgufType::array:
      return false;
    default:
      return true;
  }
}

}  // namespace sightline::format
