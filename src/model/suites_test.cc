// Left-padded batches, a long text and GGUF files of the conformance set. What is not there is skipped, by name.

#include <gtest/gtest.h>

#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::SafetensorsFile;

// A row of a padded batch and its greedy continuation: [batch, steps, vocabulary] logits before each token.
void expect_row(const Transformer& transformer, const TokenSequence& prompt, const SafetensorsFile& reference,
                std::size_t row, double tolerance) {
  const std::vector<float> logits = format::to_f32(reference.at("step_logits"));
  const Text tokens = text_of(reference.at("tokens"));
  const std::size_t steps = reference.at("tokens").shape[1], vocabulary = transformer.config().vocabulary;
  Context context = transformer.make_context(static_cast<std::int64_t>(prompt.ids.size() + steps));
  TokenSequence next{prompt.ids, {}, &context};
  for (std::size_t step = row * steps; step < (row + 1) * steps; ++step) {
    const ForwardResult result = transformer.forward({&next, 1}, {.logits = LogitRows::last});
    for (std::size_t i = 0; i < vocabulary; ++i) {
      ASSERT_NEAR(logits[step * vocabulary + i], result.logits[i], tolerance) << "row " << row << " step " << step;
    }
    EXPECT_EQ(tokens.ids[step], best_of(result.logits));
    next.ids = {&tokens.ids[step], 1};
  }
}

TEST(LeftPadding, RowsAreTextsOfTheirOwn) {
  const std::filesystem::path folder = conformance("left_padding");
  const nlohmann::json index = format::read_json(folder / "index.json");
  for (const nlohmann::json& batch : index.at("batches")) {
    SCOPED_TRACE(batch.at("name").get<std::string>());
    const Transformer transformer = Transformer::load(conformance("models") / batch.at("name").get<std::string>());
    const SafetensorsFile reference = SafetensorsFile::open(folder / batch.at("file").get<std::string>());
    const double tolerance = batch.at("tolerance").at("values_rel").get<double>();
    const Text ids = text_of(reference.at("input_ids"));
    std::vector<std::uint8_t> mask;
    for (std::int64_t real : integers(reference.at("attention_mask"))) mask.push_back(static_cast<std::uint8_t>(real));
    const std::vector<TokenSequence> texts = unpadded(ids.ids, mask, reference.at("input_ids").shape[1]);
    MapKeeper keeper;
    const ForwardResult result = transformer.forward(texts, {.observer = &keeper, .logits = LogitRows::last});
    const format::Tensor& logits = reference.at("logits");
    const std::vector<float> want = format::to_f32(logits);
    ASSERT_EQ(want.size(), result.logits.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(want[i], result.logits[i], tolerance * largest(logits)) << i;
    }
    for (std::size_t layer = 0; layer < keeper.maps.size(); ++layer) {
      const format::Tensor& maps = reference.at("attentions." + std::to_string(layer));
      EXPECT_LE(map_difference(keeper.maps[layer], maps, /*left=*/true),
                batch.at("tolerance").at("attentions_abs").get<double>());
    }
    for (std::size_t row = 0; row < texts.size(); ++row) {
      expect_row(transformer, texts[row], reference, row, tolerance * largest(reference.at("step_logits")));
    }
  }
}

TEST(LongText, LogitsAgreeAt4096Tokens) {
  const std::filesystem::path folder = conformance("long");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const Transformer transformer = Transformer::load(folder / "model");
  const SafetensorsFile reference = SafetensorsFile::open(folder / "reference.safetensors");
  const nlohmann::json tolerance = format::read_json(folder / "index.json").at("tolerance");
  const Text text = text_of(reference.at("input_ids"));
  const std::vector<std::int64_t> positions = integers(reference.at("positions"));
  const std::vector<float> want = format::to_f32(reference.at("logits"));
  const double allowed = tolerance.at("logits_rel").get<double>() * largest(reference.at("logits"));
  const TokenSequence view = text.view();
  const ForwardResult whole = transformer.forward({&view, 1}, {.logits = LogitRows::all});
  Context context = transformer.make_context(4096, {.page_size = 64});
  std::vector<float> pieces;
  for (std::int64_t begin = 0; begin < 4096; begin += 1000) {
    const TokenSequence part{
        std::span(text.ids).subspan(begin, std::min<std::int64_t>(1000, 4096 - begin)), {}, &context};
    const std::vector<float> logits = transformer.forward({&part, 1}, {.logits = LogitRows::all}).logits;
    pieces.insert(pieces.end(), logits.begin(), logits.end());
  }
  EXPECT_TRUE(bytes_of(whole.logits) == bytes_of(pieces));
  const std::int64_t vocabulary = transformer.config().vocabulary;
  for (std::size_t p = 0; p < positions.size(); ++p) {
    for (std::int64_t i = 0; i < vocabulary; ++i) {
      ASSERT_NEAR(want[p * vocabulary + i], whole.logits[positions[p] * vocabulary + i], allowed) << positions[p];
    }
  }
}

