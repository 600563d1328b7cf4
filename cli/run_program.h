#ifndef SIGHTLINE_CLI_RUN_PROGRAM_H_
#define SIGHTLINE_CLI_RUN_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

namespace sightline::cli::testing {

/// How the program is started. Its environment holds `environment` and HOME alone.
struct Start {
  std::vector<std::string> arguments;  // without the program's name
  std::string input;                   // standard input
  std::map<std::string, std::string> environment;
  int terminal_columns = 0;  // > 0: standard output and error are a terminal that wide
  std::string keys;          // typed into the terminal once `keys_after` bytes were shown on it
  std::size_t keys_after = 1;
  std::string output_to;            // standard output goes to this file, not into `output`
  bool output_closed = false;       // nobody reads standard output
  bool ignore_pipe_signal = false;  // started with SIGPIPE ignored, as by some servers
  int signal = 0;                   // sent a moment after the start, with standard input still open
  std::string signal_at_file_in;    // not before something is in this folder
};

struct Outcome {
  int status = 0;      // 128 + signal when one ended it
  std::string output;  // of a terminal: both streams, \r\n as \n
  std::string error;
};

/// Runs the program's own code in a child process.
Outcome run_program(const Start& start);

/// A folder of its own that goes away with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> names() const;  // what is in it

 private:
  std::string folder_;
};

std::string file_content(const std::string& path);

}  // namespace sightline::cli::testing

#endif  // SIGHTLINE_CLI_RUN_PROGRAM_H_
