#include "src/generation/stop_text.h"

#include <algorithm>
#include <utility>

#include "sightline/error.h"

namespace sightline::model {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  if (std::ranges::find(stops_, "") != stops_.end()) throw BadArgument("a text to stop at is empty: leave it out");
  std::ranges::stable_sort(stops_, std::ranges::greater{}, &std::string::size);
}

std::string StopText::add(std::string_view text) {
  if (found_) return {};
  held_ += text;
  std::size_t shown = 0;
  for (; shown < held_.size(); ++shown) {
    const std::string_view rest = std::string_view(held_).substr(shown);
    const auto complete = std::ranges::find_if(stops_, [&](const auto& stop) { return rest.starts_with(stop); });
    if (complete != stops_.end()) {
      found_ = *complete;
      break;
    }
    if (std::ranges::any_of(stops_, [&](const auto& stop) { return stop.starts_with(rest); })) break;
  }
  std::string result = held_.substr(0, shown);
  held_.erase(0, shown);
  return result;
}

std::string StopText::finish() { return found_ ? std::string() : std::exchange(held_, {}); }

}  // namespace sightline::model
