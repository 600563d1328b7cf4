#include "serve/security.h"

#include <gtest/gtest.h>

#include "serve/http_error.h"
#include "sightline/error.h"

namespace sightline::serve {
namespace {

constexpr char kKey[] = "0123456789abcdef";

// 200, or the status with which it is refused.
int status_of(const Gate& gate, std::map<std::string, std::string, std::less<>> headers,
              const std::string& target = "/api/model") {
  HttpRequest request;
  request.target = target;
  request.headers = std::move(headers);
  try {
    gate.check(request);
    return 200;
  } catch (const HttpError& error) {
    return error.status();
  }
}

TEST(Gate, AsksForAKeyWhereOthersReachIt) {
  for (const char* host : {"127.0.0.1", "127.8.8.8", "localhost", "::1"}) {
    ServeOptions options;
    options.host = host;
    EXPECT_NO_THROW(require_key_for_others(options)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "", "10.0.0.1", "128.0.0.1", "example.org", "127.0.0.1.example.org"}) {
    ServeOptions options;
    options.host = host;
    EXPECT_THROW(require_key_for_others(options), BadArgument) << host;
    options.api_key = kKey;
    EXPECT_NO_THROW(require_key_for_others(options));
  }
}

TEST(Gate, KnowsItsHosts) {
  const Gate gate({}, 80);
  for (const char* host : {"localhost:80", "127.0.0.1:80", "[::1]:80", "LocalHost:80"}) {
    EXPECT_EQ(status_of(gate, {{"host", host}}), 200) << host;
  }
  for (const char* host : {"evil.example:80", "localhost", "localhost:81", "localhost:080", "10.0.0.1:80",
                           "[::1]:", "[::1]", "127.0.0.1.evil.example:80"}) {
    EXPECT_EQ(status_of(gate, {{"host", host}}), 403) << host;
  }
  for (const char* host : {"", ":80", "[::1", "[::1]80", "a:b:c"}) {
    EXPECT_EQ(status_of(gate, {{"host", host}}), 400) << host;
  }
}

TEST(Gate, KnowsItsOrigin) {
  const Gate gate({}, 80);
  const auto with = [&](const char* name, const char* value, const char* target = "/api/model") {
    return status_of(gate, {{"host", "localhost:80"}, {name, value}}, target);
  };
  EXPECT_EQ(with("origin", "http://localhost:80"), 200);
  EXPECT_EQ(with("origin", "https://localhost:80"), 200);  // behind a proxy
  for (const char* origin : {"", "null", "http://localhost", "http://127.0.0.1:80", "http://localhost:80.evil.example",
                             "ftp://localhost:80", "localhost:80", "http://evil.example"}) {
    EXPECT_EQ(with("origin", origin), 403) << origin;
    EXPECT_EQ(with("origin", origin, "/"), 403) << origin;
  }
  EXPECT_EQ(with("sec-fetch-site", "same-origin"), 200);
  EXPECT_EQ(with("sec-fetch-site", "cross-site"), 403);
  EXPECT_EQ(with("sec-fetch-site", "cross-site", "/"), 200);
}

TEST(Gate, KnowsItsKey) {
  ServeOptions options;
  options.api_key = kKey;
  const Gate gate(options, 80);
  const auto with = [&](const char* name, const std::string& value) {
    return status_of(gate, {{"host", "localhost:80"}, {name, value}});
  };
  EXPECT_EQ(with("authorization", std::string("Bearer ") + kKey), 200);
  EXPECT_EQ(with("authorization", std::string("bearer ") + kKey), 200);
  EXPECT_EQ(with("cookie", std::string("x=y; sightline_key=") + kKey), 200);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0",
                            "Bearer 0123456789abcdeF", "Basic 0123456789abcdef"}) {
    EXPECT_EQ(with("authorization", wrong), 401) << wrong;
  }
  for (const char* wrong : {"sightline_key", "sightline_key=", "xsightline_key=0123456789abcdef", ";;;"}) {
    EXPECT_EQ(with("cookie", wrong), 401) << wrong;
  }
  EXPECT_EQ(status_of(gate, {{"host", "localhost:80"}}, "/"), 200);
  EXPECT_EQ(gate.cookie_for("wrong"), "");
  EXPECT_NE(gate.cookie_for(kKey), "");
  EXPECT_EQ(Gate({}, 80).cookie_for(""), "");
}

TEST(Gate, TakesAddressesAndGivenNamesWithAKey) {
  ServeOptions options;
  options.host = "0.0.0.0";
  options.api_key = kKey;
  options.allowed_hosts = {"Lab.Example"};
  const Gate gate(options, 80);
  for (const char* host : {"lab.example", "lab.example:9", "10.1.2.3:9", "[2001:db8::1]", "localhost"}) {
    EXPECT_EQ(status_of(gate, {{"host", host}}, "/"), 200) << host;
  }
  EXPECT_EQ(status_of(gate, {{"host", "other.example"}}, "/"), 403);
}

}  // namespace
}  // namespace sightline::serve
