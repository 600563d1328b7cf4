#include "src/format/font.h"

#include <fmt/core.h>
#include <ft2build.h>
#include <unicode/ubidi.h>
#include <unicode/ushape.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>
#include FT_FREETYPE_H

#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include "sightline/error.h"

namespace sightline::format {
namespace {

struct FaceCloser {
  void operator()(FT_Face face) const { FT_Done_Face(face); }
};
struct LibraryCloser {
  void operator()(FT_Library library) const { FT_Done_FreeType(library); }
};
using Face = std::unique_ptr<std::remove_pointer_t<FT_Face>, FaceCloser>;
using Library = std::unique_ptr<std::remove_pointer_t<FT_Library>, LibraryCloser>;

constexpr int kFractions = 4;  // glyphs stand at quarters of a pixel: finer steps cannot be seen

// A rendered glyph, its top left relative to the whole pixel of the pen.
struct Bitmap {
  int left = 0, top = 0, rows = 0, cols = 0;
  std::vector<std::uint8_t> coverage;
};

// face, glyph, size in 1/64 pixel, angle in 1/64 degree, fraction of x and y in quarters
using BitmapKey = std::tuple<int, FT_UInt, long, long, int, int>;

long to_26_6(double x) { return std::lround(x * 64); }

FT_Matrix rotation(double degrees) {
  const double radians = degrees * std::numbers::pi / 180;
  const auto cosine = static_cast<FT_Fixed>(std::lround(std::cos(radians) * 65536));
  const auto sine = static_cast<FT_Fixed>(std::lround(std::sin(radians) * 65536));
  return {cosine, -sine, sine, cosine};
}

// UTF-16 of valid or broken UTF-8 (U+FFFD for what is broken).
std::u16string to_utf16(std::string_view text) {
  std::u16string wide(text.size(), u'\0');  // never more units than bytes
  std::int32_t length = 0, replaced = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8WithSub(wide.data(), static_cast<std::int32_t>(wide.size()), &length, text.data(),
                       static_cast<std::int32_t>(text.size()), 0xFFFD, &replaced, &status);
  wide.resize(U_SUCCESS(status) ? static_cast<std::size_t>(length) : 0);
  return wide;
}

struct BidiCloser {
  void operator()(UBiDi* bidi) const { ubidi_close(bidi); }
};

// Letters in the order in which they stand from left to right, Arabic ones in their joined forms.
std::u16string visual_order(std::u16string text) {
  const auto size = static_cast<std::int32_t>(text.size());
  if (ubidi_getBaseDirection(text.data(), size) != UBIDI_RTL) return text;
  UErrorCode status = U_ZERO_ERROR;
  std::u16string shaped(text.size(), u'\0'), ordered(text.size(), u'\0');
  const std::int32_t length = u_shapeArabic(text.data(), size, shaped.data(), size,
                                            U_SHAPE_LETTERS_SHAPE | U_SHAPE_LENGTH_GROW_SHRINK, &status);
  const std::unique_ptr<UBiDi, BidiCloser> bidi(ubidi_open());
  if (!bidi) return text;
  ubidi_setPara(bidi.get(), shaped.data(), length, UBIDI_DEFAULT_RTL, nullptr, &status);
  const std::int32_t written =
      ubidi_writeReordered(bidi.get(), ordered.data(), size, UBIDI_DO_MIRRORING | UBIDI_KEEP_BASE_COMBINING, &status);
  if (U_FAILURE(status)) return text;
  ordered.resize(static_cast<std::size_t>(written));
  return ordered;
}

}  // namespace

struct Font::Impl {
  struct Glyph {
    int face = 0;
    FT_UInt index = 0;
  };

  std::filesystem::path root;
  Library library;
  std::vector<Face> faces;  // regular, bold, then the fallbacks that could be opened
  bool fallbacks_opened = false;
  std::map<BitmapKey, Bitmap> bitmaps;

  Face open(const char* below) const {
    FT_Face face = nullptr;
    if (FT_New_Face(library.get(), (root / below).c_str(), 0, &face) != 0) return nullptr;
    return Face(face);
  }

  void open_fallbacks() {
    fallbacks_opened = true;
    for (const char* below : {"opentype/unifont/unifont.otf", "opentype/unifont/unifont_upper.otf"}) {
      if (Face face = open(below)) faces.push_back(std::move(face));
    }
  }

  // Unifont is large and seldom needed, so it is opened at the first glyph that DejaVu lacks.
  Glyph find(char32_t character, bool bold) {
    const int first = bold ? 1 : 0;
    if (const FT_UInt index = FT_Get_Char_Index(faces[first].get(), character)) return {first, index};
    if (!fallbacks_opened) open_fallbacks();
    for (std::size_t i = 2; i < faces.size(); ++i) {
      if (const FT_UInt index = FT_Get_Char_Index(faces[i].get(), character)) return {static_cast<int>(i), index};
    }
    return {first, 0};  // glyph 0 is the empty box
  }

