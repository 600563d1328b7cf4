#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "serve/server.h"
#include "serve/size_text.h"

namespace sightline::cli {
namespace {

constexpr std::size_t kShortestKey = 8, kLongestKey = 256;

std::size_t size_of(const std::string& text, const char* option, std::size_t most) {
  try {
    const std::size_t size = serve::parse_size(text);
    if (size <= most) return size;
  } catch (const BadArgument& error) {
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
  throw UsageError(fmt::format("{}: {} is more than this program reads, {}", option, text, serve::size_text(most)));
}

// From the command line, where other users of the machine may read it, or from the environment, where they do not.
std::string chosen_key(const Options& options) {
  const char* variable = std::getenv("SIGHTLINE_API_KEY");
  std::string key = options.api_key.empty() && variable != nullptr ? variable : options.api_key;
  const bool plain = std::ranges::all_of(
      key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~'; });
  if (!key.empty() && (key.size() < kShortestKey || key.size() > kLongestKey || !plain)) {
    throw UsageError(fmt::format("--api-key: a key has {} to {} letters, digits, - . _ ~", kShortestKey, kLongestKey));
  }
  return key;
}

serve::ServeOptions serve_options(const Options& options) {
  serve::ServeOptions serve;
  if (!options.host.empty()) serve.host = options.host;
  serve.port = options.port;
  serve.api_key = chosen_key(options);
  serve.allowed_hosts = options.allowed_hosts;
  if (!options.max_text.empty()) serve.max_text = size_of(options.max_text, "--max-text", engine::kMaxTextBytes);
  if (!options.memory.empty()) serve.memory = size_of(options.memory, "--memory", SIZE_MAX);
  serve.queue = static_cast<std::size_t>(options.queue);
  serve.max_seconds = options.max_seconds;
  serve.keep_layers = options.keep_layers;
  std::ranges::sort(serve.keep_layers);
  serve.keep_layers.erase(std::ranges::unique(serve.keep_layers).begin(), serve.keep_layers.end());
  return serve;
}

// Through the desktop's own program, without a shell. Its child is waited for by nobody: it ends when it has handed on.
void open_browser(const std::string& url) {
  std::string program = "xdg-open", address = url;
  char* arguments[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) write_note("no browser could be opened (xdg-open is missing): open the address by hand");
}

}  // namespace

void run_serve(const Options& options) {
  const serve::ServeOptions chosen = serve_options(options);
  const engine::Session session = open_session(options);
  serve::Server server(session, chosen);
  const WritingScope until_asked;  // Ctrl-C waits for run() to end
  write_output(fmt::format("Sightline looks through {} at {}\n{}{}Ctrl-C ends it\n", session.model().name, server.url(),
                           chosen.api_key.empty() ? "" : "in a browser, open that address with ?key= and the key\n",
                           server.memory_text()));
  if (options.open) open_browser(server.url() + (chosen.api_key.empty() ? "" : "?key=" + chosen.api_key));
  server.run([] { return interrupting_signal() != 0; });
}

}  // namespace sightline::cli
