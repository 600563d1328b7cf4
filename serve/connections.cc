#include "serve/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sightline::serve {
namespace {

constexpr int kTick = 250;  // ms: how often deadlines and `stop` are looked at where nothing happens
constexpr std::size_t kReadAtOnce = 64 << 10;

}  // namespace

struct Connections::Mailbox {
  Mailbox() : wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Mailbox() { ::close(wake); }

  void put(std::uint64_t id, Reply reply) {
    {
      const std::lock_guard lock(mutex);
      finished.emplace_back(id, std::move(reply));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake, &one, sizeof one);
  }
  std::vector<Finished> take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(wake, &count, sizeof count);
    const std::lock_guard lock(mutex);
    return std::exchange(finished, {});
  }

  const int wake;
  std::mutex mutex;
  std::vector<Finished> finished;
};

Connections::Connections(int listener, const ConnectionLimits& limits, Answerer& answerer)
    : listener_(listener), limits_(limits), answerer_(answerer), mailbox_(std::make_shared<Mailbox>()) {}

Connections::~Connections() {
  for (auto& [id, connection] : connections_) close(connection);
}

void Connections::run(const std::function<bool()>& stop) {
  while (!stop()) {
    wait();
    collect_answers();
    expire();
    remove_closed();
  }
  for (auto& [id, connection] : connections_) close(connection);
  remove_closed();
}

// Requests that came together with the one before them. Whether there were any.
bool Connections::dispatch_waiting() {
  bool any = false;
  for (auto& [id, connection] : connections_) {
    if (connection.phase != Phase::reading || connection.in.state() == RequestBuffer::State::incomplete) continue;
    any = true;
    dispatch(connection);
  }
  return any;
}

// Waits for something to happen, and does what it asks for.
void Connections::wait() {
  const int patience = dispatch_waiting() ? 0 : kTick;
  std::vector<pollfd> polled = {{listener_, POLLIN, 0}, {mailbox_->wake, POLLIN, 0}};
  std::vector<Connection*> order;
  for (auto& [id, connection] : connections_) {
    const short events = connection.phase == Phase::writing     ? POLLOUT
                         : connection.phase == Phase::answering ? POLLRDHUP
                                                                : POLLIN;
    const bool known_gone = connection.phase == Phase::answering && *connection.gone;
    polled.push_back({known_gone ? -1 : connection.socket, events, 0});
    order.push_back(&connection);
  }
  if (poll(polled.data(), polled.size(), patience) <= 0) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (polled[i + 2].revents != 0) serve(*order[i], polled[i + 2].revents);
  }
  if (polled[0].revents != 0) accept_clients();
}

void Connections::accept_clients() {
  for (;;) {
    if (connections_.size() >= limits_.connections && !make_room()) return;  // the rest waits in the backlog
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if ((errno == EMFILE || errno == ENFILE) && make_room()) continue;
      return;
    }
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // the end of an answer waits for nothing
    const std::uint64_t id = next_id_++;
    connections_.emplace(id, Connection{.socket = socket,
                                        .id = id,
                                        .in = RequestBuffer(limits_.request),
                                        .out = {},
                                        .deadline = Clock::now() + limits_.request_time,
                                        .gone = nullptr});
  }
}

// Ends the connection that has been idle longest. False where none is.
bool Connections::make_room() {
  Connection* oldest = nullptr;
  for (auto& [id, connection] : connections_) {
    const bool idle = connection.phase == Phase::reading && connection.in.idle() && connection.socket >= 0;
    if (idle && (oldest == nullptr || connection.deadline < oldest->deadline)) oldest = &connection;
  }
  if (oldest == nullptr) return false;
  close(*oldest);
  remove_closed();
  return true;
}

void Connections::serve(Connection& connection, short events) {
  switch (connection.phase) {
    case Phase::reading:
      return receive(connection);
    case Phase::answering:
      *connection.gone = true;  // it hung up: the answer's thread sees this, and collect_answers() closes
      return;
    case Phase::writing:
      if ((events & (POLLERR | POLLHUP)) != 0) return close(connection);
      return send_some(connection);
    case Phase::lingering:
      return drain(connection);
  }
}

void Connections::receive(Connection& connection) {
  char bytes[kReadAtOnce];
  const ssize_t got = recv(connection.socket, bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) return close(connection);
  take_bytes(connection, {bytes, static_cast<std::size_t>(got)});
}

