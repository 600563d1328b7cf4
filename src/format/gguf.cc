#include "src/format/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <utility>

#include "sightline/error.h"
#include "src/format/gguf_types.h"
#include "src/format/json.h"
#include "src/tensor/blocks.h"
#include "src/tensor/dtype.h"
#include "src/tensor/element.h"

namespace sightline::format {

namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kLeastString = 8, kLeastPair = 13, kLeastRecord = 24;  // bytes that one takes in a file
constexpr std::uint64_t kMaxKey = 65535, kMaxAxes = 4;
constexpr std::int64_t kDefaultAlignment = 32, kLeastAlignment = 8, kMaxAlignment = 65536;

constexpr const char* kAlignment = "general.alignment";
constexpr const char* kArchitecture = "general.architecture";
constexpr const char* kPartNumber = "split.no";
constexpr const char* kPartCount = "split.count";
constexpr const char* kTensorCount = "split.tensors.count";

[[noreturn]] void fail(std::string_view file, const std::string& what) {
  throw BadFile(std::string(file) + ": " + what);
}

std::string tensor_text(std::string_view name) { return "tensor " + quote(name) + " "; }

// Reads on from where it stands; every length is compared with what is left before it is used.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  std::size_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  // `what` and `key` (of which it is a part) are for messages.
  std::span<const std::byte> take(std::uint64_t size, const char* what, std::string_view key = {}) {
    if (size > left()) {
      fail(file_, fmt::format("{} of {} bytes at byte {}, where only {} are left: cut short or damaged, fetch it again",
                              of_key(what, key), size, at_, left()));
    }
    const std::span<const std::byte> taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
  }

  template <class T>
  T number(const char* what) {
    return load_element<T>(take(sizeof(T), what).data());
  }

  std::string_view string(const char* what, std::string_view key = {}) {
    const auto size = number<std::uint64_t>("a length");
    const std::span<const std::byte> text = take(size, what, key);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  // Refuses more things than fit, each of which takes `least` bytes.
  void check_count(std::uint64_t count, std::uint64_t least, const char* what, std::string_view key = {}) const {
    if (count <= left() / least) return;
    fail(file_,
         fmt::format("{} {}, for which the {} bytes that are left do not suffice: cut short or damaged, fetch it "
                     "again",
                     count, of_key(what, key), left()));
  }

  std::span<const std::byte> since(std::size_t begin) const { return bytes_.subspan(begin, at_ - begin); }

 private:
  static std::string of_key(std::string_view what, std::string_view key) {
    return key.empty() ? std::string(what) : fmt::format("{} {}", what, quote(key));
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::size_t at_ = 0;
};

void check_version(std::uint32_t version, std::string_view file) {
  if (version == 2 || version == 3) return;
  if (version == 1) fail(file, "version 1 of GGUF, which programs no longer read: convert the model anew");
  const std::uint32_t turned = __builtin_bswap32(version);
  if (turned >= 1 && turned <= 3) {
    fail(file, "a big-endian GGUF file, which is not read: convert the model for little-endian machines");
  }
  fail(file, "version " + std::to_string(version) + " of GGUF, of which 2 and 3 are read");
}

// Nothing where the elements cannot be counted in 63 bits.
std::optional<std::uint64_t> element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(count);
}

// Bytes of a tensor whose rows are whole blocks; nothing where they do not fit 64 bits.
std::optional<std::uint64_t> size_in_bytes(DType dtype, std::uint64_t elements) {
  const BlockLayout block = block_layout(dtype);
  const std::uint64_t unit = block.bytes > 0 ? block.bytes : dtype_size(dtype);
  std::uint64_t bytes;
  if (__builtin_mul_overflow(elements / block.width, unit, &bytes)) return std::nullopt;
  return bytes;
}

DType read_dtype(std::uint32_t number, std::string_view file, std::string_view tensor) {
  const GgufTensorType* type = find_tensor_type(number);
  if (type == nullptr)
    fail(file,
         tensor_text(tensor) + "has a type of number " + std::to_string(number) + ", which the format does not know");
  if (type->dtype) return *type->dtype;
  throw UnsupportedModel(std::string(file) + ": " + tensor_text(tensor) + "has the type " + type->name +
                         ", which is not supported: take the model in another quantisation, as Q4_K_M or Q8_0");
}

}  // namespace

