// How Python prints values: str() and repr().
#include <charconv>
#include <cmath>
#include <cstdio>

#include "src/template/function.h"
#include "src/template/loop.h"
#include "src/template/value.h"
#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

// Digits of a decimal with its point behind `before` of them, as repr() lays them out without an exponent.
std::string plain_digits(const std::string& digits, int before) {
  if (before <= 0) return "0." + std::string(-before, '0') + digits;
  const auto count = static_cast<int>(digits.size());
  if (count <= before) return digits + std::string(before - count, '0') + ".0";
  return digits.substr(0, before) + "." + digits.substr(before);
}

std::string with_exponent(const std::string& digits, int exponent) {
  char tail[16];
  std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
  return digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") + tail;
}

std::string escaped(char32_t c) {
  char out[16];
  if (c <= 0xFF) {
    std::snprintf(out, sizeof out, "\\x%02x", static_cast<unsigned>(c));
  } else if (c <= 0xFFFF) {
    std::snprintf(out, sizeof out, "\\u%04x", static_cast<unsigned>(c));
  } else {
    std::snprintf(out, sizeof out, "\\U%08x", static_cast<unsigned>(c));
  }
  return out;
}

std::string repr_of(char32_t c, char quote, std::string_view bytes) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (c == '\\' || c == static_cast<char32_t>(quote)) return "\\" + std::string(bytes);
  return is_printable(c) ? std::string(bytes) : escaped(c);
}

void append_text_repr(const Text& text, TextBuilder& out) {
  const std::string& bytes = text.bytes();
  const char quote = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos ? '"' : '\'';
  out.append(std::string_view(&quote, 1));
  for (std::size_t at = 0; at < bytes.size();) {
    const auto c = tokenizer::decode_char(bytes, at);
    out.append_instead(repr_of(c.code, quote, std::string_view(bytes).substr(at, c.length)), text, at);
    at += c.length;
  }
  out.append(std::string_view(&quote, 1));
}

void append_range(const Sequence& range, TextBuilder& out) {
  if (range.items.size() < 2) fail_unsupported("printing a short range()");
  const std::int64_t first = *range.items[0].as_int(), step = *range.items[1].as_int() - first;
  const std::int64_t end = *range.items.back().as_int() + (step > 0 ? 1 : -1);
  if (step != 1) fail_unsupported("printing a range() with a step");
  out.append("range(" + std::to_string(first) + ", " + std::to_string(end) + ")");
}

void append_sequence(const Sequence& sequence, TextBuilder& out, Budget& budget) {
  if (sequence.kind == Sequence::Kind::generator) fail_unsupported("printing a generator; use the filter 'list'");
  if (sequence.kind == Sequence::Kind::range) return append_range(sequence, out);
  const bool is_tuple = sequence.kind == Sequence::Kind::tuple;
  const Value type = Sequence(sequence.kind, {});
  if (sequence.is_view()) out.append(std::string(type.type()) + "(");
  out.append(is_tuple ? "(" : "[");
  for (std::size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(sequence.items[i], out, budget);
  }
  if (is_tuple && sequence.items.size() == 1) out.append(",");
  out.append(is_tuple ? ")" : "]");
  if (sequence.is_view()) out.append(")");
}

void append_dict(const Dict& dict, TextBuilder& out, Budget& budget) {
  out.append("{");
  for (std::size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(dict.entries[i].first, out, budget);
    out.append(": ");
    append_repr(dict.entries[i].second, out, budget);
  }
  out.append("}");
}

}  // namespace

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific).ptr;
  const std::string_view shortest(buffer, end - buffer);
  const std::size_t e = shortest.find('e');
  std::string digits(1, shortest[0]);
  if (e > 2) digits += shortest.substr(2, e - 2);
  const int exponent = std::atoi(std::string(shortest.substr(e + 1)).c_str());
  const std::string text =
      exponent < -4 || exponent >= 16 ? with_exponent(digits, exponent) : plain_digits(digits, exponent + 1);
  return value < 0 ? "-" + text : text;
}

void append_repr(const Value& value, TextBuilder& out, Budget& budget) {
  budget.spend();
  const std::size_t before = out.size();
  if (value.is_none()) {
    out.append("None");
  } else if (const bool* flag = value.as_bool()) {
    out.append(*flag ? "True" : "False");
  } else if (const std::int64_t* integer = value.as_int()) {
    out.append(std::to_string(*integer));
  } else if (const double* real = value.as_real()) {
    out.append(real_text(*real));
  } else if (const Text* text = value.as_text()) {
    append_text_repr(*text, out);
  } else if (const Sequence* sequence = value.as_sequence()) {
    return append_sequence(*sequence, out, budget);
  } else if (const Dict* dict = value.as_dict()) {
    return append_dict(*dict, out, budget);
  } else if (value.is_undefined()) {
    out.append("Undefined");
  } else {
    fail_unsupported("printing a " + std::string(value.type()));
  }
  budget.make(out.size() - before);
  budget.check_text(out.size());
}

Text to_text(const Value& value, Budget& budget) {
  if (const Text* text = value.as_text()) return *text;
  if (value.is_undefined()) return Text();
  TextBuilder out;
  append_repr(value, out, budget);
  return out.take();
}

}  // namespace sightline::jinja
