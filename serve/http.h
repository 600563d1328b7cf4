#ifndef SIGHTLINE_SERVE_HTTP_H_
#define SIGHTLINE_SERVE_HTTP_H_

#include <httplib.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/api.h"
#include "serve/connections.h"
#include "serve/page.h"
#include "serve/security.h"

namespace sightline::serve {

/// From a request to the bytes of its answer: cpp-httplib reads the address, finds the route and writes headers; what
/// concerns sockets, threads and time is done by Connections.
class Http : private httplib::Server {
 public:
  Http(Api& api, const Gate& gate);

  /// Whether the gate lets it in: its address and method may still be unknown.
  bool admits(const HttpRequest& request) const;
  /// On the thread that calls it. Safe for concurrent calls.
  Reply answer(const HttpRequest& request, const Gone& gone);
  /// The answer to what never became a request. It ends the connection.
  static Reply refusal(int status, const std::string& reason);

  /// Method and path of everything that is answered but for the page's files.
  static std::vector<std::pair<std::string, std::string>> api_routes();

 private:
  void add_routes();
  void add_page();
  void add_handlers();
  void serve_file(const PageFile& file, const httplib::Request& request, httplib::Response& response) const;
  void open_page(const httplib::Request& request, httplib::Response& response) const;
  std::string allowed_methods(std::string_view path) const;

  Api& api_;
  const Gate& gate_;
  std::vector<std::string> page_paths_;
};

/// A socket that listens at `host` and `port` (0: one that is free), and does not block.
class Listener : private httplib::Server {
 public:
  /// Throws BadArgument where that cannot be.
  Listener(const std::string& host, int port);
  ~Listener() override;

  int socket() const { return svr_sock_; }
  int port() const { return port_; }

 private:
  int port_ = 0;
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_HTTP_H_
