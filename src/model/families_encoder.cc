// BERT and its kind: every token sees every other, norms after the sums, learned positions.

#include "sightline/error.h"
#include "src/model/family.h"

namespace sightline::model {
namespace {

constexpr Traits kTraits = {
    .embedding_norm = true,
    .position_embedding = true,
    .tied = true,
    .biases = {Biases::all, Biases::all, Biases::all},
};

constexpr Traits with_activation(Traits traits, Activation activation) {
  traits.activation = activation;
  return traits;
}

constexpr SizeKeys kKeys = {
    .width = {"hidden_size"},
    .layers = {"num_hidden_layers"},
    .query_heads = {"num_attention_heads"},
    .inner_width = {"intermediate_size"},
    .max_positions = {"max_position_embeddings"},
    .token_types = {"type_vocab_size", 2},
    .norm_epsilon = "layer_norm_eps",
    .activation = "hidden_act",
};

constexpr SizeKeys kAlbertKeys = [] {
  SizeKeys keys = kKeys;
  keys.embedding_width = {"embedding_size", 128};
  return keys;
}();

constexpr SizeKeys kDistilBertKeys = {
    .width = {"dim"},
    .layers = {"n_layers"},
    .query_heads = {"n_heads"},
    .inner_width = {"hidden_dim"},
    .max_positions = {"max_position_embeddings"},
    .norm_epsilon = {},
    .activation = "activation",
};

constexpr ArchitectureEntry kBertClasses[] = {
    {"Model", true},
    {"ForMaskedLM", false, LanguageHead::transform},
    {"ForPreTraining", true, LanguageHead::transform},
    {"ForNextSentencePrediction", true},
    {"ForSequenceClassification", true},
    {"ForMultipleChoice", true},
    {"ForTokenClassification"},
    {"ForQuestionAnswering"},
};

// Their classifiers look at the first token and bring a dense layer of their own.
constexpr ArchitectureEntry kRobertaClasses[] = {
    {"Model", true},
    {"ForMaskedLM", false, LanguageHead::transform},
    {"ForSequenceClassification"},
    {"ForMultipleChoice", true},
    {"ForTokenClassification"},
    {"ForQuestionAnswering"},
};

constexpr ArchitectureEntry kDistilBertClasses[] = {
    {"Model"},
    {"ForMaskedLM", false, LanguageHead::transform},
    {"ForSequenceClassification"},
    {"ForMultipleChoice"},
    {"ForTokenClassification"},
    {"ForQuestionAnswering"},
};

constexpr FixedKey kFixedKeys[] = {
    {"position_embedding_type", R"("absolute")"},
    {"is_decoder", "false"},
    {"sinusoidal_pos_embds", "false"},  // of DistilBERT; its files store the table either way
    {"inner_group_num", "1"},           // of ALBERT: layers within a group, applied in turn
    {"net_structure_type", "0"},
};

// Dropout acts in training alone; the pooler's sizes are the model's.
constexpr std::string_view kIdleKeys[] = {
    "attention_dropout",
    "attention_probs_dropout_prob",
    "classifier_dropout_prob",
    "directionality",
    "down_scale_factor",
    "dropout",
    "gap_size",
    "hidden_dropout_prob",
    "num_memory_blocks",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
    "qa_dropout",
    "seq_classif_dropout",
    "tie_weights_",
};

constexpr std::string_view kBertPrefixes[] = {"bert."};
constexpr std::string_view kRobertaPrefixes[] = {"roberta."};
constexpr std::string_view kAlbertPrefixes[] = {"albert."};
constexpr std::string_view kDistilBertPrefixes[] = {"distilbert."};
constexpr std::string_view kBuffers[] = {"embeddings.position_ids", "embeddings.token_type_ids"};
constexpr std::string_view kUnusedPrefixes[] = {"cls.seq_relationship.", "classifier.", "pre_classifier.",
                                                "sop_classifier.", "qa_outputs."};

constexpr NameMap kBertNames = {
    .prefixes = kBertPrefixes,
    .word_embedding = "embeddings.word_embeddings",
    .position_embedding = "embeddings.position_embeddings",
    .token_type_embedding = "embeddings.token_type_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
    .query = "encoder.layer.{}.attention.self.query",
    .key = "encoder.layer.{}.attention.self.key",
    .value = "encoder.layer.{}.attention.self.value",
    .attention_output = "encoder.layer.{}.attention.output.dense",
    .mlp_norm = "encoder.layer.{}.output.LayerNorm",
    .up = "encoder.layer.{}.intermediate.dense",
    .down = "encoder.layer.{}.output.dense",
    .pooler = "pooler.dense",
    .head_dense = "cls.predictions.transform.dense",
    .head_norm = "cls.predictions.transform.LayerNorm",
    .head_output = "cls.predictions.decoder",
    .head_bias = "cls.predictions.bias",
    .buffers = kBuffers,
    .unused_prefixes = kUnusedPrefixes,
};

constexpr NameMap kRobertaNames = [] {
  NameMap names = kBertNames;
  names.prefixes = kRobertaPrefixes;
  names.head_dense = "lm_head.dense";
  names.head_norm = "lm_head.layer_norm";
  names.head_output = "lm_head.decoder";
  names.head_bias = "lm_head.bias";
  return names;
}();

constexpr NameMap kAlbertNames = {
    .prefixes = kAlbertPrefixes,
    .word_embedding = "embeddings.word_embeddings",
    .position_embedding = "embeddings.position_embeddings",
    .token_type_embedding = "embeddings.token_type_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .embedding_projection = "encoder.embedding_hidden_mapping_in",
    .attention_norm = "encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm",
    .query = "encoder.albert_layer_groups.{}.albert_layers.0.attention.query",
    .key = "encoder.albert_layer_groups.{}.albert_layers.0.attention.key",
    .value = "encoder.albert_layer_groups.{}.albert_layers.0.attention.value",
    .attention_output = "encoder.albert_layer_groups.{}.albert_layers.0.attention.dense",
    .mlp_norm = "encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm",
    .up = "encoder.albert_layer_groups.{}.albert_layers.0.ffn",
    .down = "encoder.albert_layer_groups.{}.albert_layers.0.ffn_output",
    .pooler = "pooler",
    .head_dense = "predictions.dense",
    .head_norm = "predictions.LayerNorm",
    .head_output = "predictions.decoder",
    .head_bias = "predictions.bias",
    .buffers = kBuffers,
    .unused_prefixes = kUnusedPrefixes,
};

constexpr NameMap kDistilBertNames = {
    .prefixes = kDistilBertPrefixes,
    .word_embedding = "embeddings.word_embeddings",
    .position_embedding = "embeddings.position_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .attention_norm = "transformer.layer.{}.sa_layer_norm",
    .query = "transformer.layer.{}.attention.q_lin",
    .key = "transformer.layer.{}.attention.k_lin",
    .value = "transformer.layer.{}.attention.v_lin",
    .attention_output = "transformer.layer.{}.attention.out_lin",
    .mlp_norm = "transformer.layer.{}.output_layer_norm",
    .up = "transformer.layer.{}.ffn.lin1",
    .down = "transformer.layer.{}.ffn.lin2",
    .head_dense = "vocab_transform",
    .head_norm = "vocab_layer_norm",
    .head_output = "vocab_projector",
    .head_bias = "vocab_projector.bias",
    .buffers = kBuffers,
    .unused_prefixes = kUnusedPrefixes,
};

// Rows of the position table up to that of the padding token are not used; the head's activation is always the exact
// GELU.
void read_roberta(const ConfigKeys& keys, TransformerConfig& config) {
  config.position_offset = keys.find_int("pad_token_id", 0, kMaxSize - 1).value_or(1) + 1;
  if (config.position_offset >= config.max_positions) {
    throw BadFile(keys.where("max_position_embeddings") + " must be above pad_token_id + 1, which is " +
                  std::to_string(config.position_offset));
  }
  config.max_positions -= config.position_offset;
  config.head_activation = Activation::gelu;
}

void read_albert(const ConfigKeys& keys, TransformerConfig& config) {
  config.layer_groups = keys.find_int("num_hidden_groups", 1, config.layers).value_or(1);
}

constexpr Family kFamilies[] = {
    {.model_type = "bert",
     .traits = kTraits,
     .keys = kKeys,
     .names = &kBertNames,
     .class_stem = "Bert",
     .architectures = kBertClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "roberta",
     .traits = kTraits,
     .keys = kKeys,
     .names = &kRobertaNames,
     .class_stem = "Roberta",
     .architectures = kRobertaClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys,
     .read = read_roberta},
    {.model_type = "xlm-roberta",
     .traits = kTraits,
     .keys = kKeys,
     .names = &kRobertaNames,
     .class_stem = "XLMRoberta",
     .architectures = kRobertaClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys,
     .read = read_roberta},
    {.model_type = "distilbert",
     .traits = kTraits,
     .keys = kDistilBertKeys,
     .names = &kDistilBertNames,
     .class_stem = "DistilBert",
     .architectures = kDistilBertClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "albert",
     .traits = with_activation(kTraits, Activation::gelu_tanh),
     .keys = kAlbertKeys,
     .names = &kAlbertNames,
     .class_stem = "Albert",
     .architectures = kBertClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys,
     .read = read_albert},
};

}  // namespace

std::span<const Family> encoder_families() { return kFamilies; }

}  // namespace sightline::model
