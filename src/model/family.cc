#include "src/model/family.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/format/json.h"

namespace sightline::model {
namespace {

using FamilyList = std::span<const Family>;

const FamilyList kLists[] = {encoder_families(), gpt_families(), llama_families(), gemma_families()};

constexpr std::string_view kUnquantised = "use a GGUF file of the model, or its weights in F32, F16 or BF16";

constexpr FixedKey kFixedEverywhere[] = {
    {"add_cross_attention", "false"},
    {"is_encoder_decoder", "false"},
    {"pruned_heads", "{}"},
    {"cross_attention_hidden_size", "null"},
    {"quantization_config", "null", kUnquantised},
    {"compression_config", "null", kUnquantised},
};

// Initialisation acts in training alone, labels and task settings in heads that are not run, generation settings in
// generation; ids of special tokens belong to the tokenizer.
constexpr std::string_view kIdleEverywhere[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "_num_labels",
    "attn_implementation",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cls_token_id",
    "decoder_start_token_id",
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
    "id2label",
    "initializer_range",
    "is_llama_config",
    "label2id",
    "language",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "max_sequence_length",
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
    "tie_encoder_decoder",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
};

static_assert(std::ranges::is_sorted(kIdleEverywhere));  // searched by halves

const Family& find(std::string_view Family::*field, std::string_view name, std::string_view file) {
  std::string known;
  for (const FamilyList list : kLists) {
    for (const Family& family : list) {
      const std::string_view here = family.*field;
      if (here.empty()) continue;
      if (here == name) return family;
      known += (known.empty() ? "" : ", ") + std::string(here);
    }
  }
  throw UnsupportedModel(std::string(file) + ": models of type " + format::quote(name) +
                         " cannot be run (supported: " + known + ")");
}

void replace_suffix(std::string& name, std::string_view from, std::string_view to) {
  if (name.ends_with(from)) name.replace(name.size() - from.size(), from.size(), to);
}

// Whether a name ends in whole parts: "h.0.attn.bias" in "attn.bias", not in "tn.bias".
bool ends_with_parts(std::string_view name, std::string_view end) {
  return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
}

}  // namespace

const Family& find_family(std::string_view model_type, std::string_view file) {
  return find(&Family::model_type, model_type, file);
}

const Family& find_gguf_family(std::string_view architecture, std::string_view file) {
  return find(&Family::gguf_architecture, architecture, file);
}

bool is_idle_everywhere(std::string_view key) { return std::ranges::binary_search(kIdleEverywhere, key); }

std::span<const FixedKey> fixed_everywhere() { return kFixedEverywhere; }

std::string canonical_name(const NameMap& names, std::string_view stored) {
  for (const std::string_view prefix : names.prefixes) {
    if (!stored.starts_with(prefix)) continue;
    stored.remove_prefix(prefix.size());
    break;
  }
  if (std::ranges::any_of(names.buffers, [&](std::string_view end) { return ends_with_parts(stored, end); })) return {};
  std::string name(stored);
  replace_suffix(name, "LayerNorm.gamma", "LayerNorm.weight");
  replace_suffix(name, "LayerNorm.beta", "LayerNorm.bias");
  return name;
}

}  // namespace sightline::model
