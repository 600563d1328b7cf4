#include "cli/watch_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "cli/interrupt.h"
#include "cli/streams.h"
#include "sightline/error.h"

namespace sightline::cli {
namespace {

// Alternate buffer, no cursor, no wrapping: a terminal that takes a character for wider than we do keeps its lines.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

// What handlers of signals need: written while there are none, but for the flags.
struct Taken {
  int keys = -1;  // whose settings were changed
  termios before{}, raw{};
  volatile std::sig_atomic_t active = 0, changed = 0;
  volatile std::sig_atomic_t writing = 0, stop_waits = 0;  // a frame, which is not cut in two
};
Taken taken;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void enter() {
  if (taken.active) return;
  taken.active = 1;
  if (taken.keys >= 0) tcsetattr(taken.keys, TCSANOW, &taken.raw);
  write_all(kEnter);
  taken.changed = 1;
}

void leave() {
  if (!taken.active) return;
  taken.active = 0;
  write_all(kLeave);
  if (taken.keys >= 0) tcsetattr(taken.keys, TCSANOW, &taken.before);
}

void on_change(int) { taken.changed = 1; }
void on_continue(int) {
  taken.active = 0;  // the shell has changed its settings meanwhile
  enter();
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// Ctrl-Z: the terminal is given back before the program stops as it would without a handler. Where nobody could let it
// go on (it leads its session), the system does not stop it, and it takes the terminal again at once.
void on_stop(int) {
  if (taken.writing) {
    taken.stop_waits = 1;
    return;
  }
  leave();
  handle(SIGTSTP, SIG_DFL, 0);
  raise(SIGTSTP);  // not blocked: SA_NODEFER
  handle(SIGTSTP, on_stop, SA_NODEFER);
  enter();
}

}  // namespace

bool WatchTerminal::is_there() {
  const char* const term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

WatchTerminal::WatchTerminal(ColourChoice colour) : colour_(colour) {
  if (!is_there()) throw BadFile("standard output is no terminal that could show a screen");
  if (isatty(STDIN_FILENO)) {
    keys_ = STDIN_FILENO;
  } else {
    keys_ = opened_ = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  }
  if (keys_ >= 0 && tcgetattr(keys_, &taken.before) == 0) {
    taken.keys = keys_;
    taken.raw = taken.before;
    taken.raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);  // Ctrl-C and Ctrl-Z stay signals
    taken.raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    taken.raw.c_cc[VMIN] = 1;
    taken.raw.c_cc[VTIME] = 0;
  }
  set_last_act(leave);
  handle(SIGWINCH, on_change, 0);
  handle(SIGCONT, on_continue, 0);
  handle(SIGTSTP, on_stop, SA_NODEFER);
  enter();
}

WatchTerminal::~WatchTerminal() {
  handle(SIGTSTP, SIG_DFL, 0);
  handle(SIGCONT, SIG_DFL, 0);
  handle(SIGWINCH, SIG_DFL, 0);
  leave();
  set_last_act(nullptr);
  taken.keys = -1;
  if (opened_ >= 0) close(opened_);
}

bool WatchTerminal::take_change() {
  const bool changed = taken.changed != 0;
  taken.changed = 0;
  return changed;
}

Terminal WatchTerminal::shows() const {
  Terminal terminal = detect_terminal(STDOUT_FILENO, colour_);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

int WatchTerminal::rows() const {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

std::string WatchTerminal::read_keys(int milliseconds) {
  pollfd typed{keys_, POLLIN, 0};
  if (poll(&typed, keys_ >= 0 ? 1 : 0, milliseconds) <= 0) return {};
  char buffer[256];
  const ssize_t got = read(keys_, buffer, sizeof buffer);
  if (got > 0) return {buffer, static_cast<std::size_t>(got)};
  if (got == 0) keys_ = -1;  // hung up
  return {};
}

void WatchTerminal::write_frame(const std::string& frame) {
  taken.stop_waits = 0;
  taken.writing = 1;
  try {
    write_output(frame);
  } catch (...) {
    taken.writing = 0;
    throw;
  }
  taken.writing = 0;
  if (taken.stop_waits) raise(SIGTSTP);
}

bool WatchTerminal::is_ready() const {
  pollfd screen{STDOUT_FILENO, POLLOUT, 0};
  return poll(&screen, 1, 0) > 0;
}

}  // namespace sightline::cli