/// Turns the bytes of one file into metadata and tensors.
class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), cursor_(bytes, name) {
    file_.metadata_.name_ = name;
  }

  GgufFile read() {
    if (bytes_.size() < kMagic.size() || std::memcmp(bytes_.data(), kMagic.data(), kMagic.size()) != 0) {
      fail(name(), "does not begin with GGUF: not a GGUF file");
    }
    cursor_.take(kMagic.size(), "the magic");
    check_version(cursor_.number<std::uint32_t>("the version"), name());
    const auto tensors = cursor_.number<std::uint64_t>("a count");
    const auto pairs = cursor_.number<std::uint64_t>("a count");
    cursor_.check_count(pairs, kLeastPair, "pairs of metadata");
    for (std::uint64_t i = 0; i < pairs; ++i) read_pair();
    index_pairs();
    check_known_keys();
    cursor_.check_count(tensors, kLeastRecord, "tensors");
    for (std::uint64_t i = 0; i < tensors; ++i) read_record();
    place_tensors();
    return std::move(file_);
  }

 private:
  struct Placed {
    std::uint64_t offset;  // within the data
    std::uint64_t size;
    std::map<std::string, Tensor, std::less<>>::iterator item;
  };

  const std::string& name() const { return file_.metadata_.name_; }

  GgufType read_type(std::string_view key) {
    const auto number = cursor_.number<std::uint32_t>("a type");
    if (is_value_type(number)) return static_cast<GgufType>(number);
    fail(file_.metadata_.where(key), "a type of number " + std::to_string(number) + ", which the format does not know");
  }

  void read_pair() {
    const std::string_view key = cursor_.string("a key");
    if (key.size() > kMaxKey) fail(name(), "a key of " + std::to_string(key.size()) + " bytes");
    GgufValue value;
    value.type = read_type(key);
    if (value.type == GgufType::array) {
      value.is_array = true;
      value.type = read_type(key);
      if (value.type == GgufType::array) fail(file_.metadata_.where(key), "arrays of arrays are not read");
      const std::size_t size = value_size(value.type);
      value.count = cursor_.number<std::uint64_t>("a count");
      cursor_.check_count(value.count, size > 0 ? size : kLeastString, "elements of", key);
    }
    value.bytes = read_elements(key, value);
    file_.metadata_.entries_.push_back({key, value});
  }

  std::span<const std::byte> read_elements(std::string_view key, const GgufValue& value) {
    if (value.type != GgufType::string) return cursor_.take(value.count * value_size(value.type), "a value of", key);
    const std::size_t begin = cursor_.at();
    for (std::uint64_t i = 0; i < value.count; ++i) cursor_.string("a value of", key);
    return cursor_.since(begin);
  }

  void index_pairs() {
    auto& entries = file_.metadata_.entries_;
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    const auto twice =
        std::adjacent_find(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key == b.key; });
    if (twice != entries.end()) fail(name(), "duplicate key " + quote(twice->key));
  }

  // Those whose type the format lays down, whether or not anything asks for them later.
  void check_known_keys() {
    const GgufMetadata& metadata = file_.metadata_;
    metadata.find_string(kArchitecture);
    check_alignment();
    const GgufValue* tokens = metadata.find("tokenizer.ggml.tokens");
    check_array(tokens, "tokenizer.ggml.tokens", GgufType::string);
    check_array(metadata.find("tokenizer.ggml.merges"), "tokenizer.ggml.merges", GgufType::string);
    for (const auto& [key, type] :
         {std::pair("tokenizer.ggml.scores", GgufType::f32), std::pair("tokenizer.ggml.token_type", GgufType::i32)}) {
      const GgufValue* value = metadata.find(key);
      check_array(value, key, type);
      if (value == nullptr) continue;
      const std::uint64_t count = tokens == nullptr ? 0 : tokens->count;
      if (value->count != count) {
        fail(metadata.where(key),
             "has " + std::to_string(value->count) + " elements for " + std::to_string(count) + " tokens");
      }
    }
  }

  void check_array(const GgufValue* value, const char* key, GgufType type) {
    if (value == nullptr || (value->is_array && value->type == type)) return;
    const bool strings = type == GgufType::string;
    fail(file_.metadata_.where(key), std::string("must be an array of ") +
                                         (strings ? "strings" : value_type_name(type)) + ", not " +
                                         (value->is_array ? "an array of " : "") + value_type_name(value->type));
  }

  void check_alignment() {
    const GgufValue* value = file_.metadata_.find(kAlignment);
    if (value == nullptr) return;
    const auto alignment = file_.metadata_.require_int(kAlignment, kLeastAlignment, kMaxAlignment);
    if (value->type != GgufType::u32 || !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
      fail(file_.metadata_.where(kAlignment),
           "must be a power of two as u32, not " + std::to_string(alignment) + " as " + value_type_name(value->type));
    }
    alignment_ = static_cast<std::uint64_t>(alignment);
  }

  void read_record() {
    const std::string_view tensor = cursor_.string("a tensor's name");
    const auto axes = cursor_.number<std::uint32_t>("a count of dimensions");
    if (axes > kMaxAxes) fail(name(), tensor_text(tensor) + "has " + std::to_string(axes) + " dimensions");
    std::vector<std::int64_t> shape(axes);
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
      *size = cursor_.number<std::int64_t>("a dimension");
      if (*size < 0) fail(name(), tensor_text(tensor) + "has a dimension beyond 2^63");
    }
    const DType dtype = read_dtype(cursor_.number<std::uint32_t>("a type"), name(), tensor);
    const auto offset = cursor_.number<std::uint64_t>("an offset");
    const std::uint64_t size = size_of(tensor, dtype, shape);
    const auto [item, added] = file_.tensors_.try_emplace(std::string(tensor), Tensor{dtype, std::move(shape), {}});
    if (!added) fail(name(), "duplicate tensor " + quote(tensor));
    if (offset % alignment_ != 0) {
      fail(name(), tensor_text(tensor) + "begins at byte " + std::to_string(offset) +
                       " of the data, which is no multiple of " + std::to_string(alignment_));
    }
    placed_.push_back({offset, size, item});
  }

  std::uint64_t size_of(std::string_view tensor, DType dtype, const std::vector<std::int64_t>& shape) const {
    const std::uint64_t width = block_layout(dtype).width;
    const std::uint64_t row = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
    if (row % width != 0) {
      fail(name(), tensor_text(tensor) + "has rows of " + std::to_string(row) + " elements, which are no whole " +
                       dtype_name(dtype) + " blocks of " + std::to_string(width));
    }
    const std::optional<std::uint64_t> elements = element_count(shape);
    const std::optional<std::uint64_t> size = elements ? size_in_bytes(dtype, *elements) : std::nullopt;
    if (!size) fail(name(), tensor_text(tensor) + "is larger than any file");
    return *size;
  }

  // The data begin after the header, at the next multiple of the alignment. Nothing but padding up to a multiple
  // follows the last tensor, or bytes were added or taken on the way, as a copy in text mode does.
  void place_tensors() {
    const std::uint64_t begin = (cursor_.at() + alignment_ - 1) / alignment_ * alignment_;
    const std::span<const std::byte> data = bytes_.subspan(std::min<std::uint64_t>(begin, bytes_.size()));
    std::sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.offset, a.size) < std::pair(b.offset, b.size);
    });
    std::uint64_t end = 0;
    for (const Placed& placed : placed_) {
      const std::string& tensor = placed.item->first;
      if (placed.offset < end) fail(name(), tensor_text(tensor) + "overlaps another one");
      if (placed.offset > data.size() || placed.size > data.size() - placed.offset) {
        fail(name(), tensor_text(tensor) + "has " + std::to_string(placed.size) + " bytes from byte " +
                         std::to_string(placed.offset) + " of the data, of which the file holds " +
                         std::to_string(data.size()) + ": cut short, fetch it again");
      }
      placed.item->second.bytes = data.subspan(placed.offset, placed.size);
      end = placed.offset + placed.size;
    }
    check_end(data, end);
  }

  void check_end(std::span<const std::byte> data, std::uint64_t end) const {
    const std::span<const std::byte> rest = data.subspan(end);
    const bool whole = rest.empty() || rest.size() == (alignment_ - end % alignment_) % alignment_;
    if (whole && std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; })) return;
    fail(name(), "the tensors end at byte " + std::to_string(end) + " of the data, the file at " +
                     std::to_string(data.size()) + ": damaged, perhaps copied as text; fetch it again");
  }

  std::span<const std::byte> bytes_;
  GgufFile file_;
  Cursor cursor_;
  std::uint64_t alignment_ = kDefaultAlignment;
  std::vector<Placed> placed_;
};

