#include "src/template/json_input.h"

#include "src/tokenizer/unicode.h"

namespace sightline::jinja {

using Json = nlohmann::ordered_json;

std::int32_t JsonInput::add_label(SourceLabel label) {
  labels_.push_back(std::move(label));
  return static_cast<std::int32_t>(labels_.size()) - 1;
}

Value JsonInput::labelled(const Json& json, std::string field) {
  return convert(json, add_label({std::nullopt, std::move(field)}), 0);
}

Value JsonInput::messages(const Json& json) {
  if (!json.is_array()) fail("the messages must be a list");
  std::vector<Value> items;
  for (std::size_t i = 0; i < json.size(); ++i) items.push_back(message(json[i], i));
  return Sequence(Sequence::Kind::list, std::move(items));
}

Value JsonInput::message(const Json& json, std::size_t index) {
  if (!json.is_object()) return convert(json, add_label({index, ""}), 1);
  Dict dict;
  for (const auto& [key, value] : json.items()) {
    const std::int32_t source = add_label({index, key});
    Value held = convert(value, source, 2);
    dict.nesting = std::max(dict.nesting, held.nesting() + 1);
    dict.entries.emplace_back(Value(text(key, source)), std::move(held));
  }
  return dict;
}

Text JsonInput::text(const std::string& bytes, std::int32_t source) {
  if (!tokenizer::is_utf8(bytes)) fail("a string of the messages, or of what comes with them, is not UTF-8");
  budget_.make_text(bytes.size());
  return source < 0 ? Text(bytes) : Text(bytes, source);
}

Value JsonInput::convert(const Json& json, std::int32_t source, std::size_t depth) {
  if (depth > kMaxNesting) fail("the messages are nested too deeply");
  budget_.spend();
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    fail_unsupported("an integer of more than 63 bits");
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return text(json.get_ref<const std::string&>(), source);
  budget_.make(json.size() * sizeof(Value));
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json& item : json) items.push_back(convert(item, source, depth + 1));
    return Sequence(Sequence::Kind::list, std::move(items));
  }
  if (!json.is_object()) fail("binary data is no part of messages");
  Dict dict;
  for (const auto& [key, value] : json.items()) {
    Value held = convert(value, source, depth + 1);
    dict.nesting = std::max(dict.nesting, held.nesting() + 1);
    dict.entries.emplace_back(Value(text(key, source)), std::move(held));
  }
  return dict;
}

}  // namespace sightline::jinja
