// Descriptions of models as they are published: their config.json key by key, whatever was said there without effect
// included, since a file of these must load without a warning.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "src/format/testing.h"
#include "src/model/config.h"

namespace sightline::model {
namespace {

using format::error_of;
using nlohmann::json;

TransformerConfig parse(const std::string& text) {
  const TransformerConfig config = parse_config(text, "config.json");
  EXPECT_EQ(std::vector<std::string>{}, config.unknown_keys) << config.family;
  return config;
}

struct Sizes {
  std::int64_t vocabulary, width, layers, query_heads, kv_heads, head_width, inner, positions;
  bool operator==(const Sizes&) const = default;
};

void PrintTo(const Sizes& s, std::ostream* out) {
  *out << s.vocabulary << " " << s.width << " " << s.layers << " " << s.query_heads << "/" << s.kv_heads << " x "
       << s.head_width << " " << s.inner << " " << s.positions;
}

Sizes sizes(const TransformerConfig& c) {
  return {c.vocabulary, c.width, c.layers, c.query_heads, c.kv_heads, c.head_width, c.inner_width, c.max_positions};
}

std::int64_t layers_with_window(const TransformerConfig& config, std::int64_t window) {
  return std::ranges::count(config.pattern, window, &LayerPattern::window);
}

TEST(PublishedConfig, Llama31) {
  const TransformerConfig config = parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.42.3", "use_cache": true,
    "vocab_size": 128256})");
  EXPECT_EQ((Sizes{128256, 4096, 32, 32, 8, 128, 14336, 131072}), sizes(config));
  const Rope& rope = config.ropes.at(0);
  EXPECT_EQ(RopeScaling::llama3, rope.scaling);
  EXPECT_EQ(8192, rope.original_positions);
  EXPECT_EQ(500000, rope.base);
  EXPECT_EQ(8, rope.factor);
  EXPECT_FALSE(config.tied_embeddings);
}

TEST(PublishedConfig, SmolLM2) {
  const TransformerConfig config = parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0,
    "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
    "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": true,
    "vocab_size": 49152})");
  EXPECT_EQ((Sizes{49152, 576, 30, 9, 3, 64, 1536, 8192}), sizes(config));
  EXPECT_TRUE(config.tied_embeddings);
}

// A head width that is not width / heads (Nemo), or null (written out by newer software).
TEST(PublishedConfig, Mistral) {
  json config = json::parse(R"({
    "architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
    "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "initializer_range": 0.02, "intermediate_size": 14336,
    "max_position_embeddings": 1024000, "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 40,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.43.0.dev0", "use_cache": true,
    "vocab_size": 131072})");
  const TransformerConfig nemo = parse(config.dump());
  EXPECT_EQ((Sizes{131072, 5120, 40, 32, 8, 128, 14336, 1024000}), sizes(nemo));
  EXPECT_EQ(40, layers_with_window(nemo, 0));
  config.update({{"head_dim", nullptr}, {"hidden_size", 4096}, {"sliding_window", 4096}});
  const TransformerConfig first = parse(config.dump());
  EXPECT_EQ(128, first.head_width);
  EXPECT_EQ(40, layers_with_window(first, 4096));
}

