#ifndef SIGHTLINE_ENGINE_REPORT_NUMBERS_H_
#define SIGHTLINE_ENGINE_REPORT_NUMBERS_H_

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>

#include "src/engine/report.h"

namespace sightline::engine {

/// Turns numbers into JSON and counts those that JSON cannot write.
class ReportNumbers {
 public:
  ReportJson operator()(double value) {
    if (std::isfinite(value)) return value;
    ++not_finite_;
    return nullptr;
  }
  // The decimal that is shortest for fp32: 0.677, not 0.67699998617172241. It reads back as the same float.
  ReportJson operator()(float value) {
    if (!std::isfinite(value)) return (*this)(static_cast<double>(value));
    char digits[32];
    const auto [end, error] = std::to_chars(digits, std::end(digits), value);
    double shortest = value;
    if (error == std::errc()) std::from_chars(digits, end, shortest);
    return shortest;
  }
  template <class Values>
  ReportJson list(const Values& values) {
    ReportJson json = ReportJson::array();
    for (const auto value : values) json.push_back((*this)(value));
    return json;
  }
  // [rows][width].
  ReportJson rows(std::span<const float> values, std::int64_t width) {
    ReportJson json = ReportJson::array();
    const auto step = static_cast<std::size_t>(width);
    for (; !values.empty(); values = values.subspan(step)) json.push_back(list(values.first(step)));
    return json;
  }
  // What `notes` says about `where`, if there is anything to say.
  void note(std::string_view where, ReportJson& notes) const {
    if (not_finite_ == 0) return;
    notes.push_back(fmt::format("{}: {} values are not finite and stand as null", where, not_finite_));
  }

 private:
  std::int64_t not_finite_ = 0;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_REPORT_NUMBERS_H_
