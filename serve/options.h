#ifndef SIGHTLINE_SERVE_OPTIONS_H_
#define SIGHTLINE_SERVE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sightline::serve {

/// How the server is reached, and what it gives at most.
struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 0;                                 // 0: one that is free
  std::string api_key;                          // empty: none is asked for
  std::vector<std::string> allowed_hosts;       // names by which clients may call it, besides those of this machine
  std::size_t max_text = std::size_t{1} << 20;  // bytes
  std::size_t queue = 16;                       // looks that wait for one that runs
  std::size_t memory = std::size_t{2} << 30;    // bytes that looks take together, those that run included
  int max_seconds = 300;                        // that a look may take
  std::vector<int> keep_layers;                 // from 1, that looks can be asked for afterwards; empty: all
};

/// Weights in one answer: 4 MiB.
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 20;
/// Numbers that one explanation has of its keys, some 20 bytes of JSON each; of more keys the heaviest are told.
inline constexpr std::int64_t kMaxExplainedNumbers = std::int64_t{1} << 20;
/// Looks that run at once: the pass of a short text does not keep two threads busy, that of a long one does.
inline constexpr int kLooksAtOnce = 2;
/// Bytes of requests and answers that lie in the server, those of all clients together.
inline constexpr std::size_t kMaxTransit = std::size_t{256} << 20;

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_OPTIONS_H_
