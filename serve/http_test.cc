#include "serve/http.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "src/engine/testing.h"
#include "src/format/json.h"

namespace sightline::serve {
namespace {

class HttpTest : public ::testing::Test {
 protected:
  std::string answer(const std::string& method, const std::string& target, const std::string& body = "") {
    HttpRequest request{method, target, "HTTP/1.1", {{"host", "localhost:80"}}, body};
    if (!body.empty()) request.headers["content-type"] = "application/json";
    return http_.answer(request, gone_).bytes;
  }
  static std::string status(const std::string& answer) { return answer.substr(9, 3); }

  ServeOptions options_;
  engine::Session session_ = engine::Session::open(engine::testing::tiny_model());
  Api api_{session_, options_};
  Gate gate_{options_, 80};
  Http http_{api_, gate_};
  std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
};

TEST_F(HttpTest, AnswersWhatIsDescribed) {
  const nlohmann::json document = format::read_json(engine::testing::source_path("serve/openapi.json"));
  std::set<std::pair<std::string, std::string>> described;
  for (const auto& [path, methods] : document.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      described.emplace(method == "get" ? "GET" : method == "post" ? "POST" : method, path);
    }
  }
  const auto routes = Http::api_routes();
  EXPECT_EQ(described, std::set(routes.begin(), routes.end()));
  for (const auto& [method, path] : routes) {
    const std::string code = status(answer(method, path));
    EXPECT_TRUE(code != "404" && code != "405" && code != "500") << method << ' ' << path << ' ' << code;
  }
}

TEST_F(HttpTest, GivesUpLooksThatNobodyWaitsFor) {
  EXPECT_EQ(status(answer("POST", "/api/look", R"({"text":"the cat"})")), "200");
  *gone_ = true;
  EXPECT_EQ(status(answer("POST", "/api/look", R"({"text":"the dog"})")), "503");
  EXPECT_EQ(status(answer("POST", "/api/look", R"({"text":"the cat"})")), "200");  // which is kept
}

TEST_F(HttpTest, ClosesWhereTheClientAsksForIt) {
  HttpRequest request{"GET", "/health", "HTTP/1.1", {{"host", "localhost:80"}}, ""};
  EXPECT_FALSE(http_.answer(request, gone_).close);
  request.headers["connection"] = "Close";
  EXPECT_TRUE(http_.answer(request, gone_).close);
  request.headers.erase("connection");
  request.version = "HTTP/1.0";
  EXPECT_TRUE(http_.answer(request, gone_).close);
}

TEST_F(HttpTest, SendsNoBodyToHead) {
  HttpRequest request{"HEAD", "", "HTTP/1.1", {}, ""};
  for (const char* host : {"localhost:80", "evil.example", ""}) {
    request.headers["host"] = host;
    for (const char* target : {"/", "/main.js", "/health", "/nothing", "/api/model", "/api/look", "/%61pi/model"}) {
      request.target = target;
      EXPECT_TRUE(http_.answer(request, gone_).bytes.ends_with("\r\n\r\n")) << host << target;
    }
  }
}

// Whatever the key stands before is reached under its own name alone: every letter of every path, written otherwise.
TEST_F(HttpTest, IsNotReachedByOtherSpellingsOfAPath) {
  std::vector<std::string> paths = {"/", "/main.js", "/index.html"};
  for (const auto& [method, path] : Http::api_routes()) paths.push_back(path);
  for (const std::string& path : paths) {
    EXPECT_NE(status(answer("GET", path)), "404") << path;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto code = static_cast<unsigned char>(path[i]);
      for (const std::string& spelling :
           {fmt::format("%{:02x}", code), fmt::format("%{:02X}", code), fmt::format("%u{:04x}", code)}) {
        const std::string other =
            fmt::format("{}{}{}{}", i == 0 ? "/" : "", path.substr(0, i), spelling, path.substr(i + 1));
        EXPECT_EQ(status(answer("GET", other)), "404") << other;
        EXPECT_EQ(status(answer("POST", other + "?a=b", R"({"text":"the cat"})")), "404") << other;
      }
    }
  }
}

TEST_F(HttpTest, LetsNoLineBreakIntoHeaders) {
  for (const char* target : {"/?key=a%0d%0aX:%20y", "/%0d%0aX:%20y", "/api/tile?look=%0d%0aX:y&maps=all"}) {
    EXPECT_EQ(answer("GET", target).find("\nX:"), std::string::npos) << target;
  }
}

}  // namespace
}  // namespace sightline::serve
