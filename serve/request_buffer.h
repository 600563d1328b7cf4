#ifndef SIGHTLINE_SERVE_REQUEST_BUFFER_H_
#define SIGHTLINE_SERVE_REQUEST_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sightline::serve {

/// A target up to its query, as it came: nothing is decoded.
inline std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

/// With ASCII letters in lower case, as names of headers and hosts are compared.
std::string lowered(std::string_view text);

/// A whole request, its body decoded. Names of headers are in lower case, and none stands twice.
struct HttpRequest {
  std::string method, target, version;
  std::map<std::string, std::string, std::less<>> headers;
  std::string body;

  /// Empty where there is none.
  std::string_view header(std::string_view name) const;
  bool has(std::string_view name) const { return headers.find(name) != headers.end(); }
};

struct RequestLimits {
  std::size_t max_head = 16 << 10;  // bytes of request line and headers
  std::size_t max_target = 4 << 10;
  std::size_t max_headers = 100;
  std::size_t max_body = 1 << 20;
};

/// Bytes of a connection, until they are a request. cpp-httplib 0.11 reads lines and chunks of any length into memory,
/// and holds a thread while a slow client sends them; so it is given requests that are complete, bounded and plain:
/// what is not HTTP/1 by the letter of RFC 9112 is refused here, and what two readers could take for different requests
/// (two lengths, a length and chunks, folded lines, bare line feeds).
class RequestBuffer {
 public:
  explicit RequestBuffer(const RequestLimits& limits) : limits_(limits) {}

  enum class State : std::uint8_t { incomplete, complete, refused };

  /// Takes bytes as they come.
  State feed(std::string_view bytes);
  State state() const { return state_; }
  /// Why it was refused.
  int status() const { return status_; }
  const std::string& reason() const { return reason_; }
  /// Nothing of a request has come.
  bool idle() const { return state_ == State::incomplete && part_ == Part::head && raw_.empty(); }
  /// The client sends the body once it is told to; true once.
  bool take_continue();
  std::size_t size() const { return raw_.size() + request_.body.size(); }

  /// The request, once it is complete. What came after it is read on.
  HttpRequest take();

 private:
  enum class Part : std::uint8_t { head, length, chunk_line, chunk, chunk_end, trailer, done };

  void refuse(int status, std::string reason);
  void advance();
  bool read_part();
  void skip_empty_lines();
  bool read_head();
  void parse_head(std::string_view head);
  bool parse_request_line(std::string_view line);
  bool parse_header(std::string_view line);
  void begin_body();
  bool read_counted(Part next);
  bool read_chunk_line();
  bool read_chunk_end();
  bool read_trailer();
  bool take_line(std::size_t limit, std::string& line);
  std::string_view rest() const { return std::string_view(raw_).substr(at_); }

  RequestLimits limits_;
  State state_ = State::incomplete;
  Part part_ = Part::head;
  int status_ = 0;
  std::string reason_;
  bool continue_ = false;
  std::string raw_;       // as it came, from the first byte of the request on
  std::size_t at_ = 0;    // what lies before was read
  std::size_t left_ = 0;  // bytes of the body, or of a chunk, that are still to come
  std::size_t trailers_ = 0;
  HttpRequest request_;
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_REQUEST_BUFFER_H_
