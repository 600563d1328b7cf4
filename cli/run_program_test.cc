// Not tests themselves: what the tests of this folder start the program with.
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "cli/app.h"
#include "cli/run_program.h"

namespace sightline::cli::testing {
namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  }
  int read_end() const { return ends[0]; }
  int write_end() const { return ends[1]; }
};

std::string read_all(int descriptor) {
  std::string all;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got <= 0) break;  // the other side of a terminal reports EIO at its end
    all.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(descriptor);
  return all;
}

[[noreturn]] void become_program(const Start& start) {
  std::signal(SIGPIPE, start.ignore_pipe_signal ? SIG_IGN : SIG_DFL);
  // The program leaves signals alone that were ignored when it began, as those of tests in the background are.
  for (const int asked : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(asked, SIG_DFL);
  const char* home = std::getenv("HOME");
  const std::string kept = home ? home : "/";
  clearenv();
  setenv("HOME", kept.c_str(), 1);
  for (const auto& [name, value] : start.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> arguments = start.arguments;
  arguments.insert(arguments.begin(), "sightline");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  _exit(run(static_cast<int>(arguments.size()), pointers.data()));
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void feed(const Pipe& pipe, const std::string& input) {
  for (std::size_t at = 0; at < input.size();) {
    const ssize_t written = write(pipe.write_end(), input.data() + at, input.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  close(pipe.write_end());
}

// A program that never writes its file is given up after a minute.
void wait_for_moment(const Start& start) {
  using namespace std::chrono_literals;
  if (start.signal_at_file_in.empty()) return std::this_thread::sleep_for(300ms);
  for (int i = 0; i < 60'000 && std::filesystem::is_empty(start.signal_at_file_in); ++i)
    std::this_thread::sleep_for(1ms);
}

// What is shown before the keys are typed.
std::string type_keys(int terminal, const Start& start) {
  std::string shown;
  std::array<char, 4096> buffer;
  while (shown.size() < start.keys_after) {
    const ssize_t got = read(terminal, buffer.data(), buffer.size());
    if (got <= 0) return shown;
    shown.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (write(terminal, start.keys.data(), start.keys.size()) < 0) throw std::runtime_error("the terminal takes no keys");
  return shown;
}

std::string without_returns(std::string text) {
  std::erase(text, '\r');
  return text;
}

Outcome run_in_terminal(const Start& start) {
  winsize size{};
  size.ws_row = 40;
  size.ws_col = static_cast<unsigned short>(start.terminal_columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) throw std::runtime_error("forkpty");
  if (child == 0) become_program(start);
  Outcome outcome;
  if (!start.keys.empty()) outcome.output = type_keys(terminal, start);
  outcome.output = without_returns(outcome.output + read_all(terminal));
  outcome.status = wait_for(child);
  return outcome;
}

}  // namespace

Outcome run_program(const Start& start) {
  if (start.terminal_columns > 0) return run_in_terminal(start);
  std::signal(SIGPIPE, SIG_IGN);  // the program may end before it has read its input
  const Pipe input, output, error;
  if (start.output_closed) close(output.read_end());
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    dup2(input.read_end(), STDIN_FILENO);
    dup2(start.output_to.empty() ? output.write_end() : open(start.output_to.c_str(), O_WRONLY | O_CREAT, 0600),
         STDOUT_FILENO);
    dup2(error.write_end(), STDERR_FILENO);
    close(input.write_end());
    close(output.read_end());
    become_program(start);
  }
  close(input.read_end());
  close(output.write_end());
  close(error.write_end());
  Outcome outcome;
  std::thread errors([&] { outcome.error = read_all(error.read_end()); });
  std::thread feeder([&] {
    if (start.signal) {
      wait_for_moment(start);
      kill(child, start.signal);
    }
    feed(input, start.input);
  });
  if (!start.output_closed) outcome.output = read_all(output.read_end());
  feeder.join();
  errors.join();
  outcome.status = wait_for(child);
  return outcome;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "sightline-test-XXXXXX";
  if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(folder_); }

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
  return names;
}

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace sightline::cli::testing