TEST(PublishedConfig, Qwen25AndQwen3) {
  json config = json::parse(R"({
    "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645,
    "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864,
    "max_position_embeddings": 32768, "max_window_layers": 21, "model_type": "qwen2", "num_attention_heads": 14,
    "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
    "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.43.1",
    "use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})");
  const TransformerConfig qwen2 = parse(config.dump());
  EXPECT_EQ((Sizes{151936, 896, 24, 14, 2, 64, 4864, 32768}), sizes(qwen2));
  EXPECT_EQ(24, layers_with_window(qwen2, 0));
  EXPECT_EQ(Biases::all, qwen2.biases.attention_input);
  EXPECT_EQ(Biases::none, qwen2.biases.attention_output);
  config["rope_scaling"] = {{"factor", 4.0}, {"original_max_position_embeddings", 32768}, {"type", "yarn"}};
  const TransformerConfig longer = parse(config.dump());  // as its card says to
  EXPECT_EQ(RopeScaling::yarn, longer.ropes.at(0).scaling);
  EXPECT_EQ(4, longer.ropes.at(0).factor);
  EXPECT_EQ(131072, longer.max_positions);
  config.erase("rope_scaling");
  config.update({{"architectures", {"Qwen3ForCausalLM"}},
                 {"model_type", "qwen3"},
                 {"attention_bias", false},
                 {"head_dim", 128},
                 {"sliding_window", nullptr}});
  const TransformerConfig qwen3 = parse(config.dump());
  EXPECT_EQ(128, qwen3.head_width);
  EXPECT_TRUE(qwen3.query_key_norm);
  EXPECT_EQ(Biases::none, qwen3.biases.attention_input);
}

TEST(PublishedConfig, Gemma2) {
  const TransformerConfig config = parse(R"({
    "architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
    "final_logit_softcapping": 30.0, "head_dim": 128, "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 4608, "initializer_range": 0.02,
    "intermediate_size": 36864, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 32,
    "num_hidden_layers": 46, "num_key_value_heads": 16, "pad_token_id": 0, "query_pre_attn_scalar": 144,
    "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096, "torch_dtype": "float32",
    "transformers_version": "4.42.0.dev0", "use_cache": true, "vocab_size": 256000})");
  EXPECT_EQ((Sizes{256000, 4608, 46, 32, 16, 128, 36864, 8192}), sizes(config));
  EXPECT_FLOAT_EQ(1.0f / 12, config.attention_scale.value());
  EXPECT_FLOAT_EQ(std::sqrt(4608.0f), config.embedding_scale);
  EXPECT_EQ(23, layers_with_window(config, 4096));
  EXPECT_EQ(4096, config.pattern.at(0).window);
  EXPECT_TRUE(config.tied_embeddings);
}

TEST(PublishedConfig, Gemma3) {
  const json types = [] {
    json list;
    for (int layer = 1; layer <= 18; ++layer) list.push_back(layer % 6 == 0 ? "full_attention" : "sliding_attention");
    return list;
  }();
  json config = json::parse(R"({
    "_sliding_window_pattern": 6, "architectures": ["Gemma3ForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "attn_logit_softcapping": null, "bos_token_id": 2, "eos_token_id": 1,
    "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 640,
    "initializer_range": 0.02, "intermediate_size": 2048, "max_position_embeddings": 32768,
    "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 18, "num_key_value_heads": 1,
    "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0,
    "rope_scaling": null, "rope_theta": 1000000.0, "sliding_window": 512, "torch_dtype": "bfloat16",
    "transformers_version": "4.55.0.dev0", "use_bidirectional_attention": false, "use_cache": true,
    "vocab_size": 262144})");
  config["layer_types"] = types;
  const TransformerConfig parsed = parse(config.dump());
  EXPECT_EQ((Sizes{262144, 640, 18, 4, 1, 256, 2048, 32768}), sizes(parsed));
  EXPECT_EQ(15, layers_with_window(parsed, 512));
  EXPECT_EQ(0, parsed.pattern.at(5).window);
  EXPECT_EQ(1000000, parsed.ropes.at(parsed.pattern.at(5).rope).base);
  EXPECT_EQ(10000, parsed.ropes.at(parsed.pattern.at(4).rope).base);
  EXPECT_FLOAT_EQ(1.0f / 16, parsed.attention_scale.value());
}

