#ifndef SIGHTLINE_SERVE_SERVER_H_
#define SIGHTLINE_SERVE_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "serve/options.h"
#include "src/engine/session.h"

namespace sightline::serve {

/// A model behind HTTP: the page, and the API that it asks. It listens from its making on, and answers within run().
class Server {
 public:
  /// `session` must outlive it. Throws BadArgument: a port that is taken, an address that others reach and no key, a
  /// layer that the model does not have.
  Server(const engine::Session& session, const ServeOptions& options);
  ~Server();

  /// "http://127.0.0.1:40123/".
  std::string url() const;
  /// A line or two on what it may take of the machine's memory.
  std::string memory_text() const;
  /// Answers until `stop` gives true. It is asked a few times a second. What is being computed then is given up.
  void run(const std::function<bool()>& stop);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_SERVER_H_
