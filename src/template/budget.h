#ifndef SIGHTLINE_TEMPLATE_BUDGET_H_
#define SIGHTLINE_TEMPLATE_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace sightline::jinja {

/// What stops a rendering. The interpreter adds the template's name and the line, and throws one of sightline/error.h.
struct Fault {
  enum class Kind : std::uint8_t {
    argument,     // an operation that these values do not allow: Python would raise TypeError, UndefinedError, ...
    unsupported,  // something that Jinja or Python has and this engine has not
    runaway,      // a limit was reached
    refusal,      // raise_exception
  };
  Kind kind;
  std::string message;
};

/// What one rendering may cost. Templates come with models from anywhere: one that runs away ends in a second or two.
struct Limits {
  std::size_t steps = 20'000'000;                  // nodes evaluated, items visited
  std::size_t bytes = std::size_t{1} << 30;        // of all strings and lists made on the way
  std::size_t text_bytes = std::size_t{64} << 20;  // of one string; the result is one
  std::size_t depth = 600;                         // of nodes being evaluated: macros that call themselves
};
constexpr std::size_t kMaxNesting = 200;     // of lists within lists, and of tags and brackets in the source
constexpr std::int64_t kMaxRange = 100'000;  // of range(), as in Jinja's sandbox

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  void spend(std::size_t steps = 1) {
    if (steps > limits_.steps - steps_) throw Fault{Fault::Kind::runaway, "the template takes too many steps"};
    steps_ += steps;
  }
  void make(std::size_t bytes) {
    if (bytes > limits_.bytes - bytes_) throw Fault{Fault::Kind::runaway, "the template makes too much text"};
    bytes_ += bytes;
  }
  void check_text(std::size_t bytes) const {
    if (bytes > limits_.text_bytes) throw Fault{Fault::Kind::runaway, "the template makes a text that is too long"};
  }
  void make_text(std::size_t bytes) {
    check_text(bytes);
    make(bytes);
  }
  const Limits& limits() const { return limits_; }

 private:
  Limits limits_;
  std::size_t steps_ = 0, bytes_ = 0;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_BUDGET_H_
