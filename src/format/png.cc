#include "src/format/png.h"

#include <fmt/core.h>
#include <png.h>

#include <exception>
#include <utility>

#include "sightline/error.h"

namespace sightline::format {

// libpng reports errors by longjmp. Every call into it is made by one of the functions below that begin with setjmp and
// hold nothing with a destructor; an exception of the sink is kept until libpng has been left.
struct PngWriter::Impl {
  ByteSink sink;
  std::int64_t width = 0, height = 0, written = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::exception_ptr thrown;
  std::string failure;

  ~Impl() { png_destroy_write_struct(&png, &info); }

  static Impl& of(png_structp png) { return *static_cast<Impl*>(png_get_error_ptr(png)); }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    of(png).failure = message;
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_write(png_structp png, png_bytep data, png_size_t size) {
    if (!of(png).take({reinterpret_cast<const std::byte*>(data), size})) png_error(png, "sink");
  }
  static void on_flush(png_structp) {}

  bool take(std::span<const std::byte> bytes) {
    try {
      sink(bytes);
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }

  bool begin(png_textp title) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, this, on_write, on_flush);
    png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    if (title) png_set_text(png, info, title, 1);
    png_set_filter(png, 0, PNG_FILTER_NONE | PNG_FILTER_SUB | PNG_FILTER_UP);
    png_set_compression_level(png, 6);
    png_write_info(png, info);
    return true;
  }

  bool row(const std::uint8_t* rgb) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_write_row(png, rgb);
    return true;
  }

  bool end() {
    if (setjmp(png_jmpbuf(png))) return false;
    png_write_end(png, info);
    return true;
  }

  void check(bool ok) const {
    if (ok) return;
    if (thrown) std::rethrow_exception(thrown);
    throw BadArgument(fmt::format("the PNG picture could not be written: {}", failure));
  }
};

PngWriter::PngWriter(ByteSink sink, std::int64_t width, std::int64_t height, const std::string& title)
    : impl_(std::make_unique<Impl>()) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) {
    throw BadArgument(
        fmt::format("a picture of {} x {} pixels cannot be written as PNG (1 to {} a side)", width, height, kMaxSide));
  }
  impl_->sink = std::move(sink);
  impl_->width = width;
  impl_->height = height;
  impl_->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, impl_.get(), Impl::on_error, Impl::on_warning);
  if (impl_->png) impl_->info = png_create_info_struct(impl_->png);
  if (!impl_->info) throw OutOfMemory("no memory for writing a PNG picture");
  std::string key = "Title", text = title;
  png_text entry{};
  entry.compression = PNG_ITXT_COMPRESSION_NONE;  // iTXt: UTF-8
  entry.key = key.data();
  entry.text = text.data();
  entry.itxt_length = text.size();
  impl_->check(impl_->begin(title.empty() ? nullptr : &entry));
}

PngWriter::~PngWriter() = default;

void PngWriter::write_rows(std::span<const std::uint8_t> rgb) {
  const std::size_t stride = static_cast<std::size_t>(impl_->width) * 3;
  const std::size_t rows = rgb.size() / stride;
  if (rgb.size() % stride != 0 || static_cast<std::int64_t>(rows) > impl_->height - impl_->written) {
    throw BadArgument("the rows given do not fit the PNG picture");
  }
  for (std::size_t i = 0; i < rows; ++i) impl_->check(impl_->row(rgb.data() + i * stride));
  impl_->written += static_cast<std::int64_t>(rows);
}

void PngWriter::finish() {
  if (impl_->written != impl_->height) throw BadArgument("a PNG picture was ended before its last row");
  impl_->check(impl_->end());
}

}  // namespace sightline::format
