// Any bytes as a safetensors file: BadFile is the one exception allowed, and what is accepted can be read to its last
// byte.

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "sightline/error.h"
#include "src/format/safetensors.h"

namespace {

// Copied byte by byte, so that the sanitizer checks every one of them.
void read_all(const sightline::format::Tensor& tensor) {
  const std::vector<std::byte> copy(tensor.bytes.begin(), tensor.bytes.end());
  if (copy.size() != static_cast<std::size_t>(tensor.element_count()) * sightline::dtype_size(tensor.dtype))
    std::abort();
  try {
    const std::vector<float> values = sightline::format::to_f32(tensor);
    if (values.size() != static_cast<std::size_t>(tensor.element_count())) std::abort();
  } catch (const sightline::BadFile&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file =
        sightline::format::SafetensorsFile::parse(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
    for (const auto& item : file.tensors()) read_all(item.second);
  } catch (const sightline::BadFile&) {
  }
  return 0;
}
