#ifndef SIGHTLINE_FORMAT_NPY_H_
#define SIGHTLINE_FORMAT_NPY_H_

#include <cstdint>
#include <filesystem>
#include <span>

#include "src/format/file.h"

namespace sightline::format {

/// Writes a row-major fp32 array as .npy, version 1.0 of NumPy's format, in as many pieces as the caller likes; the
/// file appears with finish(). Throws BadFile where writing fails, BadArgument for a negative shape or more or fewer
/// elements than it holds.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, std::span<const std::int64_t> shape);
  void write(std::span<const float> values);
  void finish();

 private:
  AtomicFile file_;
  std::uint64_t missing_;  // elements
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_NPY_H_
