#ifndef SIGHTLINE_SERVE_SECURITY_H_
#define SIGHTLINE_SERVE_SECURITY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/options.h"
#include "serve/request_buffer.h"

namespace sightline::serve {

/// Whether `host` is an address or name that only this machine reaches.
bool is_loopback(std::string_view host);

/// Throws BadArgument for a server that others than this machine reach and that has no key.
void require_key_for_others(const ServeOptions& options);

/// Decides who is answered. Browsers are the way in that matters: a page from elsewhere may send requests to a server
/// on this machine, and may rebind its own name to 127.0.0.1 to read the answers. So the Host must be one by which this
/// server is known (a rebound name is not), and an Origin, where there is one, the server itself.
class Gate {
 public:
  /// `port`: the one that is listened on.
  Gate(const ServeOptions& options, int port);

  /// Throws HttpError: 400, 401 (key), 403 (host, origin).
  void check(const HttpRequest& request) const;

  /// What `/?key=KEY` leaves in the browser, so that the page itself need not know the key; empty for a wrong key.
  std::string cookie_for(std::string_view key) const;

 private:
  void check_host(std::string_view host) const;
  void check_origin(const HttpRequest& request) const;
  void check_key(const HttpRequest& request) const;
  bool is_key(std::string_view key) const;

  std::vector<std::string> hosts_;  // lower case, without port
  std::string port_;
  std::string key_;
};

/// Headers that every answer carries.
const std::vector<std::pair<std::string, std::string>>& security_headers();

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_SECURITY_H_
