// Rows of every type as they lie in memory, without a widened copy: a row's columns in lanes for values, columns of
// several rows with rows in lanes for keys. The numbers are those that widen() gives.

#if defined(SIGHTLINE_ATTENTION_ROW_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_ROW_ELEMENTS_INL_H_
#undef SIGHTLINE_ATTENTION_ROW_ELEMENTS_INL_H_
#else
#define SIGHTLINE_ATTENTION_ROW_ELEMENTS_INL_H_
#endif

#include "src/attention/rows-inl.h"
#include "src/attention/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

HWY_INLINE const std::byte* bytes_of(const float* row) { return reinterpret_cast<const std::byte*>(row); }

using Units = hn::Vec<DU>;  // 32 bits of each of kTurned rows
HWY_INLINE Units bits_of(F vector) { return hn::BitCast(kU32, vector); }
HWY_INLINE F f16_in_low_half(Units units) {
  const auto low = hn::DemoteTo(DU16(), hn::BitCast(kI32, hn::And(units, hn::Set(kU32, 0xffff))));
  return hn::PromoteTo(kF32, hn::BitCast(DHalf(), low));
}

// Lines of memory that columns of kTurned rows fill, rounded up.
constexpr int lines_of(int columns, int bits) { return (kTurned * columns * bits + 511) / 512; }

// kKeys: rows of keys that are scored side by side. One vector's chain of multiply-adds is long enough for the shuffles
// of fp32 to hide behind; what is smaller has fewer of them, and needs two.
// kColumns: that turn() turns over at a time, ascending; Common: what it keeps of the same rows from call to call.
// kBits: of an element, with its share of what is common to several. kLines: of memory that turn() takes from its rows,
// on average, rounded up.
template <DType>
struct RowElements;

template <>
struct RowElements<DType::f32> {
  static constexpr int kKeys = 16, kColumns = kTurned, kBits = 32, kLines = lines_of(kColumns, kBits);
  struct Common {};

  // Vectors of a row from a column on, which is a multiple of all their columns or of half of those.
  template <int kVectors>
  static HWY_INLINE void values(const float* row, std::int64_t column, F (&to)[kVectors]) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) to[v] = load(row + column + v * kTurned);
  }
  // Columns [column, column + kColumns) of kTurned rows.
  static HWY_INLINE void turn(const float* const* rows, std::int64_t column, Common&, F (&to)[kColumns]) {
    transpose_rows(rows, column, to);
  }
};

// Two columns a unit. Half: the type's two ways to widen.
template <class Half>
struct HalfElements {
  static constexpr int kKeys = 32, kColumns = 16, kBits = 16, kLines = lines_of(kColumns, kBits);
  struct Common {};

  template <int kVectors>
  static HWY_INLINE void values(const float* row, std::int64_t column, F (&to)[kVectors]) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      to[v] = Half::widen(reinterpret_cast<const std::uint16_t*>(row) + column + v * kTurned);
    }
  }
  static HWY_INLINE void turn(const float* const* rows, std::int64_t column, Common&, F (&to)[kColumns]) {
    for (int c = 0; c < kColumns; c += 8) {
      F four[4];
      transpose_four(rows, 2 * (column + c), four);
      for (int i = 0; i < 4; ++i) {
        to[c + 2 * i] = Half::low(bits_of(four[i]));
        to[c + 2 * i + 1] = Half::high(bits_of(four[i]));
      }
    }
  }
};

struct Bf16Halves {
  static HWY_INLINE F widen(const std::uint16_t* from) { return widen_bf16(from); }
  static HWY_INLINE F low(Units units) { return hn::BitCast(kF32, hn::ShiftLeft<16>(units)); }
  static HWY_INLINE F high(Units units) { return hn::BitCast(kF32, hn::And(units, hn::Set(kU32, 0xffff0000u))); }
};
template <>
struct RowElements<DType::bf16> : HalfElements<Bf16Halves> {};

struct F16Halves {
  static HWY_INLINE F widen(const std::uint16_t* from) { return widen_f16(from); }
  static HWY_INLINE F low(Units units) { return f16_in_low_half(units); }
  static HWY_INLINE F high(Units units) { return f16_in_low_half(hn::ShiftRight<16>(units)); }
};
template <>
struct RowElements<DType::f16> : HalfElements<F16Halves> {};

// The unit at byte `at` of each of kTurned rows.
HWY_INLINE Units headers(const float* const* rows, std::int64_t at) {
  alignas(64) std::uint32_t units[kTurned];
  for (int i = 0; i < kTurned; ++i) units[i] = load_element<std::uint32_t>(bytes_of(rows[i]) + at);
  return hn::Load(kU32, units);
}

template <>
struct RowElements<DType::i8_row> {
  static constexpr int kKeys = 32, kColumns = 16, kBits = 9, kLines = lines_of(kColumns, kBits);
  struct Common {
    F scale;
    HWY_INLINE Common() : scale(hn::Zero(kF32)) {}  // the implicit one would not be compiled for the target
  };

