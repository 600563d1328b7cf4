#ifndef SIGHTLINE_FORMAT_PNG_H_
#define SIGHTLINE_FORMAT_PNG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sightline::format {

/// Takes the bytes of a file in order. What it throws passes through the writer that calls it.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// An 8-bit RGB PNG, written row by row through libpng: memory does not grow with the height.
class PngWriter {
 public:
  /// Throws BadArgument for a picture that is empty or larger than `kMaxSide` on a side.
  PngWriter(ByteSink sink, std::int64_t width, std::int64_t height, const std::string& title = {});
  ~PngWriter();
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  /// One or more whole rows, 3 * width bytes each.
  void write_rows(std::span<const std::uint8_t> rgb);
  /// Ends the file; all rows must have been written.
  void finish();

  static constexpr std::int64_t kMaxSide = 1'000'000;  // libpng's own limit for a reader

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_PNG_H_
