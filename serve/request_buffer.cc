#include "serve/request_buffer.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sightline::serve {
namespace {

constexpr std::size_t kMaxChunkLine = 256, kMaxTrailers = 4 << 10;
constexpr std::size_t kMethodLetters = 16;

bool is_token(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

// What may stand in the value of a header: visible ASCII, blanks, and bytes beyond ASCII.
bool is_value(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

// What may stand in a target. A fragment stays with the client; cpp-httplib would cut it off and answer what is before
// it.
bool is_target(char c) { return c > 0x20 && c < 0x7f && c != '#'; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Digits and nothing else, in base 10 or 16.
bool parse_size(std::string_view digits, int base, std::size_t& value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

RequestBuffer::State RequestBuffer::feed(std::string_view bytes) {
  if (state_ != State::refused) raw_.append(bytes);
  if (state_ == State::incomplete) advance();
  return state_;
}

bool RequestBuffer::take_continue() {
  return std::exchange(continue_, false) && state_ == State::incomplete && part_ != Part::head;
}

HttpRequest RequestBuffer::take() {
  HttpRequest request = std::exchange(request_, {});
  raw_.erase(0, std::exchange(at_, 0));
  part_ = Part::head;
  state_ = State::incomplete;
  continue_ = false;
  advance();
  return request;
}

void RequestBuffer::refuse(int status, std::string reason) {
  state_ = State::refused;
  status_ = status;
  reason_ = std::move(reason);
  raw_.clear();
  request_ = {};
  at_ = 0;
}

void RequestBuffer::advance() {
  while (state_ == State::incomplete && read_part()) {
  }
  if (state_ == State::incomplete && part_ != Part::head) raw_.erase(0, std::exchange(at_, 0));
}

// False where more bytes are needed.
bool RequestBuffer::read_part() {
  switch (part_) {
    case Part::head:
      return read_head();
    case Part::length:
      return read_counted(Part::done);
    case Part::chunk_line:
      return read_chunk_line();
    case Part::chunk:
      return read_counted(Part::chunk_end);
    case Part::chunk_end:
      return read_chunk_end();
    case Part::trailer:
      return read_trailer();
    case Part::done:
      state_ = State::complete;
      return false;
  }
  return false;
}

// Some clients end a body with a line that nobody counts. Thousands of them are forgotten at once: one by one, each
// would move all that came behind it.
void RequestBuffer::skip_empty_lines() {
  std::size_t lines = 0;
  while (std::string_view(raw_).substr(lines).starts_with("\r\n")) lines += 2;
  raw_.erase(0, lines);
}

bool RequestBuffer::read_head() {
  skip_empty_lines();
  const std::size_t end = raw_.find("\r\n\r\n");
  if (std::min(end, raw_.size()) > limits_.max_head) {
    refuse(431, "the headers are longer than this server reads");
    return true;
  }
  if (end == std::string::npos) return false;
  at_ = end + 4;
  parse_head(std::string_view(raw_).substr(0, end));
  if (state_ == State::incomplete) begin_body();
  return true;
}

void RequestBuffer::parse_head(std::string_view head) {
  std::size_t lines = 0;
  while (state_ == State::incomplete) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    const bool fits = lines == 0 ? parse_request_line(line) : parse_header(line);
    if (!fits && state_ == State::incomplete) refuse(400, "this is not a request of HTTP/1.1");
    if (lines++ == limits_.max_headers) refuse(431, "there are more headers than this server reads");
    if (end == std::string_view::npos) return;
    head.remove_prefix(end + 2);
  }
}

bool RequestBuffer::parse_request_line(std::string_view line) {
  const std::size_t method_end = line.find(' '), version_begin = line.rfind(' ');
  if (method_end == std::string_view::npos || version_begin <= method_end) return false;
  request_.method = line.substr(0, method_end);
  request_.target = line.substr(method_end + 1, version_begin - method_end - 1);
  request_.version = line.substr(version_begin + 1);
  if (request_.target.size() > limits_.max_target) {
    refuse(414, "the address is longer than this server reads");
    return true;
  }
  return !request_.method.empty() && request_.method.size() <= kMethodLetters &&
         std::ranges::all_of(request_.method, [](char c) { return c >= 'A' && c <= 'Z'; }) &&
         request_.target.starts_with('/') && std::ranges::all_of(request_.target, is_target) &&
         (request_.version == "HTTP/1.1" || request_.version == "HTTP/1.0");
}

bool RequestBuffer::parse_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (!std::ranges::all_of(name, is_token) || !std::ranges::all_of(value, is_value)) return false;
  const auto [at, added] = request_.headers.emplace(lowered(name), value);
  if (added) return true;
  // Lists may come in several lines; of what decides about the request there is one.
  for (const std::string_view single : {"host", "content-length", "transfer-encoding", "authorization", "origin",
                                        "content-type", "cookie", "sec-fetch-site"}) {
    if (at->first == single) return false;
  }
  at->second.append(", ").append(value);
  return true;
}

void RequestBuffer::begin_body() {
  part_ = Part::done;
  if (request_.version == "HTTP/1.1" && !request_.has("host")) return refuse(400, "the Host header is missing");
  const bool chunked = request_.has("transfer-encoding"), sized = request_.has("content-length");
  if (chunked && (sized || request_.version == "HTTP/1.0")) return refuse(400, "the body's length is ambiguous");
  if (chunked && lowered(request_.header("transfer-encoding")) != "chunked") {
    return refuse(501, "of transfer encodings this server knows chunked alone");
  }
  left_ = 0;
  if (sized && !parse_size(request_.header("content-length"), 10, left_)) {
    return refuse(400, "the body's length is no number");
  }
  if (left_ > limits_.max_body) return refuse(413, "the body is larger than this server reads");
  if (chunked) part_ = Part::chunk_line;
  if (left_ > 0) part_ = Part::length;
  continue_ = part_ != Part::done && lowered(request_.header("expect")) == "100-continue";
}

// The bytes of the body that are left of a counted number, and then the next part.
bool RequestBuffer::read_counted(Part next) {
  const std::string_view some = rest().substr(0, left_);
  request_.body.append(some);
  at_ += some.size();
  left_ -= some.size();
  if (left_ > 0) return false;
  part_ = next;
  return true;
}

// The next line without its end. False where it has not come; too long a one is refused, and so is one with a line feed
// or another control byte in it, which other readers take for the end of the line.
bool RequestBuffer::take_line(std::size_t limit, std::string& line) {
  const std::size_t end = rest().find("\r\n");
  if (std::min(end, rest().size()) > limit) refuse(400, "a line within the body is too long");
  if (state_ == State::refused || end == std::string_view::npos) return false;
  line = rest().substr(0, end);
  at_ += end + 2;
  if (!std::ranges::all_of(line, is_value)) refuse(400, "a line within the body holds control bytes");
  return state_ != State::refused;
}

bool RequestBuffer::read_chunk_line() {
  std::string line;
  if (!take_line(kMaxChunkLine, line)) return false;
  const std::string_view size = trimmed(std::string_view(line).substr(0, line.find(';')));
  if (!parse_size(size, 16, left_)) {
    refuse(400, "a chunk's length is no number");
  } else if (left_ > limits_.max_body - request_.body.size()) {
    refuse(413, "the body is larger than this server reads");
  }
  part_ = left_ > 0 ? Part::chunk : Part::trailer;
  trailers_ = 0;
  return true;
}

bool RequestBuffer::read_chunk_end() {
  if (rest().size() < 2) return false;
  if (!rest().starts_with("\r\n")) refuse(400, "a chunk is longer than it says");
  at_ += 2;
  part_ = Part::chunk_line;
  return true;
}

bool RequestBuffer::read_trailer() {
  std::string line;
  if (!take_line(kMaxTrailers, line)) return false;
  trailers_ += line.size();
  if (trailers_ > kMaxTrailers) refuse(431, "the trailers are longer than this server reads");
  if (line.empty()) part_ = Part::done;
  return true;
}

}  // namespace sightline::serve
