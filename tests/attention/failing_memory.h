#ifndef SIGHTLINE_TESTS_ATTENTION_FAILING_MEMORY_H_
#define SIGHTLINE_TESTS_ATTENTION_FAILING_MEMORY_H_

#include <cstdint>
#include <functional>

namespace sightline::testing {

/// How many requests for memory all threads of the program make during a call, of operator new in all its forms.
std::int64_t requests_of(const std::function<void()>& call);

/// Calls it with each of its requests failing in turn; it must then throw OutOfMemory, after which `check` follows.
/// Returns how many requests were tried.
std::int64_t fail_each_request(const std::function<void()>& call, const std::function<void()>& check);

/// Lets the n-th request from now on fail; 0: none.
void fail_request(std::int64_t n);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_FAILING_MEMORY_H_
