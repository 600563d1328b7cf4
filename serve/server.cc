#include "serve/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "serve/api.h"
#include "serve/connections.h"
#include "serve/http.h"
#include "serve/security.h"
#include "serve/size_text.h"
#include "serve/work_queue.h"
#include "src/engine/look_memory.h"

namespace sightline::serve {
namespace {

constexpr std::size_t kTilesWaiting = 256, kFilesWaiting = 512;

int processors() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

ConnectionLimits connection_limits(const ServeOptions& options) {
  ConnectionLimits limits;
  limits.request.max_body = Api::max_body(options);
  limits.transit = kMaxTransit;
  return limits;
}

// Three lines, so that nobody waits for what takes longer than his own: looks, which run the model; weights and rows of
// looks that are kept; and files, health and facts, which are at hand.
class Lanes : public Answerer {
 public:
  Lanes(Http& http, const ServeOptions& options)
      : http_(http),
        looks_(kLooksAtOnce, options.queue),
        tiles_(processors(), kTilesWaiting),
        files_(2, kFilesWaiting) {}

  bool answer(HttpRequest request, Gone gone, Done done) override {
    const auto shared = std::make_shared<HttpRequest>(std::move(request));
    return lane_of(*shared).push(
        [this, shared, gone = std::move(gone), done = std::move(done)] { done(answered(*shared, gone)); });
  }

  Reply refusal(int status, const std::string& reason) const override { return Http::refusal(status, reason); }

 private:
  // Where not even an error can be put into words, as for want of memory, the connection closes without one.
  Reply answered(const HttpRequest& request, const Gone& gone) {
    try {
      if (!*gone) return http_.answer(request, gone);
    } catch (...) {
    }
    return {{}, true};
  }

  // A request that is refused anyhow keeps nobody waiting.
  WorkQueue& lane_of(const HttpRequest& request) {
    const std::string_view path = path_of(request.target);
    if (path == "/api/model" || !path.starts_with("/api/") || !http_.admits(request)) return files_;
    return request.method == "POST" ? looks_ : tiles_;
  }

  Http& http_;
  WorkQueue looks_, tiles_, files_;
};

}  // namespace

struct Server::Parts {
  Parts(const engine::Session& session, const ServeOptions& given)
      : session(session),
        options(given),
        api(session, options),
        listener(options.host, options.port),
        gate(options, listener.port()),
        http(api, gate) {}

  const engine::Session& session;
  const ServeOptions options;
  Api api;
  Listener listener;
  Gate gate;
  Http http;
};

Server::Server(const engine::Session& session, const ServeOptions& options) {
  require_key_for_others(options);  // before anybody is listened to
  parts_ = std::make_unique<Parts>(session, options);
}

Server::~Server() = default;

std::string Server::url() const {
  const bool six = parts_->options.host.find(':') != std::string::npos;
  const std::string host = six ? fmt::format("[{}]", parts_->options.host) : parts_->options.host;
  return fmt::format("http://{}:{}/", host, parts_->listener.port());
}

std::string Server::memory_text() const {
  const engine::ModelFacts& model = parts_->session.model();
  const std::int64_t tokens = model.max_tokens;
  const std::size_t longest =
      engine::look_bytes(model, tokens, parts_->options.keep_layers) + engine::pass_bytes(model, tokens);
  std::string text = fmt::format(
      "memory: model {}, looks at most {}, requests and answers at most {}\n"
      "a look at the longest text, {} tokens, takes {}",
      size_text(static_cast<std::size_t>(model.weights.bytes)), size_text(parts_->options.memory),
      size_text(kMaxTransit), tokens, size_text(longest));
  if (longest > parts_->options.memory) {
    text += fmt::format(", which is refused: allow it with --memory {}, or keep fewer layers with --keep-layers",
                        size_option(longest));
  }
  return text + "\n";
}

void Server::run(const std::function<bool()>& stop) {
  Lanes lanes(parts_->http, parts_->options);
  Connections connections(parts_->listener.socket(), connection_limits(parts_->options), lanes);
  connections.run(stop);
}

}  // namespace sightline::serve
