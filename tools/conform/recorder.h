#ifndef SIGHTLINE_TOOLS_CONFORM_RECORDER_H_
#define SIGHTLINE_TOOLS_CONFORM_RECORDER_H_

#include <functional>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sightline::conform {

/// A value that differs from what a case expects. The message says what, where, the expected and the actual value.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Mismatch unless `condition` holds.
inline void expect(bool condition, const std::string& message) {
  if (!condition) throw Mismatch(message);
}

/// A case that cannot be run here; the message is the reason.
class Skipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RecorderOptions {
  std::string filter;    // run only cases whose name contains it
  bool list = false;     // print names, run nothing
  bool verbose = false;  // a line for each case, also for those that pass
};

/// Runs cases one by one and counts how they end.
class Recorder {
 public:
  Recorder(RecorderOptions options, std::ostream& out) : options_(std::move(options)), out_(out) {}

  /// Runs `body` as the case `name`. It passes by returning and is skipped by throwing Skipped, UnsupportedModel, or a
  /// BadArgument that begins with "not supported: "; any other exception is a failure.
  void run(const std::string& name, const std::function<void()>& body);

  /// Whether `name` would run: for work that several cases share.
  bool wanted(const std::string& name) const {
    return name.starts_with(scope_) && name.find(options_.filter) != std::string::npos;
  }
  bool listing() const { return options_.list; }

  /// Prints why cases were skipped, and the closing line. True if no case failed.
  bool finish();

  /// While it lives, only cases whose name begins with `prefix` run.
  class Scope {
   public:
    Scope(Recorder& recorder, std::string prefix) : recorder_(recorder) { recorder.scope_ = std::move(prefix); }
    ~Scope() { recorder_.scope_.clear(); }
    Scope(const Scope&) = delete;

   private:
    Recorder& recorder_;
  };

 private:
  void pass(const std::string& name);
  void fail(const std::string& name, const std::string& message);
  void skip(const std::string& name, const std::string& reason);

  RecorderOptions options_;
  std::string scope_;
  std::ostream& out_;
  int passed_ = 0, failed_ = 0, skipped_ = 0, listed_ = 0;
  std::map<std::string, std::vector<std::string>> names_by_reason_;
};

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_RECORDER_H_
