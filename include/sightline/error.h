#ifndef SIGHTLINE_ERROR_H_
#define SIGHTLINE_ERROR_H_

#include <stdexcept>
#include <string>

namespace sightline {

/// Base of every exception that Sightline throws. The message is one line, without a full stop at its end,
/// says what is wrong and, where there is one, what to do about it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value that the caller passed cannot be used: shapes that do not fit, an unknown layer, a combination not
/// supported.
class BadArgument : public Error {
 public:
  using Error::Error;
};

/// A file is missing, truncated, malformed, or larger than its kind may be.
class BadFile : public Error {
 public:
  using Error::Error;
};

/// A well-formed model that this version cannot run: its architecture, or a setting that would change the result.
class UnsupportedModel : public Error {
 public:
  using Error::Error;
};

/// Memory could not be had. (Calls that only hand out or copy a small list let std::bad_alloc through.)
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// The caller's Progress said to stop. What was written until then is incomplete.
class Cancelled : public Error {
 public:
  using Error::Error;
};

}  // namespace sightline

#endif  // SIGHTLINE_ERROR_H_
