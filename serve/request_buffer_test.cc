#include "serve/request_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sightline::serve {
namespace {

using State = RequestBuffer::State;

constexpr RequestLimits kSmall = {.max_head = 200, .max_target = 40, .max_headers = 4, .max_body = 20};

State state_of(std::string_view bytes) { return RequestBuffer(kSmall).feed(bytes); }

int status_of(std::string_view bytes) {
  RequestBuffer buffer(kSmall);
  buffer.feed(bytes);
  return buffer.status();
}

TEST(RequestBuffer, ReadsARequestHoweverItIsCut) {
  const std::string bytes = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nA-Name:  some value \r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RequestBuffer buffer(kSmall);
    EXPECT_EQ(buffer.feed(bytes.substr(0, cut)), cut < bytes.size() ? State::incomplete : State::complete);
    ASSERT_EQ(buffer.feed(bytes.substr(cut)), State::complete);
    const HttpRequest request = buffer.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/a?b=c");
    EXPECT_EQ(request.header("a-name"), "some value");
    EXPECT_EQ(request.header("missing"), "");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(buffer.idle());
  }
}

TEST(RequestBuffer, DecodesChunksHoweverTheyAreCut) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nhel\r\n00002\r\nlo\r\n0\r\nT: "
      "x\r\n\r\nGET";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RequestBuffer buffer(kSmall);
    buffer.feed(bytes.substr(0, cut));
    ASSERT_EQ(buffer.feed(bytes.substr(cut)), State::complete) << cut;
    EXPECT_EQ(buffer.take().body, "hello");
    EXPECT_FALSE(buffer.idle());  // the next one has begun
    EXPECT_EQ(buffer.feed(" /next HTTP/1.0\r\n\r\n"), State::complete);
    EXPECT_EQ(buffer.take().target, "/next");
  }
}

TEST(RequestBuffer, ReadsRequestsThatComeTogether) {
  RequestBuffer buffer(kSmall);
  std::string bytes;
  for (const char* path : {"/1", "/2", "/3"}) bytes += std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  buffer.feed(bytes);
  for (const char* path : {"/1", "/2", "/3"}) {
    ASSERT_EQ(buffer.state(), State::complete);
    EXPECT_EQ(buffer.take().target, path);
  }
  EXPECT_TRUE(buffer.idle());
}

TEST(RequestBuffer, ForgetsEmptyLinesBeforeARequestAtOnce) {
  std::string lines;
  for (int i = 0; i < 4'000'000; ++i) lines += "\r\n";  // one by one it would take hours
  RequestBuffer buffer(kSmall);
  EXPECT_EQ(buffer.feed(lines), State::incomplete);
  EXPECT_TRUE(buffer.idle());
  EXPECT_EQ(buffer.feed("\r"), State::incomplete);
  EXPECT_EQ(buffer.feed("\nGET / HTTP/1.0\r\n\r\n"), State::complete);
}

TEST(RequestBuffer, RefusesWhatIsNoRequest) {
  const std::string line = "GET / HTTP/1.1\r\nHost: x\r\n";
  const std::vector<std::string> malformed = {
      "GET / HTTP/1.1\r\n\r\n",  // no host
      "GET /\r\n\r\n",
      "\n\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
      "GET /# HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n",
      "G-T / HTTP/1.1\r\nHost: x\r\n\r\n",
      line + "Host: y\r\n\r\n",
      line + " folded\r\n\r\n",
      line + ": no name\r\n\r\n",
      line + "a : b\r\n\r\n",
      line + "a: b\nc: d\r\n\r\n",
      line + "a: " + std::string(1, '\0') + "\r\n\r\n",
      line + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
      line + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      line + "Content-Length: 0x1\r\n\r\n",
      line + "Content-Length: -1\r\n\r\n",
      line + "Content-Length: 18446744073709551617\r\n\r\n",
      "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
      line + "Transfer-Encoding: chunked\r\n\r\n\r\n",
      line + "Transfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n",
      line + "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
      line + "Transfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n",  // the chunk's line ends where?
      line + "Transfer-Encoding: chunked\r\n\r\n1;a\rb\r\nx\r\n",
      line + "Transfer-Encoding: chunked\r\n\r\n0\r\na: b\nGET / HTTP/1.1\r\n\r\n",
      line + "Transfer-Encoding: chunked\r\n\r\n0\r\na: " + std::string(1, '\0') + "\r\n\r\n",
  };
  for (const std::string& bytes : malformed) EXPECT_EQ(status_of(bytes), 400) << bytes;
  EXPECT_EQ(status_of(line + "Transfer-Encoding: gzip\r\n\r\n"), 501);
}

TEST(RequestBuffer, HoldsItsLimits) {
  const std::string line = "GET / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(40, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
  EXPECT_EQ(state_of("GET /" + std::string(39, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), State::complete);
  EXPECT_EQ(status_of(std::string(201, 'a')), 431);  // before a line has ended
  EXPECT_EQ(state_of(std::string(200, 'a')), State::incomplete);
  EXPECT_EQ(status_of(line + "a: b\r\nb: c\r\nc: d\r\nd: e\r\n\r\n"), 431);
  EXPECT_EQ(status_of(line + "Content-Length: 21\r\n\r\n"), 413);
  EXPECT_EQ(state_of(line + "Content-Length: 20\r\n\r\n" + std::string(20, 'x')), State::complete);
  const std::string chunked = line + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(chunked + "15\r\n"), 413);
  EXPECT_EQ(status_of(chunked + "a\r\n0123456789\r\nb\r\n"), 413);  // together too many
  EXPECT_EQ(status_of(chunked + "ffffffffffffffff\r\n"), 413);
  EXPECT_EQ(status_of(chunked + std::string(257, '0')), 400);
  std::string trailers = chunked + "0\r\n";
  for (int i = 0; i < 500; ++i) trailers += "name: value\r\n";
  EXPECT_EQ(status_of(trailers), 431);
}

TEST(RequestBuffer, TellsOnceThatTheBodyIsWaitedFor) {
  RequestBuffer buffer(kSmall);
  buffer.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(buffer.take_continue());
  EXPECT_FALSE(buffer.take_continue());
  buffer.feed("ab");
  EXPECT_EQ(buffer.take().body, "ab");
  buffer.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab");
  EXPECT_FALSE(buffer.take_continue());  // it did not wait
}

}  // namespace
}  // namespace sightline::serve
