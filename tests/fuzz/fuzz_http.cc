// Any bytes as what a client sends over a connection. However they are cut, the same requests are read. Each is
// answered by two servers: one whose key nobody knows, which gives nothing but the page's files, health and the
// description; and one without a key, which has no fault of its own and sends answers that are framed as they say.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.h"

namespace {

using namespace sightline;
using namespace sightline::serve;

// Seeds name the one look that is kept by this id.
constexpr std::string_view kId = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kHost = "localhost";
constexpr RequestLimits kLimits = {.max_head = 4 << 10, .max_target = 2 << 10, .max_headers = 30, .max_body = 16 << 10};

void require(bool holds) {
  if (!holds) std::abort();
}

struct Read {
  std::vector<HttpRequest> requests;
  int refused = 0;
};

Read read(std::string_view bytes, std::size_t at_once) {
  RequestBuffer buffer(kLimits);
  Read read;
  for (std::size_t at = 0; at < bytes.size() && read.refused == 0; at += at_once) {
    buffer.feed(bytes.substr(at, at_once));
    while (buffer.state() == RequestBuffer::State::complete) read.requests.push_back(buffer.take());
    read.refused = buffer.status();
  }
  return read;
}

bool same(const HttpRequest& a, const HttpRequest& b) {
  return a.method == b.method && a.target == b.target && a.version == b.version && a.headers == b.headers &&
         a.body == b.body;
}

// The model is read once; what is kept of looks is small.
struct Service {
  explicit Service(const std::string& key)
      : options{.api_key = key, .allowed_hosts = {}, .max_text = 8 << 10, .memory = 16 << 20, .keep_layers = {}} {}
  Reply answer(const HttpRequest& request) { return http.answer(request, gone); }

  ServeOptions options;
  engine::Session session = engine::Session::open(SIGHTLINE_SOURCE_DIR "/tests/data/tiny-bert");
  Api api{session, options};
  Gate gate{options, 80};
  Http http{api, gate};
  std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
};

std::string value_of(std::string_view head, std::string_view name) {
  const std::size_t at = head.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = head.substr(at + name.size());
  return std::string(rest.substr(0, rest.find('\r')));
}

// An answer is one head and the body that it announces: nothing that came in broke out into a second one.
int check_frame(const Reply& reply, bool head_alone) {
  const std::string_view bytes = reply.bytes;
  const std::size_t end = bytes.find("\r\n\r\n");
  require(bytes.starts_with("HTTP/1.1 ") && end != std::string_view::npos);
  const std::string_view head = bytes.substr(0, end + 2);
  const int status = std::atoi(value_of(head, "HTTP/1.1 ").c_str());
  const std::size_t length = std::strtoull(value_of(head, "\r\nContent-Length: ").c_str(), nullptr, 10);
  require(bytes.size() - (end + 4) == (head_alone || status == 304 ? 0 : length));
  require(head.find("\r\nX-Content-Type-Options: nosniff\r\n") != std::string_view::npos);
  require(status != 500);
  return status;
}

bool is_public(std::string_view target) {
  static const std::set<std::string, std::less<>> paths = [] {
    std::set<std::string, std::less<>> all = {"/", "/health", "/openapi.json"};
    for (const PageFile& file : page_files()) all.insert("/" + std::string(file.path));
    return all;
  }();
  return paths.contains(path_of(target));
}

void check_locked(const HttpRequest& request) {
  static Service locked("kept-from-those-who-make-up-requests-0987654321");
  const int status = check_frame(locked.answer(request), request.method == "HEAD");
  require(status >= 400 || is_public(request.target));
}

void check_open(HttpRequest request) {
  static Service open("");
  request.headers["host"] = std::string(kHost) + ":80";
  request.headers.erase("origin");
  request.headers.erase("sec-fetch-site");
  if (const std::size_t at = request.target.find(kId); at != std::string::npos) {
    const std::string report = open.api.look(R"({"text": "the animal was tired"})", [] { return true; });
    const std::size_t id = report.rfind("\"look\":\"") + 8;
    request.target.replace(at, kId.size(), report.substr(id, kId.size()));
  }
  check_frame(open.answer(request), request.method == "HEAD");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read whole = read(bytes, bytes.size() + 1), cut = read(bytes, 1 + size % 7);
  require(whole.refused == cut.refused && whole.requests.size() == cut.requests.size());
  for (std::size_t i = 0; i < whole.requests.size(); ++i) require(same(whole.requests[i], cut.requests[i]));
  if (whole.refused != 0) require(check_frame(Http::refusal(whole.refused, "why"), false) >= 400);
  for (const HttpRequest& request : whole.requests) {
    check_locked(request);
    check_open(request);
  }
  return 0;
}