namespace {

// How the name of part 0, 1, ... ends: -00001-of-00005.gguf.
std::string part_ending(std::int64_t part, std::int64_t parts) {
  return fmt::format("-{:05}-of-{:05}.gguf", part + 1, parts);
}

std::int64_t part_count(const GgufMetadata& metadata) { return metadata.find_int(kPartCount, 0, 65535).value_or(1); }

void check_first_part(const GgufMetadata& metadata, const std::filesystem::path& path, std::int64_t parts) {
  const std::int64_t part = metadata.require_int(kPartNumber, 0, 65534);
  const std::string ending = part_ending(part, parts);
  const std::string file = path.filename().string();
  if (!file.ends_with(ending)) {
    fail(path.string(), "part " + std::to_string(part + 1) + " of " + std::to_string(parts) +
                            " of a model, whose name must end with " + ending + " for the others to be found");
  }
  if (part == 0) return;
  const std::string first = file.substr(0, file.size() - ending.size()) + part_ending(0, parts);
  fail(path.string(), "part " + std::to_string(part + 1) + " of " + std::to_string(parts) +
                          " of a model: name the first part, " + quote(first));
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(path);
  GgufFile file = GgufReader(mapping->bytes(), path.string()).read();
  file.mappings_.push_back(std::move(mapping));
  if (part_count(file.metadata_) > 1) file.add_parts(path);
  return file;
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, std::string_view name) {
  GgufFile file = GgufReader(bytes, name).read();
  if (part_count(file.metadata_) > 1) fail(name, "one part of a model that is split into files");
  return file;
}

void GgufFile::add_parts(const std::filesystem::path& first) {
  const std::int64_t parts = part_count(metadata_);
  check_first_part(metadata_, first, parts);
  const std::string file = first.filename().string();
  const std::string stem = file.substr(0, file.size() - part_ending(0, parts).size());
  for (std::int64_t part = 1; part < parts; ++part) {
    const std::filesystem::path path = first.parent_path() / (stem + part_ending(part, parts));
    auto mapping = std::make_shared<const MappedFile>(path);
    GgufFile next = GgufReader(mapping->bytes(), path.string()).read();
    if (next.metadata_.require_int(kPartNumber, 0) != part || next.metadata_.require_int(kPartCount, 0) != parts) {
      fail(path.string(),
           "is not part " + std::to_string(part + 1) + " of " + std::to_string(parts) + ", as its name says");
    }
    for (auto& [name, tensor] : next.tensors_) {
      if (!tensors_.try_emplace(name, std::move(tensor)).second) {
        fail(path.string(), "duplicate tensor " + quote(name) + ", which an earlier part has");
      }
    }
    mappings_.push_back(std::move(mapping));
  }
  const auto expected = metadata_.require_int(kTensorCount, 0);
  if (static_cast<std::uint64_t>(expected) != tensors_.size()) {
    fail(first.string(), "its " + std::to_string(parts) + " parts hold " + std::to_string(tensors_.size()) +
                             " tensors, not " + std::to_string(expected));
  }
}

bool is_gguf(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::array<char, kMagic.size()> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == kMagic;
}

}  // namespace sightline::format
