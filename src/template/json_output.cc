#include "src/template/json_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

std::string unit(unsigned value) {
  char out[12];
  std::snprintf(out, sizeof out, "\\u%04x", value);
  return out;
}

std::string escape(char32_t c, std::string_view bytes, bool ascii) {
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  if (c < 0x80) {
    const std::size_t i = kPlain.find(static_cast<char>(c));
    if (i != kPlain.npos) return std::string("\\") + kLetters[i];
  }
  if (c < 0x20) return unit(c);
  if (!ascii || c < 0x7F) return std::string(bytes);
  if (c <= 0xFFFF) return unit(c);
  return unit(0xD800 + ((c - 0x10000) >> 10)) + unit(0xDC00 + ((c - 0x10000) & 0x3FF));
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

  Text run(const Value& value) {
    write(value);
    return out_.take();
  }

 private:
  void write(const Value& value) {
    budget_.spend();
    if (const Text* text = value.as_text()) return write_text(*text);
    if (const Dict* dict = value.as_dict()) return write_dict(*dict);
    const Sequence* sequence = value.as_sequence();
    const bool is_array =
        sequence != nullptr && (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple);
    if (is_array) return write_array(sequence->items);
    out_.append(scalar(value));
    budget_.make(sizeof(std::int64_t));
  }

  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* flag = value.as_bool()) return *flag ? "true" : "false";
    if (const std::int64_t* integer = value.as_int()) return std::to_string(*integer);
    if (const double* real = value.as_real()) {
      if (std::isnan(*real)) return "NaN";
      return std::isinf(*real) ? (*real < 0 ? "-Infinity" : "Infinity") : real_text(*real);
    }
    if (value.is_undefined()) fail("tojson: " + value.undefined_what());
    fail("a value of type " + std::string(value.type()) + " has no JSON");
  }

  void write_text(const Text& text) {
    out_.append("\"");
    for (std::size_t at = 0; at < text.size();) {
      const auto c = tokenizer::decode_char(text.bytes(), at);
      const std::string_view bytes = std::string_view(text.bytes()).substr(at, c.length);
      out_.append_instead(escape(c.code, bytes, style_.ascii), text, at);
      at += c.length;
    }
    out_.append("\"");
    budget_.make(text.size() + 2);
    budget_.spend(text.size() / 16);
    budget_.check_text(out_.size());
  }

  void new_line() {
    if (!style_.indent) return;
    out_.append("\n");
    budget_.make(level_ * style_.indent->size());
    for (std::size_t i = 0; i < level_; ++i) out_.append(*style_.indent);
    budget_.check_text(out_.size());
  }

  void write_array(const std::vector<Value>& items) {
    if (items.empty()) return out_.append("[]");
    out_.append("[");
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line();
      write(items[i]);
    }
    --level_;
    new_line();
    out_.append("]");
  }

  Text key_text(const Value& key) {
    if (const Text* text = key.as_text()) return *text;
    if (key.as_sequence() != nullptr) fail("a tuple cannot be a key in JSON");
    return Text(scalar(key));
  }

  void write_dict(const Dict& dict) {
    if (dict.entries.empty()) return out_.append("{}");
    auto entries = dict.entries;
    budget_.make(entries.size() * sizeof(entries[0]));
    if (style_.sort_keys) {
      budget_.spend(entries.size() * 16);
      std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
        return compare(a.first, b.first, "<", budget_).value_or(0) < 0;
      });
    }
    out_.append("{");
    ++level_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line();
      write_text(key_text(entries[i].first));
      out_.append(style_.key_separator);
      write(entries[i].second);
    }
    --level_;
    new_line();
    out_.append("}");
  }

  const JsonStyle& style_;
  Budget& budget_;
  TextBuilder out_;
  std::size_t level_ = 0;
};

}  // namespace

Text to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  return JsonWriter(style, budget).run(value);
}

}  // namespace sightline::jinja
