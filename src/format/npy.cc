#include "src/format/npy.h"

#include <bit>
#include <string>

#include "sightline/error.h"

namespace sightline::format {
namespace {

std::uint64_t element_count(std::span<const std::int64_t> shape) {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) {
      throw BadArgument("npy: a shape must be of sizes that are not negative and whose product fits 64 bits");
    }
  }
  return count;
}

// As Python prints a tuple: "()", "(3,)", "(2, 3)".
std::string tuple_of(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

// Magic, version 1.0, length of the rest, and a Python literal, padded so that the data begin at a multiple of 64
// bytes.
std::string header_of(std::span<const std::int64_t> shape) {
  static_assert(std::endian::native == std::endian::little);  // for '<f4'
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': " + tuple_of(shape) + ", }";
  const std::size_t unpadded = kPrefix + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  if (dictionary.size() > 0xFFFF) throw BadArgument("npy: a shape of " + std::to_string(shape.size()) + " axes");
  const std::size_t length = dictionary.size();
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) +
         dictionary;
}

}  // namespace

NpyWriter::NpyWriter(const std::filesystem::path& path, std::span<const std::int64_t> shape)
    : file_(path), missing_(element_count(shape)) {
  file_.write(header_of(shape));
}

void NpyWriter::write(std::span<const float> values) {
  if (values.size() > missing_) throw BadArgument("npy: more elements than the shape holds");
  file_.write(std::as_bytes(values));
  missing_ -= values.size();
}

void NpyWriter::finish() {
  if (missing_ > 0) throw BadArgument("npy: " + std::to_string(missing_) + " elements were not written");
  file_.commit();
}

}  // namespace sightline::format
