#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace sightline::cli {
namespace {

volatile std::sig_atomic_t writing = 0;
volatile std::sig_atomic_t arrived = 0;

void on_signal(int signal) {
  if (!writing || arrived) _exit(128 + signal);  // at once when asked twice
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

int interrupting_signal() { return arrived; }

void check_interrupt() {
  if (arrived) throw Interrupted{arrived};
}

}  // namespace sightline::cli
