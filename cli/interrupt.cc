#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace sightline::cli {
namespace {

volatile std::sig_atomic_t writing = 0;
volatile std::sig_atomic_t arrived = 0;
std::atomic<void (*)()> last_act = nullptr;
static_assert(std::atomic<void (*)()>::is_always_lock_free);  // as handlers of signals need it

void on_signal(int signal) {
  if (!writing || arrived) {  // at once when asked twice
    if (const auto act = last_act.load()) act();
    _exit(128 + signal);
  }
  arrived = signal;
}

}  // namespace

void install_interrupts() {
  std::signal(SIGXFSZ, SIG_IGN);  // a write over the limit of a file's size fails with EFBIG, as on a full disk
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;  // nohup, background jobs
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

WritingScope::WritingScope() { writing = 1; }
WritingScope::~WritingScope() { writing = 0; }

void set_last_act(void (*act)()) { last_act = act; }

int interrupting_signal() { return arrived; }

int take_interrupt() {
  const int signal = arrived;
  arrived = 0;
  return signal;
}

void check_interrupt() {
  if (arrived) throw Interrupted{arrived};
}

}  // namespace sightline::cli
