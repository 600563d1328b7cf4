#ifndef SIGHTLINE_FORMAT_SAFETENSORS_H_
#define SIGHTLINE_FORMAT_SAFETENSORS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/tensor.h"
#include "src/format/file.h"

namespace sightline::format {

/// One tensor of a file: its bytes stay where they are mapped (little-endian, row-major, any alignment).
struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::int64_t element_count() const;
};

/// A safetensors file (https://github.com/huggingface/safetensors, "Format"), mapped read-only and checked whole when
/// it is opened: header length within the file and 100 MB, a JSON object without duplicate names or fields, known
/// dtypes, offsets that are in order, without gaps or overlap, equal to shape x dtype, and end with the file. Throws
/// BadFile, one line naming the file.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);
  /// The same checks on bytes in memory (fuzzing, tests); `bytes` must outlive the object. `name` is used in messages.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string_view name);

  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  /// Null where there is no such tensor.
  const Tensor* find(std::string_view name) const;
  /// Throws BadFile naming the tensor that is missing.
  const Tensor& at(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::shared_ptr<const void> mapping_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

/// Writes a safetensors file tensor by tensor, holding none of them: declare all, then write their bytes in the order
/// of declaration, in pieces of any size; the file appears with finish(). The data begin at a multiple of 8 bytes.
/// Throws BadFile where writing fails, BadArgument for names used twice, negative shapes, a header that no reader
/// takes, and bytes that do not fit what was declared.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(const std::filesystem::path& path,
                             std::map<std::string, std::string, std::less<>> metadata = {});
  /// All declarations come before the first write.
  void declare(std::string_view name, DType dtype, std::span<const std::int64_t> shape);
  /// The next bytes of tensor `name`, little-endian, row-major. A tensor begins once those declared before it are
  /// whole.
  void write(std::string_view name, std::span<const std::byte> bytes);
  void finish();

 private:
  struct Declared {
    std::string name;
    DType dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t size;  // bytes
  };
  void write_header();
  void skip_whole(std::string_view name);  // moves on past whole tensors, as far as `name`

  AtomicFile file_;
  std::map<std::string, std::string, std::less<>> metadata_;
  std::vector<Declared> declared_;
  bool header_written_ = false;
  std::size_t next_ = 0;       // index of the tensor being written
  std::uint64_t written_ = 0;  // bytes of it
};

/// All elements widened to fp32 (F32, F16, BF16, F64 rounded), exact for the half formats. Throws BadFile,
/// its message beginning with `name`, for other dtypes.
std::vector<float> to_f32(const Tensor& tensor, std::string_view name = "a tensor");

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_SAFETENSORS_H_
