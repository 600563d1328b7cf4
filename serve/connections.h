#ifndef SIGHTLINE_SERVE_CONNECTIONS_H_
#define SIGHTLINE_SERVE_CONNECTIONS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "serve/request_buffer.h"

struct pollfd;

namespace sightline::serve {

/// Bytes for the client, and whether the connection ends with them.
struct Reply {
  std::string bytes;
  bool close = false;
};

/// Set once nobody waits for the answer any more.
using Gone = std::shared_ptr<const std::atomic<bool>>;

/// What stands behind the connections. Everything but what answer() queues is called from the thread of run().
class Answerer {
 public:
  using Done = std::function<void(Reply)>;
  virtual ~Answerer() = default;
  /// Has the request answered by another thread, which calls `done` once. False where too many wait already.
  virtual bool answer(HttpRequest request, Gone gone, Done done) = 0;
  /// The answer to what is not answered: malformed requests, timeouts, too many of them.
  virtual Reply refusal(int status, const std::string& reason) const = 0;
};

struct ConnectionLimits {
  RequestLimits request;
  std::size_t connections = 512;
  std::size_t transit = std::size_t{256} << 20;    // bytes of requests and answers, of all connections together
  std::chrono::milliseconds idle{60'000};          // between two requests
  std::chrono::milliseconds request_time{30'000};  // for a whole request to arrive
  std::chrono::milliseconds answer_time{60'000};   // for a whole answer to be taken
  std::chrono::milliseconds linger{2'000};         // for a client to read that it was refused
};

/// All connections of a listening socket, in one thread: a client that is idle or slow, however many there are, costs a
/// descriptor and what it has sent, never a thread. Requests go to the Answerer whole; answers wait here until they are
/// taken. Looks whether clients whose answers are being computed are still there.
class Connections {
 public:
  /// `listener`: owned by the caller, listening, and made not to block.
  Connections(int listener, const ConnectionLimits& limits, Answerer& answerer);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Returns soon after `stop` gives true; it is asked a few times a second, and when a signal came.
  void run(const std::function<bool()>& stop);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase : std::uint8_t { reading, answering, writing, lingering };

  struct Connection {
    int socket = -1;
    std::uint64_t id = 0;
    Phase phase = Phase::reading;
    RequestBuffer in;
    std::string out;
    std::size_t sent = 0;
    std::size_t asked = 0;  // bytes of the request that is answered
    bool close = false;
    Clock::time_point deadline;
    std::shared_ptr<std::atomic<bool>> gone;  // while it is answered
  };
  using Finished = std::pair<std::uint64_t, Reply>;
  // Where threads leave answers. It outlives the connections if an answer comes late.
  struct Mailbox;

  void wait();
  bool dispatch_waiting();
  void accept_clients();
  bool make_room();
  void serve(Connection& connection, short events);
  void receive(Connection& connection);
  void take_bytes(Connection& connection, std::string_view bytes);
  void dispatch(Connection& connection);
  void refuse(Connection& connection, int status, const std::string& reason);
  void reply(Connection& connection, Reply reply);
  void send_some(Connection& connection);
  void after_answer(Connection& connection);
  void drain(Connection& connection);
  void collect_answers();
  void expire();
  void close(Connection& connection);
  void remove_closed();
  std::size_t transit() const;

  const int listener_;
  const ConnectionLimits limits_;
  Answerer& answerer_;
  std::shared_ptr<Mailbox> mailbox_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Connection> connections_;  // in the order in which they came
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_CONNECTIONS_H_
