#ifndef SIGHTLINE_SERVE_HTTP_ERROR_H_
#define SIGHTLINE_SERVE_HTTP_ERROR_H_

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace sightline::serve {

/// What a client is told instead of an answer. `code` is for programs and stays as it is; the message is for people.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, std::string code, const std::string& message)
      : std::runtime_error(message), status_(status), code_(std::move(code)) {}

  int status() const { return status_; }
  const std::string& code() const { return code_; }

 private:
  int status_;
  std::string code_;
};

/// Seconds after which a client that met a busy server may come again.
inline constexpr int kRetryAfter = 2;

inline std::string error_json(std::string_view code, std::string_view message) {
  const nlohmann::ordered_json json = {{"error", {{"code", code}, {"message", message}}}};
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_HTTP_ERROR_H_
