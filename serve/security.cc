#include "serve/security.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "serve/http_error.h"
#include "sightline/error.h"

namespace sightline::serve {
namespace {

constexpr std::string_view kCookie = "sightline_key";

// "[::1]:80" is ("::1", "80"), "name" is ("name", ""); nothing where it is neither.
std::optional<std::pair<std::string, std::string>> split_authority(std::string_view authority) {
  std::size_t host_begin = 0, host_end = authority.rfind(':');
  if (authority.starts_with('[')) {
    host_begin = 1;
    host_end = authority.find(']');
    if (host_end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = authority.substr(host_end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
    return std::pair(lowered(authority.substr(1, host_end - 1)), std::string(rest.substr(rest.empty() ? 0 : 1)));
  }
  const std::string_view host = authority.substr(host_begin, host_end);
  if (host.empty() || host.find(':') != std::string_view::npos) return std::nullopt;
  const std::string_view port = host_end == std::string_view::npos ? "" : authority.substr(host_end + 1);
  return std::pair(lowered(host), std::string(port));
}

bool is_address(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), address) == 1 || inet_pton(AF_INET6, host.c_str(), address) == 1;
}

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view cookie = cookies.substr(0, end);
    cookie.remove_prefix(std::min(cookie.find_first_not_of(' '), cookie.size()));
    if (cookie.size() > name.size() && cookie.starts_with(name) && cookie[name.size()] == '=') {
      return cookie.substr(name.size() + 1);
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

[[noreturn]] void forbid(const std::string& message) { throw HttpError(403, "forbidden", message); }

}  // namespace

bool is_loopback(std::string_view host) {
  in_addr address{};
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
  return host == "localhost" || host == "::1";
}

void require_key_for_others(const ServeOptions& options) {
  if (!options.api_key.empty() || is_loopback(options.host)) return;
  throw BadArgument(
      fmt::format("at {} others than this machine reach the server: give it a key with --api-key, or leave "
                  "--host out",
                  options.host));
}

Gate::Gate(const ServeOptions& options, int port)
    : hosts_{"localhost", "127.0.0.1", "::1"}, port_(std::to_string(port)), key_(options.api_key) {
  hosts_.push_back(lowered(options.host));
  for (const std::string& name : options.allowed_hosts) hosts_.push_back(lowered(name));
}

void Gate::check(const HttpRequest& request) const {
  check_host(request.header("host"));
  check_origin(request);
  if (request.target.starts_with("/api/")) check_key(request);
}

void Gate::check_host(std::string_view host) const {
  const auto parts = split_authority(host);
  if (!parts) throw HttpError(400, "bad_request", "the Host header is missing or malformed");
  const auto& [name, port] = *parts;
  // With a key, an address will do: it cannot be rebound, and behind a port that was forwarded neither is known here.
  const bool keyed = !key_.empty();
  const bool known = std::ranges::find(hosts_, name) != hosts_.end() || (keyed && is_address(name));
  if (!known) forbid("this server does not answer under that name; start it with --allow-host NAME if it should");
  if (!keyed && port != port_)
    forbid("the Host header names another port: where one is forwarded, give the server a key");
}

void Gate::check_origin(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin"), host = request.header("host");
  if (request.has("origin")) {
    const std::size_t scheme = origin.find("://");
    const bool http = origin.starts_with("http://") || origin.starts_with("https://");
    if (!http || lowered(origin.substr(scheme + 3)) != lowered(host)) forbid("pages of other origins are not answered");
  }
  // Links may lead to the page; its numbers are for it alone.
  const std::string_view site = request.header("sec-fetch-site");
  const bool own = site.empty() || site == "same-origin" || site == "none";
  if (!own && request.target.starts_with("/api/")) forbid("pages of other origins are not answered");
}

void Gate::check_key(const HttpRequest& request) const {
  if (key_.empty()) return;
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view given = request.header("authorization");
  if (lowered(given.substr(0, kBearer.size())) == kBearer && is_key(given.substr(kBearer.size()))) return;
  if (is_key(cookie_value(request.header("cookie"), kCookie))) return;
  throw HttpError(401, "key_needed",
                  "this server asks for its key: send Authorization: Bearer KEY, or open /?key=KEY in the browser");
}

// As long for a key that is nearly right as for one that is not.
bool Gate::is_key(std::string_view key) const {
  unsigned difference = key.size() == key_.size() ? 0 : 1;
  for (std::size_t i = 0; i < key_.size(); ++i) {
    const char given = i < key.size() ? key[i] : '\0';
    difference |= static_cast<unsigned char>(given ^ key_[i]);
  }
  return difference == 0;
}

std::string Gate::cookie_for(std::string_view key) const {
  if (key_.empty() || !is_key(key)) return {};
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", kCookie, key_);
}

const std::vector<std::pair<std::string, std::string>>& security_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Permissions-Policy", "camera=(), microphone=(), geolocation=()"}};
  return headers;
}

}  // namespace sightline::serve