  FT_Face sized(int face, double size) {
    FT_Set_Char_Size(faces[face].get(), 0, to_26_6(size), 72, 72);
    return faces[face].get();
  }

  // Pixels, not rounded by hinting: lines then measure the same at every scale.
  double advance(const Glyph& glyph, double size) {
    FT_Face face = sized(glyph.face, size);
    FT_Set_Transform(face, nullptr, nullptr);
    if (FT_Load_Glyph(face, glyph.index, FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP) != 0) return 0;
    return static_cast<double>(face->glyph->linearHoriAdvance) / 65536;
  }

  Bitmap render(const Glyph& glyph, const TextStyle& style, int fraction_x, int fraction_y) {
    FT_Face face = sized(glyph.face, style.size);
    FT_Matrix matrix = rotation(style.angle);
    FT_Vector shift = {fraction_x * 64 / kFractions, -fraction_y * 64 / kFractions};
    FT_Set_Transform(face, &matrix, &shift);
    Bitmap bitmap;
    if (FT_Load_Glyph(face, glyph.index, FT_LOAD_RENDER | FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP) != 0) return bitmap;
    const FT_GlyphSlot slot = face->glyph;
    if (slot->bitmap.pixel_mode != FT_PIXEL_MODE_GRAY) return bitmap;
    bitmap.left = slot->bitmap_left;
    bitmap.top = -slot->bitmap_top;
    bitmap.rows = static_cast<int>(slot->bitmap.rows);
    bitmap.cols = static_cast<int>(slot->bitmap.width);
    for (int row = 0; row < bitmap.rows; ++row) {
      const std::uint8_t* from = slot->bitmap.buffer + static_cast<std::ptrdiff_t>(row) * slot->bitmap.pitch;
      bitmap.coverage.insert(bitmap.coverage.end(), from, from + bitmap.cols);
    }
    return bitmap;
  }

  const Bitmap& bitmap(const Glyph& glyph, const TextStyle& style, int fraction_x, int fraction_y) {
    const BitmapKey key{glyph.face, glyph.index, to_26_6(style.size), to_26_6(style.angle), fraction_x, fraction_y};
    auto found = bitmaps.find(key);
    if (found == bitmaps.end()) found = bitmaps.emplace(key, render(glyph, style, fraction_x, fraction_y)).first;
    return found->second;
  }

  // Calls visit(glyph) for each character, from left to right.
  template <typename Visit>
  void each_glyph(std::string_view text, bool bold, Visit visit) {
    const std::u16string line = visual_order(to_utf16(text));
    for (std::size_t i = 0; i < line.size();) {
      char32_t character = 0;
      U16_NEXT(line.data(), i, line.size(), character);
      visit(find(character, bold));
    }
  }
};

Font::Font(const std::filesystem::path& root) : impl_(std::make_unique<Impl>()) {
  impl_->root = root;
  FT_Library library = nullptr;
  if (FT_Init_FreeType(&library) != 0) throw OutOfMemory("FreeType could not be started");
  impl_->library.reset(library);
  for (const char* below : {"truetype/dejavu/DejaVuSans.ttf", "truetype/dejavu/DejaVuSans-Bold.ttf"}) {
    Face face = impl_->open(below);
    if (!face) {
      throw BadFile(
          fmt::format("{}: the font is missing; install the package fonts-dejavu-core", (root / below).string()));
    }
    impl_->faces.push_back(std::move(face));
  }
}

Font::~Font() = default;

double Font::width(std::string_view text, const TextStyle& style) {
  double sum = 0;
  impl_->each_glyph(text, style.bold, [&](const Impl::Glyph& glyph) { sum += impl_->advance(glyph, style.size); });
  return sum;
}

void Font::draw(std::string_view text, const TextStyle& style, double x, double y, const GlyphSink& sink) {
  const double radians = style.angle * std::numbers::pi / 180, along_x = std::cos(radians),
               along_y = -std::sin(radians);
  impl_->each_glyph(text, style.bold, [&](const Impl::Glyph& glyph) {
    const auto quarter_x = static_cast<long>(std::floor(x * kFractions)),
               quarter_y = static_cast<long>(std::floor(y * kFractions));
    const long pixel_x = quarter_x >> 2, pixel_y = quarter_y >> 2;
    const Bitmap& bitmap =
        impl_->bitmap(glyph, style, static_cast<int>(quarter_x & 3), static_cast<int>(quarter_y & 3));
    sink({static_cast<int>(pixel_x) + bitmap.left, static_cast<int>(pixel_y) + bitmap.top, bitmap.rows, bitmap.cols,
          bitmap.cols, bitmap.coverage.data()});
    const double advance = impl_->advance(glyph, style.size);
    x += advance * along_x;
    y += advance * along_y;
  });
}

}  // namespace sightline::format
