#include "serve/http.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>

#include "serve/http_error.h"
#include "serve/page.h"
#include "sightline/error.h"

namespace sightline::serve {
namespace {

using httplib::Request;
using httplib::Response;

constexpr char kJson[] = "application/json";
constexpr std::string_view kMethods[] = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                         "CONNECT", "OPTIONS", "TRACE", "PATCH"};
constexpr int kBacklog = 128;
// Stands for Accept-Encoding, which cpp-httplib must not see: it would compress every answer, slowly.
constexpr char kAcceptsGzip[] = "Sightline-Accepts-Gzip";
// What cpp-httplib or a handler reads, besides the type of a body of JSON. Nothing else reaches it: no ranges, no form
// data, no encodings of the body.
constexpr const char* kPassedOn[] = {"host", "if-none-match"};

// A request in memory, and room for its answer.
class MemoryStream : public httplib::Stream {
 public:
  explicit MemoryStream(std::string request) : request_(std::move(request)) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    const std::size_t count = request_.copy(to, size, at_);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, size_t size) override {
    answer_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return -1; }

  std::string take_answer() { return std::move(answer_); }

 private:
  std::string request_, answer_;
  std::size_t at_ = 0;
};

bool is_last(const HttpRequest& request) {
  return request.version == "HTTP/1.0" || lowered(request.header("connection")).find("close") != std::string::npos;
}

// A list such as "br;q=1, gzip;q=0.5": whether gzip is in it and not refused.
bool accepts_gzip(std::string_view list) {
  const std::size_t at = list.find("gzip");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = list.substr(at + 4, list.substr(at + 4).find(','));
  const std::size_t quality = rest.find("q=");
  return quality == std::string_view::npos || rest.find_first_of("123456789", quality) != std::string_view::npos;
}

// The request as cpp-httplib reads it.
std::string plain_text(const HttpRequest& request) {
  // Methods that it does not know it would not even route. No address takes TRACE, so nothing takes these.
  const bool known = std::ranges::find(kMethods, request.method) != std::end(kMethods);
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", known ? request.method : "TRACE", request.target);
  for (const char* name : kPassedOn) {
    if (request.has(name)) text += fmt::format("{}: {}\r\n", name, request.header(name));
  }
  const std::string_view type = request.header("content-type");
  if (type.starts_with(kJson)) text += fmt::format("Content-Type: {}\r\n", type);
  if (accepts_gzip(request.header("accept-encoding"))) text += fmt::format("{}: 1\r\n", kAcceptsGzip);
  if (is_last(request)) text += "Connection: close\r\n";
  text += fmt::format("Content-Length: {}\r\n\r\n", request.body.size());
  return text + request.body;
}

void answer_error(Response& response, int status, std::string_view code, std::string_view message) {
  response.status = status;
  response.set_content(error_json(code, message), kJson);
  if (status == 503) response.set_header("Retry-After", std::to_string(kRetryAfter));
  if (status == 401) response.set_header("WWW-Authenticate", "Bearer");
}

// What was thrown, as an answer. Of what nobody foresaw nothing is told.
void answer_exception(Response& response, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const HttpError& error) {
    answer_error(response, error.status(), error.code(), error.what());
  } catch (const BadArgument& error) {
    answer_error(response, 400, "bad_request", error.what());
  } catch (const OutOfMemory& error) {
    answer_error(response, 503, "out_of_memory", error.what());
  } catch (const std::bad_alloc&) {
    answer_error(response, 503, "out_of_memory", "the server has no memory left: try again in a moment");
  } catch (const Cancelled&) {
    answer_error(response, 503, "cancelled", "the client went away, or the server is ending");
  } catch (...) {
    answer_error(response, 500, "internal", "the server met a fault of its own");
  }
}

// An answer that no route gave. Of a HEAD, what was asked for ends with the headers: a body would be read as the next
// answer.
Reply plain_reply(const Response& response, bool close, bool with_body) {
  std::string text = fmt::format("HTTP/1.1 {} \r\n", response.status);
  for (const auto& [name, value] : security_headers()) text += fmt::format("{}: {}\r\n", name, value);
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += fmt::format("Cache-Control: no-store\r\nConnection: {}\r\nContent-Length: {}\r\n\r\n",
                      close ? "close" : "keep-alive", response.body.size());
  if (with_body) text += response.body;
  return {std::move(text), close};
}

