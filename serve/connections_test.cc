#include "serve/connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "serve/http.h"

namespace sightline::serve {
namespace {

// Gives every request an answer of the same length at once.
class Filler : public Answerer {
 public:
  explicit Filler(std::size_t length) : length_(length) {}
  bool answer(HttpRequest /*request*/, Gone /*gone*/, Done done) override {
    done({std::string(length_, 'x'), true});
    return true;
  }
  Reply refusal(int status, const std::string& reason) const override { return Http::refusal(status, reason); }

 private:
  const std::size_t length_;
};

int connect_to(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int room = 4096;  // so that an answer waits in the server until it is read
  setsockopt(client, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return client;
}

std::string read_all(int client) {
  std::string text;
  char bytes[65536];
  for (ssize_t got = 0; (got = recv(client, bytes, sizeof bytes, 0)) > 0;)
    text.append(bytes, static_cast<std::size_t>(got));
  return text;
}

TEST(Connections, HoldNoMoreOfAnswersThanTheyMay) {
  constexpr std::size_t kAnswer = std::size_t{8} << 20;
  constexpr int kClients = 10;
  Listener listener("127.0.0.1", 0);
  Filler filler(kAnswer);
  ConnectionLimits limits;
  limits.transit = 3 * kAnswer + (std::size_t{1} << 20);
  Connections connections(listener.socket(), limits, filler);
  std::atomic<bool> ended = false;
  std::thread server([&] { connections.run([&] { return ended.load(); }); });
  int clients[kClients];
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (int& client : clients) {
    client = connect_to(listener.port());
    EXPECT_EQ(send(client, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  }
  // The refused are told so at once; the others have begun to be answered, and nobody has read.
  int answered = 0, refused = 0;
  for (const int client : clients) {
    char first[9];
    ASSERT_EQ(recv(client, first, sizeof first, MSG_WAITALL | MSG_PEEK), static_cast<ssize_t>(sizeof first));
    (std::string(first, 4) == "HTTP" ? refused : answered) += 1;
  }
  EXPECT_EQ(answered, 3);
  EXPECT_EQ(refused, kClients - 3);
  for (const int client : clients) {
    const std::string text = read_all(client);
    EXPECT_TRUE(text.size() == kAnswer || text.starts_with("HTTP/1.1 503")) << text.size();
    close(client);
  }
  // What was taken makes room again.
  const int again = connect_to(listener.port());
  EXPECT_EQ(send(again, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  EXPECT_EQ(read_all(again).size(), kAnswer);
  close(again);
  ended = true;
  server.join();
}

}  // namespace
}  // namespace sightline::serve
