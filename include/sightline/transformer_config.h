#ifndef SIGHTLINE_TRANSFORMER_CONFIG_H_
#define SIGHTLINE_TRANSFORMER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sightline::model {

enum class Activation : std::uint8_t { gelu, gelu_tanh, relu, silu };  // gelu: exact, with erf

enum class NormKind : std::uint8_t { layer_norm, rms_norm };

/// Where a block x + f(x) has its norms.
enum class NormPlace : std::uint8_t {
  after,   // norm(x + f(x)): BERT and its kind
  before,  // x + f(norm(x)): GPT-2, Llama
  around,  // x + norm'(f(norm(x))): Gemma 2 and 3
};

enum class MlpKind : std::uint8_t {
  plain,    // down(activation(up(x)))
  gated,    // down(activation(gate(x)) * up(x))
  experts,  // the best few of many gated ones, chosen by a router (gpt-oss)
};

/// What turns a rope's base frequencies base^(-2 i / width) into those that are used; names as in config.json's
/// rope_type.
enum class RopeScaling : std::uint8_t {
  none,
  linear,    // divided by factor
  dynamic,   // base grows with the running length beyond original_positions (NTK-aware)
  yarn,      // Peng et al. 2023
  longrope,  // divisors by pair: short ones up to original_positions, long ones beyond, by the running length
  llama3,    // low frequencies divided by factor, a ramp between
  divisors,  // divided pair by pair by `divisors`, as GGUF's rope_freqs.weight has them
};

/// Rotary positions (Su et al. 2021) of a group of layers.
struct Rope {
  RopeScaling scaling = RopeScaling::none;
  double base = 10000;
  std::int64_t width = 0;       // leading elements of a head that are turned, even
  bool adjacent_pairs = false;  // pairs (2i, 2i + 1), as GGUF's llama has them; else (i, i + width / 2)
  double factor = 1;
  std::int64_t original_positions = 0;                         // dynamic, yarn, longrope, llama3
  double low_frequency_factor = 1, high_frequency_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;                        // yarn
  bool truncate = true;                                        // yarn: round the ramp's ends to whole pairs
  std::optional<double> attention_factor;           // of cos and sin; absent: 1, but yarn and longrope compute it
  std::optional<double> mscale, mscale_all_dim;     // yarn
  std::vector<double> short_factors, long_factors;  // longrope, width / 2 each
  std::vector<float> divisors;                      // width / 2

  /// Whether the frequencies follow the running length, so that a longer text changes those of its beginning.
  bool follows_length() const { return scaling == RopeScaling::dynamic || scaling == RopeScaling::longrope; }
};

/// What may differ from layer to layer.
struct LayerPattern {
  std::int64_t window = 0;  // keys a query sees, its own counted; 0: all
  int rope = 0;             // index into TransformerConfig::ropes
};

/// Routed experts: softmax over the `used` largest of the router's `count` logits.
struct ExpertSizes {
  std::int64_t count = 0, used = 0;
  float swiglu_limit = 0, swiglu_alpha = 1;  // (up + 1) * gate * sigmoid(alpha * gate), gate cut at limit, up both ways
};

/// Whether linear layers of a kind have biases.
enum class Biases : std::uint8_t {
  none,
  all,
  as_stored,  // those that the file holds: GGUF has no key for them
};

struct BiasRules {
  Biases attention_input = Biases::none;   // query, key, value
  Biases attention_output = Biases::none;  // of attention
  Biases mlp = Biases::none;               // experts and their router as well
};

/// What turns the last hidden state into logits.
enum class LanguageHead : std::uint8_t {
  none,
  output,     // the output matrix alone: decoders
  transform,  // dense, activation, norm, then the output matrix with a bias: BERT and its kind
};

/// The one description of a transformer that config.json and GGUF metadata are turned into. What the forward pass does
/// follows from these fields and the weights alone, never from the family's name.
struct TransformerConfig {
  std::string family;        // "bert", "llama": model_type of its entry in families_*.cc
  std::string architecture;  // as the file names it: "BertModel", of a GGUF file "llama"
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;            // hidden size
  std::int64_t embedding_width = 0;  // of the embeddings; where it is not `width`, a linear layer follows (ALBERT)
  std::int64_t layers = 0;
  std::int64_t layer_groups = 0;  // weights of layer l are those of group l * layer_groups / layers; ALBERT shares them
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;         // defaults to query_heads
  std::int64_t head_width = 0;       // explicit, else width / query_heads (which must divide)
  std::int64_t inner_width = 0;      // of the MLP, of one expert
  std::int64_t max_positions = 0;    // the longest sequence
  std::int64_t position_offset = 0;  // row of the position embedding of the first token (RoBERTa: pad id + 1, and a
                                     // padding token within a text has the row before, uncounted)
  std::int64_t token_types = 0;      // 0: no token-type embedding
  bool position_embedding = true;    // learned; false: ropes
  std::vector<Rope> ropes;
  std::vector<LayerPattern> pattern;  // of each layer

  NormKind norm = NormKind::layer_norm;
  NormPlace norm_place = NormPlace::after;
  bool embedding_norm = true;
  bool final_norm = false;
  float norm_epsilon = 1e-12f;
  bool parallel_residual = false;  // x + attention(norm(x)) + mlp(norm'(x)): GPT-NeoX

  MlpKind mlp = MlpKind::plain;
  Activation activation = Activation::gelu;
  Activation head_activation = Activation::gelu;  // of LanguageHead::transform
  ExpertSizes experts;
  BiasRules biases;

  bool causal = false;
  bool query_key_norm = false;           // an RMSNorm of each head's query and key, before the rope (Qwen3, Gemma 3)
  bool sinks = false;                    // a learned logit a head (gpt-oss)
  std::optional<float> attention_scale;  // default 1 / sqrt(head_width)
  float attention_softcap = 0, logit_softcap = 0;  // 0: none
  float embedding_scale = 1;                       // factor of the word embedding (Gemma: sqrt(width))

  bool pooler = false;  // from config.json: whether the architecture has one; once loaded: whether the file holds one
  LanguageHead language_head = LanguageHead::none;  // the same
  bool tied_embeddings = true;
  std::vector<std::string> unknown_keys;  // of the file: neither used nor known to be without effect
};

}  // namespace sightline::model

#endif  // SIGHTLINE_TRANSFORMER_CONFIG_H_
