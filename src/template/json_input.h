#ifndef SIGHTLINE_TEMPLATE_JSON_INPUT_H_
#define SIGHTLINE_TEMPLATE_JSON_INPUT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/template/value.h"

namespace sightline::jinja {

/// What a number in Run::source stands for.
struct SourceLabel {
  std::optional<std::size_t> message;
  std::string field;
};

/// Makes values of JSON, and remembers where their strings came from. Throws Fault.
class JsonInput {
 public:
  explicit JsonInput(Budget& budget) : budget_(budget) {}

  Value plain(const nlohmann::ordered_json& json) { return convert(json, -1, 0); }
  Value labelled(const nlohmann::ordered_json& json, std::string field);
  Value messages(const nlohmann::ordered_json& json);
  const std::vector<SourceLabel>& labels() const { return labels_; }

 private:
  std::int32_t add_label(SourceLabel label);
  Value message(const nlohmann::ordered_json& json, std::size_t index);
  Value convert(const nlohmann::ordered_json& json, std::int32_t source, std::size_t depth);
  Text text(const std::string& bytes, std::int32_t source);

  Budget& budget_;
  std::vector<SourceLabel> labels_;
};

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_JSON_INPUT_H_
