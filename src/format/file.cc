#include "src/format/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "sightline/error.h"

namespace sightline::format {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, int error) {
  throw BadFile(path.string() + ": " + what + ": " + std::generic_category().message(error));
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (value_ < 0) fail(path, "cannot be opened", errno);
  }
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

// Opens what is a regular file; a pipe must not keep the open waiting.
class RegularFile : public Descriptor {
 public:
  explicit RegularFile(const std::filesystem::path& path) : Descriptor(path, O_RDONLY | O_NONBLOCK) {
    struct stat status;
    if (::fstat(get(), &status) != 0) fail(path, "cannot be read", errno);
    if (S_ISDIR(status.st_mode)) fail(path, "cannot be read", EISDIR);
    if (!S_ISREG(status.st_mode)) throw BadFile(path.string() + ": not a regular file");
    size_ = static_cast<std::size_t>(status.st_size);
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

// At most `size` bytes; 0 at the end of the file.
std::size_t read_some(int descriptor, char* data, std::size_t size, const std::filesystem::path& path) {
  for (;;) {
    const ssize_t count = ::read(descriptor, data, size);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail(path, "cannot be read", errno);
  }
}

std::string read_all(const Descriptor& file, const std::filesystem::path& path, std::size_t max_bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string text;
  std::size_t size = 0;
  for (;;) {
    text.resize(size + kPiece);
    const std::size_t count = read_some(file.get(), text.data() + size, kPiece, path);
    size += count;
    if (size > max_bytes) {
      throw BadFile(path.string() + ": longer than the " + std::to_string(max_bytes) + " bytes that it may have");
    }
    if (count == 0) break;
  }
  text.resize(size);
  return text;
}

// A name in the target's directory (renaming works within a file system only) that no other writer of this machine
// uses, and that is short whatever the target's name is.
std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() / (".sightline-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp");
}

// A left-over of an earlier process with the same id is passed over.
int create_beside(const std::filesystem::path& path, std::filesystem::path& temporary) {
  for (;;) {
    temporary = temporary_beside(path);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

// Where `path` leads, be it there or not: std::filesystem::canonical() needs the file.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int kMaxLinks = 40;  // as Linux follows
  std::filesystem::path place = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    std::error_code no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(place, no_link);
    if (no_link) return place;
    place = place.parent_path() / target;
  }
  fail(path, "cannot be written", ELOOP);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const RegularFile file(path);
  if (file.size() == 0) return;
  void* data = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail(path, "cannot be mapped", errno);
  bytes_ = {static_cast<const std::byte*>(data), file.size()};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool is_present(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

bool is_directory(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_unreadable(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return true;
  ::close(descriptor);
  return false;
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  return read_all(Descriptor(path, O_RDONLY), path, max_bytes);
}

std::string read_regular_file(const std::filesystem::path& path, std::size_t max_bytes) {
  return read_all(RegularFile(path), path, max_bytes);
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) fail(path, "cannot be written", EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    path_ = behind_links(path);
    descriptor_ = create_beside(path_, temporary_);
  }
  if (descriptor_ < 0) fail(path, "cannot be written", errno);
  if (temporary_.empty() || !std::filesystem::exists(status)) return;
  // A file system without such bits refuses them, and has none to keep.
  std::filesystem::permissions(temporary_, status.permissions() & std::filesystem::perms::all, ignored);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, "cannot be written", errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be written", errno);
  temporary_.clear();
}

}  // namespace sightline::format
