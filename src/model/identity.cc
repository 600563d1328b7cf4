#include "src/model/identity.h"

#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/format/hash.h"

namespace sightline::model {
namespace {

// A description as one text. Structs are taken apart by bindings, which do not compile once a field is added.
class Writer {
 public:
  void all(const auto&... fields) { (one(fields), ...); }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  requires std::is_arithmetic_v<T>
  void one(T number) { text_ += fmt::format("{};", number); }
  template <class T>
  requires std::is_enum_v<T>
  void one(T choice) { one(static_cast<int>(choice)); }
  void one(const std::string& name) {
    one(name.size());
    text_ += name;
  }
  template <class T>
  void one(const std::optional<T>& value) {
    one(value.has_value());
    if (value) one(*value);
  }
  template <class T>
  void one(const std::vector<T>& list) {
    one(list.size());
    for (const T& item : list) one(item);
  }
  void one(const Rope& rope) {
    const auto& [scaling, base, width, adjacent_pairs, factor, original_positions, low_frequency_factor,
                 high_frequency_factor, beta_fast, beta_slow, truncate, attention_factor, mscale, mscale_all_dim,
                 short_factors, long_factors, divisors] = rope;
    all(scaling, base, width, adjacent_pairs, factor, original_positions, low_frequency_factor, high_frequency_factor,
        beta_fast, beta_slow, truncate, attention_factor, mscale, mscale_all_dim, short_factors, long_factors,
        divisors);
  }
  void one(const LayerPattern& pattern) {
    const auto& [window, rope] = pattern;
    all(window, rope);
  }
  void one(const ExpertSizes& experts) {
    const auto& [count, used, swiglu_limit, swiglu_alpha] = experts;
    all(count, used, swiglu_limit, swiglu_alpha);
  }
  void one(const BiasRules& biases) {
    const auto& [attention_input, attention_output, mlp] = biases;
    all(attention_input, attention_output, mlp);
  }

  std::string text_;
};

}  // namespace

std::string description_hash(const TransformerConfig& config) {
  const auto& [family, architecture, vocabulary, width, embedding_width, layers, layer_groups, query_heads, kv_heads,
               head_width, inner_width, max_positions, position_offset, token_types, position_embedding, ropes, pattern,
               norm, norm_place, embedding_norm, final_norm, norm_epsilon, parallel_residual, mlp, activation,
               head_activation, experts, biases, causal, query_key_norm, sinks, attention_scale, attention_softcap,
               logit_softcap, embedding_scale, pooler, language_head, tied_embeddings, unknown_keys] = config;
  (void)unknown_keys;
  Writer writer;
  writer.all(family, architecture, vocabulary, width, embedding_width, layers, layer_groups, query_heads, kv_heads,
             head_width, inner_width, max_positions, position_offset, token_types, position_embedding, ropes, pattern,
             norm, norm_place, embedding_norm, final_norm, norm_epsilon, parallel_residual, mlp, activation,
             head_activation, experts, biases, causal, query_key_norm, sinks, attention_scale, attention_softcap,
             logit_softcap, embedding_scale, pooler, language_head, tied_embeddings);
  format::Hash hash;
  hash.add(writer.text());
  return hash.text();
}

std::string weights_hash(const format::Checkpoint& checkpoint) {
  format::Hash hash;
  checkpoint.each([&](std::string_view name, const format::Tensor& tensor) {
    hash.add(name);
    hash.add(dtype_name(tensor.dtype));
    for (const std::int64_t size : tensor.shape) hash.add(size);
    hash.add(tensor.bytes);
  });
  return hash.text();
}

}  // namespace sightline::model
