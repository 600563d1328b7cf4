#include "cli/line_reader.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "sightline/error.h"
#include "src/engine/session.h"

namespace sightline::cli {
namespace {

int keep_open(std::FILE*) { return 0; }

[[noreturn]] void fail(const std::string& path, const char* why) { throw BadFile(fmt::format("{}: {}", path, why)); }

}  // namespace

LineReader::LineReader(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
  if (path == "-") {
    path_ = "standard input";
    file_ = {stdin, keep_open};
    return;
  }
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) fail(path, std::strerror(errno));
  struct stat status = {};
  if (fstat(fileno(file_.get()), &status) == 0 && S_ISDIR(status.st_mode)) fail(path, "is a directory");
}

bool LineReader::read_line(std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getc(file_.get())) != EOF && c != '\n') {
    if (line.size() <= engine::kMaxTextBytes) line += static_cast<char>(c);
  }
  if (std::ferror(file_.get())) fail(path_, std::strerror(errno));
  return c != EOF || !line.empty();
}

bool LineReader::next(NumberedText& text) {
  while (read_line(text.text)) {
    ++line_;
    if (text.text.ends_with('\r')) text.text.pop_back();
    text.line = line_;
    if (text.text.find_first_not_of(" \t") != std::string::npos) return true;
  }
  return false;
}

}  // namespace sightline::cli
