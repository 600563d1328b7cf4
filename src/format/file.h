#ifndef SIGHTLINE_FORMAT_FILE_H_
#define SIGHTLINE_FORMAT_FILE_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sightline::format {

/// A regular file mapped read-only; an empty file is an empty span. As with every mapping, a file that another program
/// cuts short meanwhile ends the process (SIGBUS): models are replaced by renaming, not overwritten. Throws BadFile
/// with the system's reason.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Whether something has that name. What is there but cannot be looked at counts: opening it says why. Throws nothing.
bool is_present(const std::filesystem::path& path);
/// Whether it is a directory that can be looked at. Throws nothing.
bool is_directory(const std::filesystem::path& path);
/// Whether what has that name cannot be opened, which opening it explains. Throws nothing.
bool is_unreadable(const std::filesystem::path& path);

/// The whole content of a file, which may be a pipe. Throws BadFile, also where it is longer than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);
/// The same of a file of a model: a pipe in its place, which could keep the reader waiting for ever, is BadFile.
std::string read_regular_file(const std::filesystem::path& path, std::size_t max_bytes);

/// A file that appears whole or not at all: it is written beside its place and renamed by commit(); without commit()
/// nothing of it stays. A symbolic link stays one, its target is what is written, there already or not; a file that
/// stood there hands its permission bits on. Where `path` names a device or a pipe (/dev/stdout), bytes go straight
/// there. Throws BadFile with the system's reason, for a directory and for a full disk too.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  std::filesystem::path path_;       // where it is to stand, behind symbolic links
  std::filesystem::path temporary_;  // where it is written; empty for a device and once committed
  int descriptor_ = -1;
};

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_FILE_H_
