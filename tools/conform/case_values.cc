#include "tools/conform/case_values.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/conform/recorder.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

// The case files' generator: 64-bit state, one value in [-1, 1) a step, exact in fp32.
class Sm64 {
 public:
  explicit Sm64(std::uint64_t seed) : state_(seed) {}
  double next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    z ^= z >> 31;
    return static_cast<double>(z >> 40) * 0x1p-23 - 1;
  }

 private:
  std::uint64_t state_;
};

void append_runs(const json& runs, std::vector<double>& values) {
  for (const json& run : runs) values.insert(values.end(), run.at(1).get<std::size_t>(), case_number(run.at(0)));
}

void append_ranges(const json& rows, std::int64_t width, std::vector<double>& values) {
  for (const json& ranges : rows) {
    std::vector<double> row(width, 0);
    for (const json& range : ranges)
      std::fill(row.begin() + range.at(0).get<int>(), row.begin() + range.at(1).get<int>(), 1);
    values.insert(values.end(), row.begin(), row.end());
  }
}

}  // namespace

double case_number(const json& value) {
  if (!value.is_string()) return value.get<double>();
  if (value == "inf") return INFINITY;
  if (value == "-inf") return -INFINITY;
  if (value == "nan") return NAN;
  throw std::runtime_error("not a number in a case file: " + value.dump());
}

Array case_array(const json& value) {
  Array array{value.at("shape").get<Shape>(), {}};
  if (value.contains("gen")) {
    Sm64 generator(value.at("seed").get<std::uint64_t>());
    const double mul = value.value("mul", 1.0), add = value.value("add", 0.0);
    for (std::int64_t i = 0; i < element_count(array.shape); ++i) array.values.push_back(generator.next() * mul + add);
  } else if (value.contains("rle")) {
    append_runs(value.at("rle"), array.values);
  } else if (value.contains("visible_ranges_per_row")) {
    append_ranges(value.at("visible_ranges_per_row"), array.shape.back(), array.values);
  } else {
    for (const json& number : value.at("data")) array.values.push_back(case_number(number));
  }
  if (static_cast<std::int64_t>(array.values.size()) != element_count(array.shape)) {
    throw std::runtime_error(
        fmt::format("{} values for a shape of {} in a case file", array.values.size(), element_count(array.shape)));
  }
  for (double& number : array.values) number = static_cast<float>(number);
  return array;
}

Input case_input(const json& value) {
  const Array array = case_array(value);
  return Input::of_floats(array.shape, {array.values.begin(), array.values.end()});
}

Input case_mask(const json& value) {
  const Array array = case_array(value);
  const std::vector<std::uint8_t> bytes(array.values.begin(), array.values.end());
  return {DType::boolean, array.shape, bytes.data()};
}

Tolerance case_tolerance(const json& value) { return {value.at("abs"), value.at("rel")}; }

std::vector<std::byte> decode_base64(const std::string& text) {
  static const std::string kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string::npos) break;  // padding
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xFF));
  }
  return bytes;
}

}  // namespace sightline::conform
