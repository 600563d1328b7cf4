#include "src/template/globals.h"

#include <array>
#include <cstdio>

#include "src/template/interpreter.h"

namespace sightline::jinja {
namespace {

Value range(Interpreter& interpreter, const Arguments& arguments) {
  const Bound bound("range", arguments, {"start", "stop", "step"});
  const bool one = arguments.positional.size() == 1;
  bound.require(0);
  const std::int64_t begin = one ? 0 : bound.count(0, 0), end = bound.count(one ? 0 : 1, 0), step = bound.count(2, 1);
  if (step == 0) fail("range() cannot have a step of 0");
  const std::int64_t distance = step > 0 ? end - begin : begin - end, size = step > 0 ? step : -step;
  const std::int64_t count = distance <= 0 ? 0 : (distance + size - 1) / size;
  if (count > kMaxRange) fail("range() of more than " + std::to_string(kMaxRange) + " numbers");
  interpreter.budget().make(static_cast<std::size_t>(count) * sizeof(Value));
  interpreter.budget().spend(static_cast<std::size_t>(count));
  std::vector<Value> items;
  for (std::int64_t i = 0; i < count; ++i) items.emplace_back(begin + i * step);
  return Sequence(Sequence::Kind::range, std::move(items));
}

// The keys and values of dict(...) and namespace(...): a dict or pairs, then names.
Dict collect(Interpreter& interpreter, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) fail("dict() and namespace() take one value besides names");
  for (const Value& value : arguments.positional) {
    if (const Dict* given = value.as_dict()) {
      dict = *given;
      interpreter.budget().make(dict.entries.size() * sizeof(dict.entries[0]));
      continue;
    }
    for (const Value& pair : items_of(value, interpreter.budget())) {
      const std::vector<Value> items = items_of(pair, interpreter.budget());
      if (items.size() != 2) fail("dict() needs pairs");
      dict.set(items[0], items[1], interpreter.budget());
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value(name), value, interpreter.budget());
  return dict;
}

Value make_dict(Interpreter& interpreter, const Arguments& arguments) { return collect(interpreter, arguments); }

Value make_namespace(Interpreter& interpreter, const Arguments& arguments) {
  Namespace* names = interpreter.make_namespace();
  for (const auto& [key, value] : collect(interpreter, arguments).entries) {
    if (key.as_text() == nullptr) fail("a namespace needs names that are strings");
    names->set(key.as_text()->bytes(), value);
  }
  return names;
}

Value raise_exception(Interpreter& interpreter, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"});
  throw Fault{Fault::Kind::refusal, to_text(bound.require(0), interpreter.budget()).bytes()};
}

Value strftime_now(Interpreter& interpreter, const Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"});
  bound.require(0);
  Text text = format_time(*bound.text(0), interpreter.now());
  interpreter.budget().make_text(text.size());
  return text;
}

constexpr std::array<const char*, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                 "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<const char*, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                              "Thursday", "Friday", "Saturday"};

std::string digits(int value, int width) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%0*d", width, value);
  return buffer;
}

std::string format_numeric(char directive, const std::tm& time, bool padded) {
  const int hour = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
  const int width = padded ? 2 : 1;
  switch (directive) {
    case 'd':
      return digits(time.tm_mday, width);
    case 'm':
      return digits(time.tm_mon + 1, width);
    case 'y':
      return digits((time.tm_year + 1900) % 100, width);
    case 'H':
      return digits(time.tm_hour, width);
    case 'I':
      return digits(hour, width);
    case 'M':
      return digits(time.tm_min, width);
    case 'S':
      return digits(time.tm_sec, width);
    case 'j':
      return digits(time.tm_yday + 1, padded ? 3 : 1);
    default:
      fail_unsupported(std::string("'%") + directive + "' in strftime_now");
  }
}

std::string format_directive(char directive, const std::tm& time) {
  const char* month = kMonths.at(time.tm_mon);
  const char* day = kDays.at(time.tm_wday);
  switch (directive) {
    case 'a':
      return std::string(day, 3);
    case 'A':
      return day;
    case 'b':
      return std::string(month, 3);
    case 'B':
      return month;
    case 'Y':
      return std::to_string(time.tm_year + 1900);
    case 'p':
      return time.tm_hour < 12 ? "AM" : "PM";
    case 'F':
      return format_time(Text("%Y-%m-%d"), time).bytes();
    case 'T':
      return format_time(Text("%H:%M:%S"), time).bytes();
    case 'e':
      return std::string(time.tm_mday < 10 ? 1 : 0, ' ').append(std::to_string(time.tm_mday));
    case '%':
      return "%";
    default:
      return format_numeric(directive, time, true);
  }
}

template <Value (*function)(Interpreter&, const Arguments&)>
GlobalFunction global(std::string_view name) {
  return {name, Function{std::string(name), function}};
}

}  // namespace

Text format_time(const Text& format, const std::tm& time) {
  const std::string& bytes = format.bytes();
  TextBuilder out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '%') {
      out.append(format, i, i + 1);
    } else if (i + 1 < bytes.size() && bytes[i + 1] != '-') {
      out.append_instead(format_directive(bytes[i + 1], time), format, i);
      i += 1;
    } else if (i + 2 < bytes.size()) {
      out.append_instead(format_numeric(bytes[i + 2], time, false), format, i);
      i += 2;
    } else {
      fail_unsupported("'%' at the end of the format of strftime_now");
    }
  }
  return out.take();
}

const std::vector<GlobalFunction>& global_functions() {
  static const std::vector<GlobalFunction> functions = {
      global<range>("range"), global<make_dict>("dict"), global<make_namespace>("namespace"),
      global<raise_exception>("raise_exception"), global<strftime_now>("strftime_now")};
  return functions;
}

}  // namespace sightline::jinja