void Connections::take_bytes(Connection& connection, std::string_view bytes) {
  if (connection.in.idle()) connection.deadline = Clock::now() + limits_.request_time;
  connection.in.feed(bytes);
  if (connection.in.state() == RequestBuffer::State::incomplete && transit() > limits_.transit) {
    return refuse(connection, 503, "too many requests are on their way: try again in a moment");
  }
  if (connection.in.take_continue()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    send(connection.socket, kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
  }
  dispatch(connection);
}

// Has the request answered, if it is complete.
void Connections::dispatch(Connection& connection) {
  if (connection.in.state() == RequestBuffer::State::refused) {
    return refuse(connection, connection.in.status(), connection.in.reason());
  }
  if (connection.in.state() != RequestBuffer::State::complete) return;
  if (transit() > limits_.transit) {
    return refuse(connection, 503, "too many answers are on their way: try again in a moment");
  }
  connection.phase = Phase::answering;
  connection.asked = connection.in.size();
  connection.gone = std::make_shared<std::atomic<bool>>(false);
  const auto done = [mailbox = mailbox_, id = connection.id](Reply reply) { mailbox->put(id, std::move(reply)); };
  if (answerer_.answer(connection.in.take(), connection.gone, done)) return;
  refuse(connection, 503, "the server is busy: try again in a moment");
}

void Connections::refuse(Connection& connection, int status, const std::string& reason) {
  reply(connection, answerer_.refusal(status, reason));
}

void Connections::reply(Connection& connection, Reply reply) {
  connection.phase = Phase::writing;
  connection.asked = 0;
  connection.gone = nullptr;
  connection.out = std::move(reply.bytes);
  connection.sent = 0;
  connection.close = reply.close;
  connection.deadline = Clock::now() + limits_.answer_time;
  send_some(connection);
}

void Connections::send_some(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t sent = send(connection.socket, connection.out.data() + connection.sent,
                              connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) return close(connection);
    connection.sent += static_cast<std::size_t>(sent);
  }
  after_answer(connection);
}

// A connection that is closed while its client still sends would be reset, and the answer lost: what comes is read and
// forgotten for a while.
void Connections::after_answer(Connection& connection) {
  connection.out = {};
  if (connection.close) {
    shutdown(connection.socket, SHUT_WR);
    connection.phase = Phase::lingering;
    connection.deadline = Clock::now() + limits_.linger;
    return;
  }
  connection.phase = Phase::reading;
  connection.deadline = Clock::now() + (connection.in.idle() ? limits_.idle : limits_.request_time);
}

void Connections::drain(Connection& connection) {
  char bytes[kReadAtOnce];
  const ssize_t got = recv(connection.socket, bytes, sizeof bytes, 0);
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) close(connection);
}

void Connections::collect_answers() {
  for (auto& [id, answer] : mailbox_->take()) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    if (*connection.gone) {
      close(connection);
    } else if (transit() - connection.asked + answer.bytes.size() > limits_.transit) {
      // Many small requests that were let in may have large answers.
      refuse(connection, 503, "too many answers are on their way: try again in a moment");
    } else {
      reply(connection, std::move(answer));
    }
  }
}

void Connections::expire() {
  const Clock::time_point now = Clock::now();
  for (auto& [id, connection] : connections_) {
    if (connection.socket < 0 || connection.phase == Phase::answering || now < connection.deadline) continue;
    if (connection.phase == Phase::reading && !connection.in.idle()) {
      refuse(connection, 408, "the request did not arrive in time");
    } else {
      close(connection);
    }
  }
}

// It is taken off the list by remove_closed(), so that nobody who goes through the list falls.
void Connections::close(Connection& connection) {
  if (connection.gone) *connection.gone = true;
  if (connection.socket >= 0) ::close(connection.socket);
  connection.socket = -1;
}

void Connections::remove_closed() {
  std::erase_if(connections_, [](const auto& entry) { return entry.second.socket < 0; });
}

std::size_t Connections::transit() const {
  std::size_t bytes = 0;
  for (const auto& [id, connection] : connections_) {
    bytes += connection.in.size() + connection.asked + connection.out.size();
  }
  return bytes;
}

}  // namespace sightline::serve
