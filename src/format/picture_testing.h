#ifndef SIGHTLINE_FORMAT_PICTURE_TESTING_H_
#define SIGHTLINE_FORMAT_PICTURE_TESTING_H_

// For tests alone: pictures as libpng's other half reads them back.

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "src/format/picture.h"

namespace sightline::format::testing {

struct Pixels {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // [height, width, 3]

  template <class Number>
  Rgb at(Number x, Number y) const {
    const auto column = std::llround(static_cast<double>(x)), row = std::llround(static_cast<double>(y));
    const auto i = static_cast<std::size_t>((row * width + column) * 3);
    return {rgb[i], rgb[i + 1], rgb[i + 2]};
  }
  std::size_t count(Rgb colour) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < rgb.size(); i += 3) found += Rgb{rgb[i], rgb[i + 1], rgb[i + 2]} == colour;
    return found;
  }
};

inline ByteSink into(std::string& file) {
  return [&file](std::span<const std::byte> bytes) {
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
}

inline Pixels decode(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&image, file.data(), file.size())) << image.message;
  image.format = PNG_FORMAT_RGB;
  Pixels pixels{image.width, image.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
  EXPECT_TRUE(png_image_finish_read(&image, nullptr, pixels.rgb.data(), 0, nullptr)) << image.message;
  return pixels;
}

inline Pixels drawn(const Picture& picture, Font& font) {
  std::string file;
  write_png(picture, font, into(file));
  return decode(file);
}

}  // namespace sightline::format::testing

#endif  // SIGHTLINE_FORMAT_PICTURE_TESTING_H_
