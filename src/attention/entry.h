#ifndef SIGHTLINE_ATTENTION_ENTRY_H_
#define SIGHTLINE_ATTENTION_ENTRY_H_

#include <new>
#include <string>
#include <type_traits>

#include "sightline/error.h"
#include "sightline/execution.h"
#include "src/cpu/fp_environment.h"
#include "src/cpu/target.h"

namespace sightline {

/// Throws BadArgument unless it holds. otherwise: the message, or a function that makes it: what holds must not cost
/// memory for words.
template <class Message>
void require(bool holds, const Message& otherwise) {
  if (holds) return;
  if constexpr (std::is_invocable_v<const Message&>) {
    throw BadArgument(otherwise());
  } else {
    throw BadArgument(otherwise);
  }
}

/// Throws BadArgument for a number that is no value of an enum whose values count from 0 to `last`.
template <class Enum>
void require_value(Enum value, Enum last, const char* name) {
  const auto number = static_cast<int>(value);
  require(number >= 0 && number <= static_cast<int>(last), [&] {
    return std::string(name) + " is " + std::to_string(number) + ", which is none of its values, 0 to " +
           std::to_string(static_cast<int>(last));
  });
}

inline void require_options(const AttentionOptions& options) {
  require(options.threads >= 0, "threads must be 0 (as many as the machine has) or more");
  require_value(options.precision, Precision::fast, "precision");
}

/// The surroundings of every entry point: round to nearest (the default scale is rounded too), a target that can run,
/// and documented exceptions: lists are of the standard library, which has its own way of saying that memory is gone.
template <class Body>
auto enter(const char* no_memory, const Body& body) {
  const cpu::ScopedFpEnvironment environment;
  cpu::ensure_target();
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(no_memory);
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_ENTRY_H_
