#include "src/engine/generation_file.h"

#include <utility>

#include "src/engine/memory.h"
#include "src/format/safetensors.h"

namespace sightline::engine {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A tensor of the file: what it is, and its numbers.
struct Field {
  const char* name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

void GenerationFile::add(const model::GeneratedToken& token) {
  ++steps_;
  token_.push_back(token.id);
  log_probability_.push_back(token.log_probability.value_or(0));
  const model::StepSight& sight = *token.sight;
  row_.push_back(static_cast<std::int32_t>(sight.row));
  append(entropy_, sight.entropy);
  append(sink_weight_, sight.sink_weight);
  append(top_key_, sight.top_key);
  append(top_weight_, sight.top_weight);
  append(segment_mass_, sight.segment_mass);
  last_ = sight;
}

void GenerationFile::write(const std::filesystem::path& path, const PromptedGeneration& prompted,
                           const ReportJson& end) const {
  within_memory(kNoMemoryForReport, [&] {
    std::vector<std::int32_t> tokens = prompted.generation.prompt().ids;
    const auto generated = prompted.generation.tokens();
    tokens.insert(tokens.end(), generated.begin(), generated.end());
    const std::int64_t layers = last_.layers, heads = last_.heads;
    const std::vector<Field> fields = {
        {"tokens", DType::i32, {std::ssize(tokens)}, bytes_of(tokens)},
        {"step.row", DType::i32, {steps_}, bytes_of(row_)},
        {"step.token", DType::i32, {steps_}, bytes_of(token_)},
        {"step.log_probability", DType::f64, {steps_}, bytes_of(log_probability_)},
        {"step.entropy", DType::f32, {steps_, layers, heads}, bytes_of(entropy_)},
        {"step.sink_weight", DType::f32, {steps_, layers, heads}, bytes_of(sink_weight_)},
        {"step.top_key", DType::i32, {steps_, layers, heads, last_.top}, bytes_of(top_key_)},
        {"step.top_weight", DType::f32, {steps_, layers, heads, last_.top}, bytes_of(top_weight_)},
        {"step.segment_mass", DType::f32, {steps_, layers, heads, last_.segments}, bytes_of(segment_mass_)},
        {"col.mass", DType::f32, {layers, heads, last_.keys}, bytes_of(last_.key_mass)},
    };
    format::SafetensorsWriter file(
        path, {{"sightline_generation", report_text(header_)}, {"sightline_generation_end", report_text(end)}});
    const auto has = [&](const Field& field) {
      std::size_t size = dtype_size(field.dtype);
      for (const std::int64_t n : field.shape) size *= static_cast<std::size_t>(n);
      return size == field.bytes.size();  // sinks that a model has not
    };
    for (const Field& field : fields) {
      if (has(field)) file.declare(field.name, field.dtype, field.shape);
    }
    for (const Field& field : fields) {
      if (has(field)) file.write(field.name, field.bytes);
    }
    file.finish();
  });
}

std::int64_t GenerationFile::bytes(const model::TransformerConfig& config, std::int64_t steps, std::int64_t top,
                                   std::int64_t segments) {
  const std::int64_t numbers = 1 + (config.sinks ? 1 : 0) + 2 * top + segments;
  return 4 * steps * config.layers * config.query_heads * numbers;
}

}  // namespace sightline::engine