  template <int kVectors>
  static HWY_INLINE void values(const float* row, std::int64_t column, F (&to)[kVectors]) {
    const auto* codes = reinterpret_cast<const std::int8_t*>(bytes_of(row) + sizeof(float)) + column;
    const F scale = splat(load_element<float>(bytes_of(row)));
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      to[v] = widen_i8(codes + v * kTurned, scale);
    }
  }
  static HWY_INLINE void turn(const float* const* rows, std::int64_t column, Common& common, F (&to)[kColumns]) {
    if (column == 0) common.scale = hn::BitCast(kF32, headers(rows, 0));
    const F scale = common.scale;
    F four[4];
    transpose_four(rows, static_cast<std::int64_t>(sizeof(float)) + column, four);
    for (int i = 0; i < 4; ++i) {
      const I unit = hn::BitCast(kI32, four[i]);
      to[4 * i] = hn::Mul(code<24>(unit), scale);
      to[4 * i + 1] = hn::Mul(code<16>(unit), scale);
      to[4 * i + 2] = hn::Mul(code<8>(unit), scale);
      to[4 * i + 3] = hn::Mul(code<0>(unit), scale);
    }
  }

 private:
  // The signed byte that kAbove bits stand above.
  template <int kAbove>
  static HWY_INLINE F code(I unit) {
    return hn::ConvertTo(kF32, hn::ShiftRight<24>(hn::ShiftLeft<kAbove>(unit)));
  }
};

template <>
struct RowElements<DType::q4_1> {
  static constexpr int kKeys = 32, kColumns = 16, kBits = 5, kLines = lines_of(kColumns, kBits);
  struct Common {  // of a block of 32 columns, which turn() takes in two
    F scale, minimum, codes[4];
    HWY_INLINE Common() : scale(hn::Zero(kF32)), minimum(scale) {}
  };

  template <int kVectors>
  static HWY_INLINE void values(const float* row, std::int64_t column, F (&to)[kVectors]) {
    constexpr bool kWholeBlocks = kVectors * kTurned % kQ4BlockWidth == 0;
    F scale = hn::Zero(kF32), minimum = scale;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t within = kWholeBlocks ? v * kTurned % kQ4BlockWidth : (column + v * kTurned) % kQ4BlockWidth;
      const std::byte* block = bytes_of(row) + (column + v * kTurned) / kQ4BlockWidth * kQ4BlockBytes;
      if (v == 0 || within == 0) {
        scale = splat_f16(block);
        minimum = splat_f16(block + 2);
      }
      const auto* codes = reinterpret_cast<const std::uint8_t*>(block + 4) + within % 16;
      const Units both = hn::PromoteTo(kU32, hn::LoadU(DU8(), codes));
      to[v] = widen_q4(within < 16 ? lower_codes(both) : hn::ShiftRight<4>(both), scale, minimum);
    }
  }
  static HWY_INLINE void turn(const float* const* rows, std::int64_t column, Common& common, F (&to)[kColumns]) {
    const bool upper = column % kQ4BlockWidth != 0;
    if (!upper) {
      const std::int64_t block = column / kQ4BlockWidth * kQ4BlockBytes;
      const Units header = headers(rows, block);
      common.scale = f16_in_low_half(header);
      common.minimum = f16_in_low_half(hn::ShiftRight<16>(header));
      transpose_four(rows, block + 4, common.codes);
    }
    const auto value = [&](Units code)
                           SIGHTLINE_LAMBDA { return widen_q4(lower_codes(code), common.scale, common.minimum); };
    for (int i = 0; i < 4; ++i) {
      const Units four = bits_of(common.codes[i]), codes = upper ? hn::ShiftRight<4>(four) : four;
      to[4 * i] = value(codes);
      to[4 * i + 1] = value(hn::ShiftRight<8>(codes));
      to[4 * i + 2] = value(hn::ShiftRight<16>(codes));
      to[4 * i + 3] = value(hn::ShiftRight<24>(codes));
    }
  }

 private:
  static HWY_INLINE F splat_f16(const std::byte* from) {
    return hn::PromoteTo(kF32, hn::BitCast(DHalf(), hn::Set(DU16(), load_element<std::uint16_t>(from))));
  }
};

// use(RowElements of the type).
template <class Use>
HWY_INLINE void with_elements(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::f16:
      return use(RowElements<DType::f16>());
    case DType::bf16:
      return use(RowElements<DType::bf16>());
    case DType::i8_row:
      return use(RowElements<DType::i8_row>());
    case DType::q4_1:
      return use(RowElements<DType::q4_1>());
    default:
      return use(RowElements<DType::f32>());
  }
}

// Whether rows of so many columns can be read so.
inline bool reads_as_it_lies(const RowSource& source, std::int64_t width) {
  return source.column_stride == 1 && width % (source.dtype == DType::f32 ? kTurned : 16) == 0;
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_ROW_ELEMENTS_INL_H_
