#include "src/template/function.h"

#include <algorithm>

namespace sightline::jinja {

Bound::Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names)
    : function_(function), names_(names), given_(names.size(), nullptr) {
  if (arguments.positional.size() > names_.size()) fail(function_ + "() is given too many arguments");
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) given_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const std::size_t i = std::find(names_.begin(), names_.end(), name.bytes()) - names_.begin();
    if (i == names_.size()) fail(function_ + "() has no argument '" + name.bytes() + "'");
    if (given_[i] != nullptr) fail(function_ + "() is given '" + name.bytes() + "' twice");
    given_[i] = &value;
  }
}

const Value& Bound::require(std::size_t index) const {
  if (!has(index)) fail(function_ + "() needs '" + std::string(names_[index]) + "'");
  return *given_[index];
}

std::int64_t Bound::integer(std::size_t index, std::int64_t otherwise) const {
  if (!has(index)) return otherwise;
  const auto value = given_[index]->integer();
  if (!value) fail(function_ + "(): '" + std::string(names_[index]) + "' must be an integer");
  return *value;
}

std::int64_t Bound::count(std::size_t index, std::int64_t otherwise) const {
  const std::int64_t value = integer(index, otherwise);
  if (value > INT64_C(1) << 32 || value < -(INT64_C(1) << 32)) fail(function_ + "(): a number out of range");
  return value;
}

const Text* Bound::text(std::size_t index) const {
  if (!has(index)) return nullptr;
  const Text* text = given_[index]->as_text();
  if (text == nullptr) fail(function_ + "(): '" + std::string(names_[index]) + "' must be a string");
  return text;
}

std::string_view Bound::string(std::size_t index, std::string_view otherwise) const {
  const Text* given = text(index);
  return given == nullptr ? otherwise : std::string_view(given->bytes());
}

}  // namespace sightline::jinja