void expect_gguf_case(const Transformer& transformer, const SafetensorsFile& reference, const std::string& name,
                      double tolerance) {
  const Text text = text_of(reference.at(name + ".input_ids"));
  const format::Tensor& logits = reference.at(name + ".logits");
  const std::vector<float> want = format::to_f32(logits);
  MapKeeper keeper;
  const TokenSequence view = text.view();
  const ForwardResult result = transformer.forward({&view, 1}, {.observer = &keeper, .logits = LogitRows::all});
  ASSERT_EQ(want.size(), result.logits.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(want[i], result.logits[i], tolerance * largest(logits));
  for (std::size_t layer = 0; layer < keeper.maps.size(); ++layer) {
    const format::Tensor& maps = reference.at(name + ".attentions." + std::to_string(layer));
    EXPECT_LE(map_difference(keeper.maps[layer], maps), 1e-4) << "layer " << layer;
  }
}

// In whole, in pieces, on every count of threads the same bits, whatever the type of the weights.
void expect_pieces(const Transformer& transformer, const Text& text) {
  const TokenSequence view = text.view();
  const ForwardResult whole = transformer.forward({&view, 1}, all_of(transformer, 2));
  const std::int64_t length = static_cast<std::int64_t>(text.ids.size());
  Context context = transformer.make_context(length);
  for (std::int64_t begin = 0; begin < length;) {
    const std::int64_t end = std::min(begin == 0 ? length - 5 : begin + 2, length);
    const TokenSequence part{std::span(text.ids).subspan(begin, end - begin), {}, &context};
    const ForwardResult result = transformer.forward({&part, 1}, all_of(transformer, 1));
    EXPECT_TRUE(row_bits(whole, begin, end) == row_bits(result, 0, end - begin)) << begin << ".." << end;
    begin = end;
  }
}

TEST(GgufFiles, AgreeWithTheReference) {
  const std::filesystem::path folder = conformance("gguf");
  int files = 0;
  for (const char* index : {"index.json", "index_more.json"}) {
    if (!std::filesystem::exists(folder / index)) continue;
    const nlohmann::json entries = format::read_json(folder / index);
    for (const nlohmann::json& entry : entries.at("files")) {
      const std::string file = entry.at("file"), name = entry.at("reference");
      if (!std::filesystem::exists(folder / file) || !std::filesystem::exists(folder / name)) continue;
      SCOPED_TRACE(file);
      ++files;
      const Transformer transformer = Transformer::load(folder / file);
      const SafetensorsFile reference = SafetensorsFile::open(folder / name);
      for (const char* of : {"short", "long"}) {
        expect_gguf_case(transformer, reference, of, entry.at("tolerance").at("logits_rel").get<double>());
      }
      const bool follows = std::ranges::any_of(transformer.config().ropes, &Rope::follows_length);
      if (!follows) expect_pieces(transformer, text_of(reference.at("long.input_ids")));
      if (reference.find("gen0.tokens") == nullptr) continue;
      const Text want = text_of(reference.at("gen0.tokens"));
      EXPECT_EQ(want.ids, generate(transformer, text_of(reference.at("gen0.prompt")), want.ids.size()));
    }
  }
  if (files == 0) GTEST_SKIP() << "no GGUF models in " << folder;
}

}  // namespace
}  // namespace sightline::model
