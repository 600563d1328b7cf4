#include "src/format/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "sightline/error.h"

namespace sightline::format {
namespace {

// zlib counts in unsigned int: longer inputs go in parts.
constexpr std::size_t kPart = std::numeric_limits<uInt>::max() / 2;

// A stream that is ended with its scope.
class Deflate {
 public:
  Deflate() {
    if (deflateInit(&stream_, Z_BEST_COMPRESSION) != Z_OK) throw OutOfMemory("out of memory: nothing can be deflated");
  }
  ~Deflate() { deflateEnd(&stream_); }
  Deflate(const Deflate&) = delete;
  Deflate& operator=(const Deflate&) = delete;

  // `flush` as deflate() takes it. Appends what comes out.
  void feed(std::span<const std::byte> bytes, int flush, std::vector<std::byte>& out) {
    // zlib reads through a pointer to what it does not change.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::byte room[std::size_t{1} << 16];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room);
      stream_.avail_out = sizeof(room);
      deflate(&stream_, flush);
      out.insert(out.end(), room, room + sizeof(room) - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_ = {};
};

}  // namespace

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  Deflate stream;
  std::vector<std::byte> out;
  do {
    const auto part = bytes.first(std::min(bytes.size(), kPart));
    bytes = bytes.subspan(part.size());
    stream.feed(part, bytes.empty() ? Z_FINISH : Z_NO_FLUSH, out);
  } while (!bytes.empty());
  return out;
}

}  // namespace sightline::format
