// A knock-out as it is typed: Sightline's exceptions are the ones allowed; ranges that were read are ranges, and blanks
// around the whole change nothing.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sightline/error.h"
#include "src/engine/knock_out.h"

namespace {

using sightline::engine::KnockOutSide;

void check(const KnockOutSide& side) {
  const bool numbers = side.kind == KnockOutSide::Kind::words || side.kind == KnockOutSide::Kind::pieces;
  if (numbers && (side.first < 1 || side.last < side.first)) std::abort();
}

bool same(const KnockOutSide& a, const KnockOutSide& b) {
  return a.kind == b.kind && a.name == b.name && a.first == b.first && a.last == b.last;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto spec = sightline::engine::parse_knock_out(text);
    check(spec.from);
    check(spec.to);
    for (const auto& maps : spec.maps) {
      if (maps.first_layer > maps.last_layer || maps.first_head > maps.last_head) std::abort();
    }
    const auto again = sightline::engine::parse_knock_out(" " + std::string(text) + "\n");
    if (!same(spec.from, again.from) || !same(spec.to, again.to) || spec.maps.size() != again.maps.size()) std::abort();
  } catch (const sightline::Error&) {
  }
  return 0;
}
