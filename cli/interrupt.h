#ifndef SIGHTLINE_CLI_INTERRUPT_H_
#define SIGHTLINE_CLI_INTERRUPT_H_

namespace sightline::cli {

/// Thrown where a signal asked the program to stop while a file was being written.
struct Interrupted {
  int signal = 0;
};

/// From here on Ctrl-C (SIGINT), SIGTERM and SIGHUP end the program at once with status 128 + signal, except within a
/// WritingScope.
void install_interrupts();

/// While one lives, a signal waits for check_interrupt(), so that files half written can be taken away.
class WritingScope {
 public:
  WritingScope();
  ~WritingScope();
  WritingScope(const WritingScope&) = delete;
  WritingScope& operator=(const WritingScope&) = delete;
};

/// What is done before a signal ends the program at once, from its handler: functions that are safe there alone. Null:
/// nothing.
void set_last_act(void (*act)());

/// The signal that waits, or 0. A system call that it broke off may have failed for no other reason.
int interrupting_signal();
/// Throws Interrupted if a signal waits.
void check_interrupt();
/// The signal that waits, or 0; it waits no longer.
int take_interrupt();

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_INTERRUPT_H_
