#include "src/format/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/tensor/blocks.h"
#include "src/tensor/dtype.h"
#include "src/tensor/half.h"

namespace sightline::format {
namespace {

static_assert(std::endian::native ==
              std::endian::little);  // files are little-endian and are used where they are mapped

constexpr std::size_t kLengthBytes = 8;                 // the header's length, before the header
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference library's cap
constexpr std::string_view kMetadataKey = "__metadata__";

using Metadata = std::map<std::string, std::string, std::less<>>;
using Tensors = std::map<std::string, Tensor, std::less<>>;

[[noreturn]] void fail(std::string_view file, const std::string& what) {
  throw BadFile(std::string(file) + ": " + what);
}

[[noreturn]] void fail(std::string_view file, std::string_view tensor, const std::string& what) {
  fail(file, "tensor " + quote(tensor) + " " + what);
}

// Nothing where the product does not fit 64 bits.
std::optional<std::uint64_t> size_in_bytes(std::span<const std::int64_t> shape, DType dtype) {
  std::uint64_t bytes = dtype_size(dtype);
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  }
  return bytes;
}

// The length is compared before anything is added to it: values near 2^64 would wrap around.
std::string_view header_of(std::span<const std::byte> bytes, std::string_view file) {
  if (bytes.size() < kLengthBytes) fail(file, "too short for a safetensors file");
  std::uint64_t length;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) fail(file, "a header of " + std::to_string(length) + " bytes: not a safetensors file");
  if (length > bytes.size() - kLengthBytes) {
    fail(file, "cut short: the header has " + std::to_string(length) + " bytes, of which the file holds " +
                   std::to_string(bytes.size() - kLengthBytes));
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data() + kLengthBytes);
  if (length == 0 || text[0] != '{') fail(file, "the header does not begin with {: not a safetensors file");
  return {text, length};
}

Metadata read_metadata(const JsonObject& object) {
  Metadata metadata;
  for (const auto& item : object.value().items()) metadata.emplace(item.key(), object.require_string(item.key()));
  return metadata;
}

std::int64_t read_size(const nlohmann::json& value, std::string_view file, std::string_view tensor, const char* what) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    fail(file, tensor, std::string("has a ") + what + " that is not a whole number from 0 to 2^63 - 1");
  }
  return value.get<std::int64_t>();
}

// `data` is all that follows the header.
Tensor read_tensor(std::string_view file, std::string_view name, const nlohmann::json& value,
                   std::span<const std::byte> data) {
  const JsonObject entry(value, file, std::string(name));
  const std::string& dtype_text = entry.require_string("dtype");
  const std::optional<DType> dtype = parse_dtype(dtype_text);
  if (!dtype) fail(file, name, "has the type " + quote(dtype_text) + ", which is not supported");

  Tensor tensor{*dtype, {}, {}};
  for (const auto& size : entry.require_array("shape")) tensor.shape.push_back(read_size(size, file, name, "size"));

  const nlohmann::json& offsets = entry.require_array("data_offsets");
  if (offsets.size() != 2) fail(file, name, "needs two data_offsets, not " + std::to_string(offsets.size()));
  const auto begin = static_cast<std::uint64_t>(read_size(offsets[0], file, name, "data offset"));
  const auto end = static_cast<std::uint64_t>(read_size(offsets[1], file, name, "data offset"));
  const std::string range = std::to_string(begin) + " to " + std::to_string(end);
  if (begin > end) fail(file, name, "has its data from byte " + range + ", which is backwards");
  if (size_in_bytes(tensor.shape, tensor.dtype) != end - begin) {
    fail(file, name, "has its data from byte " + range + ", which does not fit its shape and type");
  }
  if (end > data.size()) {
    fail(file, name,
         "has its data from byte " + range + ", but the file ends after " + std::to_string(data.size()) +
             " bytes of data: cut short, fetch it again");
  }
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

// In the order of their bytes tensors must follow one another without gap or overlap, and end with the file: what is
// hidden between them could not be seen by any reader.
void check_layout(std::string_view file, const Tensors& tensors, std::span<const std::byte> data) {
  std::vector<const Tensors::value_type*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.bytes.data(), a->second.bytes.size()) <
           std::pair(b->second.bytes.data(), b->second.bytes.size());
  });
  std::size_t expected = 0;
  for (const auto* item : order) {
    const auto begin = static_cast<std::size_t>(item->second.bytes.data() - data.data());
    if (begin != expected) {
      fail(file, item->first,
           "begins at byte " + std::to_string(begin) + " of the data, where " + std::to_string(expected) +
               " was due: tensors may not overlap or leave gaps");
    }
    expected += item->second.bytes.size();
  }
  if (expected != data.size()) {
    fail(file, "the tensors end at byte " + std::to_string(expected) + " of the data, the file at " +
                   std::to_string(data.size()));
  }
}

