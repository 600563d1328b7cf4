#include "src/model/family.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/format/json.h"

namespace sightline::model {
namespace {

constexpr ArchitectureEntry kBertArchitectures[] = {
    {"BertModel", true, false},
    {"BertForMaskedLM", false, true},
    {"BertForPreTraining", true, true},
    {"BertForNextSentencePrediction", true, false},
    {"BertForSequenceClassification", true, false},
    {"BertForMultipleChoice", true, false},
    {"BertForTokenClassification", false, false},
    {"BertForQuestionAnswering", false, false},
};

constexpr FixedKey kBertFixedKeys[] = {
    {"position_embedding_type", R"("absolute")"},
    {"is_decoder", "false"},
    {"add_cross_attention", "false"},
    {"is_encoder_decoder", "false"},
    {"pruned_heads", "{}"},
    {"cross_attention_hidden_size", "null"},
    {"quantization_config", "null"},
};

// Dropout and initialisation act in training alone, labels and task settings in heads that are not run, generation
// settings in generation; ids of special tokens belong to the tokenizer.
constexpr std::string_view kBertIdleKeys[] = {
    "_attn_implementation",
    "_commit_hash",
    "_name_or_path",
    "attention_probs_dropout_prob",
    "attn_implementation",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cls_token_id",
    "decoder_start_token_id",
    "directionality",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "hidden_dropout_prob",
    "id2label",
    "initializer_range",
    "label2id",
    "language",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "min_length",
    "model_max_length",
    "name",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "pad_token_id",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
    "prefix",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
};

constexpr std::string_view kBertBuffers[] = {"embeddings.position_ids", "embeddings.token_type_ids"};
constexpr std::string_view kBertUnusedPrefixes[] = {"cls.seq_relationship.", "classifier.", "qa_outputs."};

constexpr NameMap kBertNames = {
    .prefix = "bert.",
    .word_embedding = "embeddings.word_embeddings",
    .position_embedding = "embeddings.position_embeddings",
    .token_type_embedding = "embeddings.token_type_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .query = "encoder.layer.{}.attention.self.query",
    .key = "encoder.layer.{}.attention.self.key",
    .value = "encoder.layer.{}.attention.self.value",
    .attention_output = "encoder.layer.{}.attention.output.dense",
    .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
    .mlp_up = "encoder.layer.{}.intermediate.dense",
    .mlp_down = "encoder.layer.{}.output.dense",
    .mlp_norm = "encoder.layer.{}.output.LayerNorm",
    .pooler = "pooler.dense",
    .head_dense = "cls.predictions.transform.dense",
    .head_norm = "cls.predictions.transform.LayerNorm",
    .head_output = "cls.predictions.decoder",
    .head_bias = "cls.predictions.bias",
    .buffers = kBertBuffers,
    .unused_prefixes = kBertUnusedPrefixes,
};

constexpr SizeKeys kLlamaKeys = {.width = "hidden_size",
                                 .layers = "num_hidden_layers",
                                 .query_heads = "num_attention_heads",
                                 .kv_heads = "num_key_value_heads",
                                 .head_width = "head_dim",
                                 .inner_width = "intermediate_size",
                                 .max_positions = "max_position_embeddings",
                                 .token_types = "",
                                 .norm_epsilon = "rms_norm_eps",
                                 .activation = "hidden_act"};

constexpr Family kFamilies[] = {
    {.model_type = "bert",
     .keys = {.width = "hidden_size",
              .layers = "num_hidden_layers",
              .query_heads = "num_attention_heads",
              .kv_heads = "",
              .head_width = "",
              .inner_width = "intermediate_size",
              .max_positions = "max_position_embeddings",
              .token_types = "type_vocab_size",
              .norm_epsilon = "layer_norm_eps",
              .activation = "hidden_act"},
     .tied_by_default = true,
     .names = &kBertNames,
     .architectures = kBertArchitectures,
     .fixed_keys = kBertFixedKeys,
     .idle_keys = kBertIdleKeys},
    {.model_type = "gpt2",
     .keys = {.width = "n_embd",
              .layers = "n_layer",
              .query_heads = "n_head",
              .kv_heads = "",
              .head_width = "",
              .inner_width = "n_inner",
              .max_positions = "n_positions",
              .token_types = "",
              .norm_epsilon = "layer_norm_epsilon",
              .activation = "activation_function"},
     .tied_by_default = true},
    {.model_type = "llama", .keys = kLlamaKeys, .tied_by_default = false},
    {.model_type = "mistral", .keys = kLlamaKeys, .tied_by_default = false},
    {.model_type = "qwen3", .keys = kLlamaKeys, .tied_by_default = false},
};

std::string runnable_types() {
  std::string types;
  for (const Family& family : kFamilies) {
    if (family.names != nullptr) types += (types.empty() ? "" : ", ") + std::string(family.model_type);
  }
  return types;
}

[[noreturn]] void refuse(std::string_view model_type, std::string_view file) {
  throw UnsupportedModel(std::string(file) + ": models of type " + format::quote(model_type) +
                         " cannot be run (supported: " + runnable_types() + ")");
}

bool replace_suffix(std::string& name, std::string_view from, std::string_view to) {
  if (!name.ends_with(from)) return false;
  name.replace(name.size() - from.size(), from.size(), to);
  return true;
}

}  // namespace

const Family& find_family(std::string_view model_type, std::string_view file) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return family;
  }
  refuse(model_type, file);
}

const Family& find_runnable_family(std::string_view model_type, std::string_view file) {
  const Family& family = find_family(model_type, file);
  if (family.names == nullptr) refuse(model_type, file);
  return family;
}

std::string canonical_name(const Family& family, std::string_view stored) {
  const NameMap& names = *family.names;
  if (stored.starts_with(names.prefix)) stored.remove_prefix(names.prefix.size());
  if (std::ranges::find(names.buffers, stored) != names.buffers.end()) return {};
  std::string name(stored);
  if (!replace_suffix(name, "LayerNorm.gamma", "LayerNorm.weight")) {
    replace_suffix(name, "LayerNorm.beta", "LayerNorm.bias");
  }
  return name;
}

}  // namespace sightline::model