void require_json(const Request& request) {
  // Forms of other pages cannot send this type without asking first.
  if (!request.has_header("Content-Type")) {
    throw HttpError(415, "not_json", "the body must be JSON: send Content-Type: application/json");
  }
}

Wanted wanted_by(const Request& request) {
  return [&request] { return request.progress(0, 0); };
}

std::string escaped(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (std::strchr(".+*?()[]{}|^$\\", c) != nullptr) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

Http::Http(Api& api, const Gate& gate) : api_(api), gate_(gate) {
  add_routes();
  add_page();
  add_handlers();
}

std::vector<std::pair<std::string, std::string>> Http::api_routes() {
  return {{"GET", "/health"},    {"GET", "/openapi.json"}, {"GET", "/api/model"},
          {"POST", "/api/look"}, {"GET", "/api/look"},     {"GET", "/api/tile"}};
}

void Http::add_routes() {
  Get("/health", [](const Request&, Response& response) { response.set_content("{\"status\":\"ok\"}\n", kJson); });
  Get("/openapi\\.json",
      [this](const Request& request, Response& response) { serve_file(openapi_file(), request, response); });
  Get("/api/model", [this](const Request& request, Response& response) {
    require_parameters(request.params, {});
    response.set_content(api_.model(), kJson);
  });
  Post("/api/look", [this](const Request& request, Response& response) {
    require_json(request);
    require_parameters(request.params, {});
    response.set_content(api_.look(request.body, wanted_by(request)), kJson);
  });
  Get("/api/look", [this](const Request& request, Response& response) {
    if (request.has_param("html")) {
      response.set_content(api_.page(request.params), "text/html; charset=utf-8");
      // Saved, not opened: its own policy, in the file, is not this server's.
      response.set_header("Content-Disposition", "attachment; filename=\"sightline.html\"");
      return;
    }
    response.set_content(api_.look_again(request.params), kJson);
  });
  Get("/api/tile", [this](const Request& request, Response& response) {
    const Tile tile = api_.tile(request.params);
    response.set_content(tile.bytes, "application/octet-stream");
    response.set_header("Sightline-Shape", tile.shape);
  });
}

void Http::add_page() {
  for (const PageFile& file : page_files()) {
    const auto serve = [this, &file](const Request& request, Response& response) {
      serve_file(file, request, response);
    };
    page_paths_.push_back(fmt::format("/{}", file.path));
    Get(escaped(page_paths_.back()), serve);
    if (file.path == "index.html") {
      page_paths_.emplace_back("/");
      Get("/", [this, serve](const Request& request, Response& response) {
        request.has_param("key") ? open_page(request, response) : serve(request, response);
      });
    }
  }
}

void Http::add_handlers() {
  httplib::Headers headers;
  for (const auto& [name, value] : security_headers()) headers.emplace(name, value);
  set_default_headers(headers);
  set_exception_handler(
      [](const Request&, Response& response, const std::exception_ptr& thrown) { answer_exception(response, thrown); });
  // The gate and the lanes go by the path as it came. cpp-httplib decodes it, so that /%61pi would lead to /api past
  // the key: no address here needs an escape, and none is reached by one.
  set_pre_routing_handler([](const Request& request, Response& response) {
    if (request.path == path_of(request.target)) return HandlerResponse::Unhandled;
    response.status = 404;
    return HandlerResponse::Handled;
  });
  set_error_handler(httplib::Server::Handler([this](const Request& request, Response& response) {
    if (!response.body.empty()) return;
    const std::string methods = allowed_methods(path_of(request.target));
    if (!methods.empty() && methods.find(request.method) == std::string::npos) {
      answer_error(response, 405, "method_not_allowed", "this address takes " + methods);
      response.set_header("Allow", methods);
    } else if (response.status == 404) {
      answer_error(response, 404, "not_found", "there is nothing at this address: see /openapi.json");
    } else {
      answer_error(response, response.status, "bad_request", "this request cannot be read");
    }
  }));
  set_post_routing_handler([](const Request&, Response& response) {
    response.headers.erase("Keep-Alive");
    response.headers.erase("Accept-Ranges");
    if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  });
}

void Http::serve_file(const PageFile& file, const Request& request, Response& response) const {
  const std::string tag = fmt::format("W/\"{}\"", file.tag);
  response.set_header("ETag", tag);
  response.set_header("Cache-Control", "no-cache");  // it may be kept, and is asked for again: programs are updated
  response.set_header("Vary", "Accept-Encoding");
  if (request.get_header_value("if-none-match").find(tag) != std::string::npos) {
    response.status = 304;
    return;
  }
  const bool packed = !file.gzip.empty() && request.has_header(kAcceptsGzip);
  const std::string_view content = packed ? file.gzip : file.content;
  response.set_content(content.data(), content.size(), std::string(file.type));
  if (packed) response.set_header("Content-Encoding", "gzip");
}

// The key goes from the address, which is shown and remembered, into a cookie that only this server is sent.
void Http::open_page(const Request& request, Response& response) const {
  const std::string cookie = gate_.cookie_for(request.get_param_value("key"));
  if (cookie.empty()) throw HttpError(401, "wrong_key", "this is not the server's key");
  response.set_header("Set-Cookie", cookie);
  response.set_redirect("/", 303);
}

std::string Http::allowed_methods(std::string_view path) const {
  std::string methods;
  const auto add = [&methods](std::string_view method) {
    methods += (methods.empty() ? "" : ", ") + std::string(method);
  };
  for (const auto& [method, known] : api_routes()) {
    if (known != path) continue;
    add(method);
    if (method == "GET") add("HEAD");
  }
  if (std::ranges::find(page_paths_, path) != page_paths_.end()) add("GET, HEAD");
  return methods;
}

bool Http::admits(const HttpRequest& request) const {
  try {
    gate_.check(request);
    return true;
  } catch (const HttpError&) {
    return false;
  }
}

Reply Http::answer(const HttpRequest& request, const Gone& gone) {
  try {
    gate_.check(request);
  } catch (const HttpError&) {
    Response response;
    answer_exception(response, std::current_exception());
    return plain_reply(response, is_last(request), request.method != "HEAD");
  }
  MemoryStream stream(plain_text(request));
  bool closed = false;
  // Handlers do not see the connection; Progress, which servers leave empty, tells them whether it still stands.
  const bool answered = process_request(stream, false, closed, [&gone](Request& made) {
    made.progress = [&gone](std::uint64_t, std::uint64_t) { return !*gone; };
  });
  return {stream.take_answer(), closed || !answered};
}

Reply Http::refusal(int status, const std::string& reason) {
  static const std::map<int, std::string> codes = {{408, "too_slow"}, {413, "too_large"},
                                                   {414, "too_long"}, {431, "too_many_headers"},
                                                   {503, "busy"},     {501, "not_implemented"}};
  const auto code = codes.find(status);
  Response response;
  answer_error(response, status, code == codes.end() ? "bad_request" : code->second, reason);
  return plain_reply(response, true, true);
}

Listener::Listener(const std::string& host, int port) {
  set_socket_options([](socket_t socket) {
    const int yes = 1;  // a server that ended leaves its port for a while; SO_REUSEPORT would let strangers share it
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  errno = 0;
  port_ = port == 0 ? bind_to_any_port(host) : bind_to_port(host, port) ? port : -1;
  if (port_ < 0) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "no such address";
    throw BadArgument(
        fmt::format("cannot listen at {}, port {}: {}; choose another with --host or --port", host, port, reason));
  }
  ::listen(svr_sock_, kBacklog);  // cpp-httplib's own is 5
  fcntl(svr_sock_, F_SETFL, fcntl(svr_sock_, F_GETFL) | O_NONBLOCK);
}

Listener::~Listener() { ::close(svr_sock_); }

}  // namespace sightline::serve