// All factors are 1 here, which changes no key.
TEST(PublishedConfig, Phi3AndPhi4Mini) {
  json config = json::parse(R"({
    "_name_or_path": "Phi-3-mini-128k-instruct", "architectures": ["Phi3ForCausalLM"], "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config", "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
    "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072,
    "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072, "model_type": "phi3",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
    "original_max_position_embeddings": 4096, "pad_token_id": 32000, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05,
    "rope_scaling": {"type": "longrope"}, "rope_theta": 10000.0, "sliding_window": 262144,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": true,
    "attention_bias": false, "vocab_size": 32064})");
  const json ones(48, 1.0);
  config["rope_scaling"].update({{"short_factor", ones}, {"long_factor", ones}});
  const TransformerConfig phi3 = parse(config.dump());
  EXPECT_EQ((Sizes{32064, 3072, 32, 32, 32, 96, 8192, 131072}), sizes(phi3));
  EXPECT_EQ(RopeScaling::longrope, phi3.ropes.at(0).scaling);
  EXPECT_EQ(4096, phi3.ropes.at(0).original_positions);
  EXPECT_EQ(32, phi3.ropes.at(0).factor);

  config.update({{"num_attention_heads", 24},
                 {"num_key_value_heads", 8},
                 {"partial_rotary_factor", 0.75},
                 {"tie_word_embeddings", true},
                 {"full_attn_mod", 1},
                 {"interpolate_factor", 1},
                 {"lm_head_bias", false},
                 {"mlp_bias", false},
                 {"vocab_size", 200064}});
  const TransformerConfig phi4 = parse(config.dump());
  EXPECT_EQ(128, phi4.head_width);
  EXPECT_EQ(96, phi4.ropes.at(0).width);
  config["lm_head_bias"] = true;
  EXPECT_NE(error_of<UnsupportedModel>([&] { parse(config.dump()); }).find("lm_head_bias"), std::string::npos);
}

TEST(PublishedConfig, GptOssOnceItsWeightsAreNotInBlocks) {
  json config = json::parse(R"({
    "architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0, "eos_token_id": 200002,
    "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880, "initial_context_length": 4096,
    "initializer_range": 0.02, "intermediate_size": 2880, "max_position_embeddings": 131072, "model_type": "gpt_oss",
    "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
    "num_local_experts": 32, "output_router_logits": false, "pad_token_id": 199999, "quantization_config":
    {"modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
    "lm_head"], "quant_method": "mxfp4"}, "rms_norm_eps": 1e-05, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0,
    "factor": 32.0, "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": false},
    "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0,
    "tie_word_embeddings": false, "transformers_version": "4.55.0.dev0", "use_cache": true, "vocab_size": 201088})");
  const std::string message = error_of<UnsupportedModel>([&] { parse(config.dump()); });
  EXPECT_NE(message.find("quantization_config"), message.npos) << message;
  EXPECT_NE(message.find("mxfp4"), message.npos) << message;
  EXPECT_NE(message.find("GGUF"), message.npos) << message;

  config.erase("quantization_config");
  const TransformerConfig parsed = parse(config.dump());
  EXPECT_EQ((Sizes{201088, 2880, 24, 64, 8, 64, 2880, 131072}), sizes(parsed));
  EXPECT_EQ(32, parsed.experts.count);
  EXPECT_EQ(4, parsed.experts.used);
  EXPECT_EQ(12, layers_with_window(parsed, 128));
  EXPECT_FALSE(parsed.ropes.at(0).truncate);
}

TEST(PublishedConfig, Gpt2AndPythia) {
  const TransformerConfig gpt2 = parse(R"({
    "_num_labels": 1, "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
    "initializer_range": 0.02, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
    "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6, "n_positions": 1024, "resid_pdrop": 0.1,
    "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
    "summary_type": "cls_index", "summary_use_proj": true, "task_specific_params": {"text-generation":
    {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})");
  EXPECT_EQ((Sizes{50257, 768, 6, 12, 12, 64, 3072, 1024}), sizes(gpt2));
  EXPECT_TRUE(gpt2.tied_embeddings);

  const TransformerConfig pythia = parse(R"({
    "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
    "hidden_size": 512, "initializer_range": 0.02, "intermediate_size": 2048, "layer_norm_eps": 1e-05,
    "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 8, "num_hidden_layers": 6,
    "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16",
    "transformers_version": "4.24.0", "use_cache": true, "use_parallel_residual": true, "vocab_size": 50304})");
  EXPECT_EQ((Sizes{50304, 512, 6, 8, 8, 64, 2048, 2048}), sizes(pythia));
  EXPECT_EQ(16, pythia.ropes.at(0).width);
  EXPECT_TRUE(pythia.parallel_residual);
}

