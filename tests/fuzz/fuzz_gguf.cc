// Any bytes as a GGUF file: BadFile and UnsupportedModel are the exceptions allowed, what is accepted can be asked for
// every key through every getter, and its tensors can be read to their last bytes.

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "sightline/error.h"
#include "src/format/gguf.h"
#include "src/tensor/blocks.h"

namespace {

using sightline::format::GgufFile;
using sightline::format::GgufMetadata;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Getter>
void ask(Getter getter) {
  try {
    getter();
  } catch (const sightline::BadFile&) {
  }
}

void ask_for(const GgufMetadata& metadata, const std::string& key) {
  ask([&] { metadata.require_int(key, INT64_MIN); });
  ask([&] { metadata.find_int(key, 1, 5); });
  ask([&] { metadata.find_number(key); });
  ask([&] { metadata.find_bool(key); });
  ask([&] { metadata.find_ints(key); });
  ask([&] { metadata.find_floats(key); });
  // Copied byte by byte, so that the sanitizer checks every one of them.
  ask([&] { std::string(metadata.require_string(key)); });
  ask([&] {
    for (const std::string_view text : metadata.find_strings(key).value_or(std::vector<std::string_view>{}))
      std::vector<char>(text.begin(), text.end());
  });
}

void read_all(const sightline::format::Tensor& tensor) {
  const std::vector<std::byte> copy(tensor.bytes.begin(), tensor.bytes.end());
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= size;
  require(tensor.element_count() == elements && tensor.shape.size() <= 4);
  const std::int64_t width = tensor.shape.empty() ? 1 : tensor.shape.back();
  const auto rows = static_cast<std::size_t>(width > 0 ? elements / width : 0);
  require(copy.size() == rows * sightline::row_bytes(tensor.dtype, width));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const GgufFile file = GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
    ask_for(file.metadata(), "absent");
    for (const std::string& key : file.metadata().keys()) ask_for(file.metadata(), key);
    for (const auto& item : file.tensors()) read_all(item.second);
  } catch (const sightline::BadFile&) {
  } catch (const sightline::UnsupportedModel&) {
  }
  return 0;
}
