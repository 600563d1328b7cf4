#ifndef SIGHTLINE_SERVE_API_H_
#define SIGHTLINE_SERVE_API_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serve/look_store.h"
#include "serve/options.h"
#include "serve/query.h"
#include "src/engine/report.h"
#include "src/engine/session.h"

namespace sightline::serve {

/// Whether the client still waits.
using Wanted = std::function<bool()>;

/// Weights as they are sent.
struct Tile {
  std::string bytes;  // little-endian fp32
  std::string shape;  // "maps,rows,columns"
};

/// What the addresses below /api answer, as docs/serve.md and openapi.json describe them. Throws HttpError, and what
/// the engine throws. Safe for concurrent use.
class Api {
 public:
  /// Throws BadArgument for a layer in options.keep_layers that the model does not have.
  Api(const engine::Session& session, const ServeOptions& options);

  std::string model() const;
  /// POST: runs the model, unless the same look is kept.
  std::string look(std::string_view body, const Wanted& wanted);
  /// GET: a look that is kept, with explanations or lists if they are asked for.
  std::string look_again(const Parameters& parameters);
  Tile tile(const Parameters& parameters);
  /// A look that is kept as a page in one file, with all its maps or those of `maps`.
  std::string page(const Parameters& parameters);

  /// Bytes that the body of a POST may have: a text in JSON's longest spelling, and what is around it.
  static std::size_t max_body(const ServeOptions& options) { return 6 * options.max_text + 4096; }

 private:
  void check_text(const LookKey& key) const;
  void choose_layers(LookKey& key) const;
  std::int64_t count_tokens(const LookKey& key) const;
  KeptLook make(LookKey key, const Wanted& wanted);
  KeptLook kept(const Parameters& parameters);

  const engine::Session& session_;
  const ServeOptions& options_;
  LookStore store_;
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_API_H_
