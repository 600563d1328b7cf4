#ifndef SIGHTLINE_FORMAT_COLOUR_H_
#define SIGHTLINE_FORMAT_COLOUR_H_

#include <cstdint>
#include <string>

namespace sightline::format {

/// 8-bit sRGB.
struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Rgb&) const = default;
};

/// A colour in OKLab (Ottosson 2020), where equal distances look equal: lightness 0..1, a and b about -0.4..0.4.
struct OkLab {
  double lightness = 0, a = 0, b = 0;
};
OkLab to_oklab(Rgb colour);
/// The nearest 8-bit colour; channels outside sRGB are clipped.
Rgb to_rgb(const OkLab& colour);

enum class Theme : std::uint8_t { light, dark };

/// Colours of everything but weights. `gaze` is the accent, `line` a hairline, `soft` secondary text.
struct Palette {
  Rgb paper, ink, soft, line, gaze;
};
const Palette& palette(Theme theme);

/// Place of a weight on the scale, 0..1: weight^0.6, so that 0.05 stays visible beside 0.7. NaN and negative give 0.
double ease(double weight);
/// The same for one row of a long text, where a weight may be 1/100,000: logarithmic around an even look over `keys`
/// keys.
double ease_long(double weight, std::int64_t keys);

/// The scale of weights: one hue, lightness linear in t (0..1), from the paper (none) to the ink (all). Lightness alone
/// carries the value, so that it reads under every kind of colour blindness and in grey.
Rgb weight_colour(double t, Theme theme);

/// Black or white, whichever contrasts more: at least 4.5 : 1 on every colour.
Rgb ink_on(Rgb background);

/// "#0b6772"
std::string hex(Rgb colour);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_COLOUR_H_
