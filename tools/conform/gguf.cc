// gguf/index.json and index_more.json: GGUF files with logits and attention weights of a reference run, tokenizer
// probes, vocabularies, and blocks of every quantised type.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sightline/error.h"
#include "src/format/gguf_testing.h"
#include "src/format/json.h"
#include "src/tensor/blocks.h"
#include "tools/conform/encodings.h"
#include "tools/conform/forward.h"
#include "tools/conform/generation.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
using tokenizer::EncodeOptions;
using tokenizer::Tokenizer;
namespace fs = std::filesystem;

// The index gives none for attention weights: the widest of those that models/index.json has for decoders.
constexpr double kAttentionsAbs = 1.1e-4;
// Of decoded blocks, relative: the order of two multiplications.
constexpr double kBlocksRel = 1e-6;

Tokenizer load_tokenizer(const fs::path& file) { return Tokenizer::from_gguf(format::GgufFile::open(file).metadata()); }

void check_pass(const model::Transformer& transformer, const format::SafetensorsFile& reference,
                const std::string& name, double logits_rel) {
  const Batch batch(reference.at(name + ".input_ids"), nullptr, nullptr);
  const Forward forward = run_forward(transformer, batch, true);
  const Array expected = batch.real_rows(to_array(reference.at(name + ".logits")));
  const auto& got = forward.result.logits;
  expect_close("logits", {expected.shape, {got.begin(), got.end()}}, expected, of_largest(expected, logits_rel));
  for (std::size_t layer = 0; layer < forward.layers.size(); ++layer) {
    const std::string what = fmt::format("{}.attentions.{}", name, layer);
    check_maps(what, forward.layers[layer].maps, batch, to_array(reference.at(what)), kAttentionsAbs);
  }
}

void check_probes(const Tokenizer& tokenizer, const json& probes) {
  for (const json& probe : probes) {
    const std::string text = probe.at("text");
    const std::string of = " of " + probe.at("text").dump(-1, ' ', true);
    EncodeOptions options;
    options.add_special = false;
    expect_equal("ids" + of, ids(tokenizer.encode(text, options)), probe.at("ids"));
    if (!probe.contains("ids_special")) continue;
    options.parse_special = true;
    expect_equal("ids_special" + of, ids(tokenizer.encode(text, options)), probe.at("ids_special"));
  }
}

void run_file(Context& context, const fs::path& directory, const json& entry, const std::string& name) {
  const fs::path path = directory / entry.at("file").get<std::string>();
  const auto reference = [&] {
    return format::SafetensorsFile::open(directory / entry.at("reference").get<std::string>());
  };
  for (const std::string pass : {"short", "long"}) {
    context.recorder.run(name + "/" + pass, [&] {
      check_pass(model::Transformer::load(path), reference(), pass, entry.at("tolerance").at("logits_rel"));
    });
  }
  if (!entry.at("min_generation_margin").is_null()) {
    context.recorder.run(name + "/gen0",
                         [&] { check_generation(model::Transformer::load(path), reference(), "gen0"); });
  }
  context.recorder.run(name + "/tokenizer", [&] { check_probes(load_tokenizer(path), entry.at("tokenizer_cases")); });
}

// A file of one tensor with the raw blocks is read, and what it holds decoded.
void check_block_type(const format::SafetensorsFile& file, const json& format) {
  const std::string type = format.at("type");
  const format::Tensor& raw = file.at(type + ".raw");
  const Array expected = to_array(file.at(type + ".values"));
  const auto elements = static_cast<std::uint64_t>(element_count(expected.shape));
  const std::string bytes = format::GgufBuilder()
                                .string("general.architecture", "llama")
                                .tensor("blocks", {elements}, format.at("id"),
                                        {reinterpret_cast<const char*>(raw.bytes.data()), raw.bytes.size()})
                                .bytes();
  const format::GgufFile parsed = format::parse_gguf(bytes);  // UnsupportedModel: the case is skipped
  const format::Tensor& tensor = parsed.tensors().at("blocks");
  std::vector<float> values(elements);
  if (is_block(tensor.dtype)) {
    decode_blocks(tensor.dtype, tensor.bytes.data(), values);
  } else {
    values = format::to_f32(tensor);  // BF16, which the index lists too
  }
  expect_close("values", {expected.shape, {values.begin(), values.end()}}, expected, {0, kBlocksRel});
}

// Types that are not read are refused by name.
void run_block_type(Context& context, const format::SafetensorsFile& file, const json& format,
                    const std::string& name) {
  const std::string type = format.at("type");
  context.recorder.run(name + "/" + type, [&] {
    try {
      check_block_type(file, format);
    } catch (const UnsupportedModel& refusal) {
      const std::string message = refusal.what();
      expect(message.find(type) != std::string::npos, "refused by a message that does not name it: " + message);
      throw Skipped(fmt::format("blocks of type {} are refused", type));
    }
  });
}

}  // namespace

void run_gguf(Context& context, const fs::path& index, const std::string& prefix) {
  const json content = format::read_json(index);
  const fs::path directory = index.parent_path();
  for (const json& entry : content.at("files")) {
    run_file(context, directory, entry, prefix + "/" + entry.at("name").get<std::string>());
  }
  for (const json& entry : content.value("vocabularies", json::array())) {
    context.recorder.run(prefix + "/" + entry.at("name").get<std::string>(), [&] {
      const fs::path path = directory / entry.at("file").get<std::string>();
      check_probes(load_tokenizer(path), entry.at("tokenizer_cases"));
    });
  }
  if (!content.contains("blocks")) return;
  const auto file = format::SafetensorsFile::open(directory / content.at("blocks").at("file").get<std::string>());
  for (const json& format : content.at("blocks").at("formats")) {
    run_block_type(context, file, format, prefix + "/blocks");
  }
}

}  // namespace sightline::conform
