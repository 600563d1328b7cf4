#ifndef SIGHTLINE_CAPI_STATUS_H_
#define SIGHTLINE_CAPI_STATUS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "sightline/error.h"
#include "sightline/sightline.h"
#include "src/capi/functions.h"

namespace sightline::capi {

/// Where a call of the C interface says what went wrong.
struct Message {
  char* text;
  std::size_t size;

  int report(int status, std::string_view line) const {
    if (text != nullptr && size > 0) {
      const std::size_t length = std::min(line.size(), size - 1);
      std::memcpy(text, line.data(), length);
      text[length] = '\0';
    }
    return status;
  }
};

/// Runs a call's body: no exception crosses the C interface.
template <class Body>
int guarded(const Message& message, const Body& body) {
  try {
    body();
    return message.report(SIGHTLINE_OK, "");
  } catch (const BadArgument& error) {
    return message.report(SIGHTLINE_BAD_ARGUMENT, error.what());
  } catch (const OutOfMemory& error) {
    return message.report(SIGHTLINE_OUT_OF_MEMORY, error.what());
  } catch (const Stopped& stopped) {
    return message.report(SIGHTLINE_STOPPED, stopped.what());
  } catch (const Cancelled& cancelled) {
    return message.report(SIGHTLINE_STOPPED, cancelled.what());
  } catch (const std::bad_alloc&) {
    return message.report(SIGHTLINE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return message.report(SIGHTLINE_INTERNAL_ERROR, error.what());
  } catch (...) {
    return message.report(SIGHTLINE_INTERNAL_ERROR, "unknown fault");
  }
}

}  // namespace sightline::capi

#endif  // SIGHTLINE_CAPI_STATUS_H_