TEST(PublishedConfig, Encoders) {
  const TransformerConfig distilbert = parse(R"({
    "activation": "gelu", "architectures": ["DistilBertForMaskedLM"], "attention_dropout": 0.1, "dim": 768,
    "dropout": 0.1, "hidden_dim": 3072, "initializer_range": 0.02, "max_position_embeddings": 512,
    "model_type": "distilbert", "n_heads": 12, "n_layers": 6, "pad_token_id": 0, "qa_dropout": 0.1,
    "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": false, "tie_weights_": true,
    "transformers_version": "4.10.0.dev0", "vocab_size": 30522})");
  EXPECT_EQ((Sizes{30522, 768, 6, 12, 12, 64, 3072, 512}), sizes(distilbert));
  EXPECT_EQ(LanguageHead::transform, distilbert.language_head);

  const TransformerConfig xlmr = parse(R"({
    "architectures": ["XLMRobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
    "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
    "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "xlm-roberta",
    "num_attention_heads": 12, "num_hidden_layers": 12, "output_past": true, "pad_token_id": 1,
    "position_embedding_type": "absolute", "transformers_version": "4.17.0.dev0", "type_vocab_size": 1,
    "use_cache": true, "vocab_size": 250002})");
  EXPECT_EQ((Sizes{250002, 768, 12, 12, 12, 64, 3072, 512}), sizes(xlmr));
  EXPECT_EQ(2, xlmr.position_offset);
  EXPECT_FLOAT_EQ(1e-5f, xlmr.norm_epsilon);

  const TransformerConfig bge = parse(R"({
    "_name_or_path": "BAAI/bge-small-en", "architectures": ["BertModel"],
    "attention_probs_dropout_prob": 0.1, "classifier_dropout": null, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "hidden_size": 384, "id2label": {"0": "LABEL_0"}, "initializer_range": 0.02, "intermediate_size": 1536,
    "label2id": {"LABEL_0": 0}, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
    "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute",
    "torch_dtype": "float32", "transformers_version": "4.30.0", "type_vocab_size": 2, "use_cache": true,
    "vocab_size": 30522})");
  EXPECT_EQ((Sizes{30522, 384, 12, 12, 12, 32, 1536, 512}), sizes(bge));
  EXPECT_TRUE(bge.pooler);

  const TransformerConfig albert = parse(R"({
    "architectures": ["AlbertForMaskedLM"], "attention_probs_dropout_prob": 0, "bos_token_id": 2,
    "classifier_dropout_prob": 0.1, "down_scale_factor": 1, "embedding_size": 128, "eos_token_id": 3, "gap_size": 0,
    "hidden_act": "gelu_new", "hidden_dropout_prob": 0, "hidden_size": 768, "initializer_range": 0.02,
    "inner_group_num": 1, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "albert", "net_structure_type": 0, "num_attention_heads": 12, "num_hidden_groups": 1,
    "num_hidden_layers": 12, "num_memory_blocks": 0, "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": 30000})");
  EXPECT_EQ((Sizes{30000, 768, 12, 12, 12, 64, 3072, 512}), sizes(albert));
  EXPECT_EQ(128, albert.embedding_width);
  EXPECT_EQ(1, albert.layer_groups);
}

}  // namespace
}  // namespace sightline::model