template <typename Source, typename Widen>
void widen(std::span<const std::byte> bytes, std::vector<float>& out, Widen widen_one) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Source value;
    std::memcpy(&value, bytes.data() + i * sizeof(Source), sizeof(Source));  // at any byte of the file
    out[i] = widen_one(value);
  }
}

}  // namespace

std::int64_t Tensor::element_count() const {
  const BlockLayout block = block_layout(dtype);
  const std::size_t unit = block.bytes > 0 ? block.bytes : dtype_size(dtype);
  return static_cast<std::int64_t>(bytes.size() / unit * block.width);
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(path);
  SafetensorsFile file = parse(mapping->bytes(), path.string());
  file.mapping_ = std::move(mapping);
  return file;
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::string_view name) {
  SafetensorsFile file;
  file.name_ = name;
  const std::string_view header = header_of(bytes, name);
  const nlohmann::json root = parse_json(header, file.name_ + ": header", {.max_bytes = kMaxHeaderBytes});
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header.size());
  for (const auto& item : root.items()) {
    if (item.key() == kMetadataKey) {
      file.metadata_ = read_metadata(JsonObject(item.value(), name, item.key()));
    } else {
      file.tensors_.emplace(item.key(), read_tensor(name, item.key(), item.value(), data));
    }
  }
  check_layout(name, file.tensors_, data);
  return file;
}

const Tensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const Tensor& SafetensorsFile::at(std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  fail(name_, name, "is missing");
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, Metadata metadata)
    : file_(path), metadata_(std::move(metadata)) {}

void SafetensorsWriter::declare(std::string_view name, DType dtype, std::span<const std::int64_t> shape) {
  const auto refuse = [&](const char* why) { throw BadArgument("tensor " + quote(name) + " " + why); };
  if (header_written_) refuse("is declared after the first write");
  if (name == kMetadataKey) refuse("has the name of the format's metadata");
  if (std::any_of(declared_.begin(), declared_.end(), [&](const Declared& other) { return other.name == name; })) {
    refuse("is declared twice");
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; }))
    refuse("has a negative size");
  const std::optional<std::uint64_t> size = size_in_bytes(shape, dtype);
  if (!size) refuse("is too large");
  declared_.push_back({std::string(name), dtype, {shape.begin(), shape.end()}, *size});
}

void SafetensorsWriter::write(std::string_view name, std::span<const std::byte> bytes) {
  if (!header_written_) write_header();
  skip_whole(name);
  if (next_ == declared_.size() || declared_[next_].name != name) {
    throw BadArgument("tensor " + quote(name) + " is written out of turn");
  }
  if (bytes.size() > declared_[next_].size - written_) {
    throw BadArgument("tensor " + quote(name) + " is given more bytes than were declared");
  }
  file_.write(bytes);
  written_ += bytes.size();
}

void SafetensorsWriter::finish() {
  if (!header_written_) write_header();
  skip_whole({});
  if (next_ < declared_.size()) throw BadArgument("tensor " + quote(declared_[next_].name) + " is not whole");
  file_.commit();
}

void SafetensorsWriter::skip_whole(std::string_view name) {
  while (next_ < declared_.size() && written_ == declared_[next_].size && declared_[next_].name != name) {
    ++next_;
    written_ = 0;
  }
}

void SafetensorsWriter::write_header() {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata_.empty()) header[std::string(kMetadataKey)] = metadata_;
  std::uint64_t offset = 0;
  for (const Declared& tensor : declared_) {
    header[tensor.name] = {
        {"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.size}}};
    offset += tensor.size;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeaderBytes) {
    throw BadArgument("names and metadata take " + std::to_string(text.size()) +
                      " bytes, more than a reader of safetensors accepts as header (" +
                      std::to_string(kMaxHeaderBytes) + ")");
  }
  const std::uint64_t length = text.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(text);
  header_written_ = true;
}

std::vector<float> to_f32(const Tensor& tensor, std::string_view name) {
  std::vector<float> values(static_cast<std::size_t>(tensor.element_count()));
  switch (tensor.dtype) {
    case DType::f32:
      widen<float>(tensor.bytes, values, [](float value) { return value; });
      break;
    case DType::f16:
      widen<std::uint16_t>(tensor.bytes, values, f16_to_f32);
      break;
    case DType::bf16:
      widen<std::uint16_t>(tensor.bytes, values, bf16_to_f32);
      break;
    case DType::f64:
      widen<double>(tensor.bytes, values, [](double value) { return static_cast<float>(value); });
      break;
    default:
      throw BadFile(std::string(name) + " of type " + dtype_name(tensor.dtype) +
                    " does not hold numbers that fp32 widens");
  }
  return values;
}

}  // namespace sightline::format
