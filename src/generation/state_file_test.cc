// States in files: what goes on from them, and files that are damaged, hostile or of something else.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>

#include "src/format/hash.h"
#include "src/format/testing.h"
#include "src/generation/state_format.h"
#include "src/model/testing.h"

namespace sightline::model {
namespace {

using format::content_of;
using format::error_of;
using format::SafetensorsFile;
using format::TestDirectory;
using nlohmann::json;

const std::filesystem::path kTiny = std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder";

const Model& tiny() {
  static const Model model = open(kTiny);
  return model;
}

GenerationOptions options_of(bool key_mass) {
  GenerationOptions options;
  options.context = 40;
  options.max_tokens = 12;
  options.sampling = {.temperature = 0.8, .seed = 0xfedcba9876543210};
  options.watch = WatchOptions{.top = 3, .key_mass = key_mass};
  options.log_probability = true;
  options.threads = 1;
  return options;
}

PromptTokens prompt() { return {{5, 9, 200, 7, 31, 8}, {0, 0, 1, -1, 1, 1}, 2}; }

// All that a generation gives from here on, as one text.
std::string rest_of(Generation& generation) {
  std::string all;
  generation.run([&](const GeneratedToken& token) {
    all += std::to_string(token.id) + " " + json(*token.log_probability).dump() + " ";
    for (const auto* values :
         {&token.sight->entropy, &token.sight->top_weight, &token.sight->segment_mass, &token.sight->key_mass}) {
      all.append(reinterpret_cast<const char*>(values->data()), values->size() * sizeof(float));
    }
    return true;
  });
  return all;
}

// A state after `steps` tokens.
GenerationState state_after(int steps, GenerationOptions options) {
  Generation generation(tiny(), prompt(), options);
  for (int i = 0; i < steps; ++i) generation.next();
  GenerationState state = generation.take_state();
  state.name_segments({"system", "a document"});
  return state;
}

std::string saved(const TestDirectory& directory, int steps = 4, const GenerationOptions& options = options_of(true)) {
  save_state(directory / "s", tiny(), state_after(steps, options));
  return content_of(directory / "s");
}

GenerationState parse(const std::string& bytes, const Model& model = tiny(), const StateRoom& room = {}) {
  return parse_state(std::as_bytes(std::span(bytes)), "s", model, room);
}

TEST(StateFile, GoesOnWithTheBitsOfOneUninterrupted) {
  const TestDirectory directory;
  for (const auto& [keys, values] :
       {std::pair(DType::f32, DType::f32), std::pair(DType::bf16, DType::f16), std::pair(DType::i8_row, DType::q4_1)}) {
    for (const bool key_mass : {true, false}) {
      GenerationOptions options = options_of(key_mass);
      options.cache = {.keys = keys, .values = values, .page_size = 16};
      for (const int steps : {0, 1, 7}) {
        Generation whole(tiny(), prompt(), options);
        for (int i = 0; i < steps; ++i) whole.next();
        const std::string want = rest_of(whole);
        save_state(directory / "s", tiny(), state_after(steps, options));
        GenerationState state = load_state(directory / "s", tiny(), {.context = 50});
        EXPECT_EQ(state.kept(), steps == 0 ? 0 : 5 + steps);
        EXPECT_EQ(state.has_key_mass(), key_mass);
        EXPECT_EQ(state.segment_names(), (std::vector<std::string>{"system", "a document"}));
        GenerationOptions on = options;
        on.context = 50;
        on.cache.page_size = 0;
        on.max_tokens = 12 - steps;
        PromptTokens next = state.prompt();
        Generation resumed(tiny(), std::move(next), on, std::move(state));
        EXPECT_EQ(resumed.resumed(), steps == 0 ? 0 : 5 + steps);
        EXPECT_EQ(rest_of(resumed), want) << steps << " steps, " << dtype_name(keys);
      }
    }
  }
}

TEST(StateFile, SaysWhatIsInIt) {
  const TestDirectory directory;
  saved(directory);
  const StateFacts facts = inspect_state(directory / "s");
  EXPECT_EQ(facts.context, 40);
  EXPECT_EQ(facts.tokens, 10);
  EXPECT_EQ(facts.kept, 9);
  EXPECT_EQ(facts.cache.keys, DType::f32);
  EXPECT_TRUE(facts.key_mass);
  EXPECT_EQ(facts.seed, 0xfedcba9876543210);
  EXPECT_EQ(facts.drawn, 4u);
  // Keys are there to be read by anybody: [kv heads, tokens, width].
  const SafetensorsFile file = SafetensorsFile::open(directory / "s");
  EXPECT_EQ(file.at("layer.2.keys").shape, (std::vector<std::int64_t>{2, 9, 8}));
  EXPECT_EQ(file.at("layer.1.mass_sums").shape, (std::vector<std::int64_t>{4, 16, 9}));
}

TEST(StateFile, CutAnywhereIsRefused) {
  const TestDirectory directory;
  const std::string bytes = saved(directory);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(parse(bytes.substr(0, size)), BadFile) << size;
  }
  EXPECT_THROW(parse(bytes + '\0'), BadFile);
}

TEST(StateFile, AnyBitThatFlipsIsFound) {
  const TestDirectory directory;
  const std::string bytes = saved(directory);
  std::mt19937 random(3);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    EXPECT_THROW(parse(damaged), BadFile) << "byte " << at;
  }
}

// A file to be changed, whose checksum is made to fit: hashes of the description, then of names, types, shapes and
// bytes.
class HostileFile {
 public:
  explicit HostileFile(const std::string& bytes) {
    const auto file = SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "s");
    description = json::parse(file.metadata().at(kStateKey));
    for (const auto& [name, tensor] : file.tensors()) {
      if (name != "checksum") tensors[name] = {tensor, {tensor.bytes.begin(), tensor.bytes.end()}};
    }
  }

  std::string bytes(const TestDirectory& directory) const {
    const std::string text = description.dump();
    format::SafetensorsWriter writer(directory / "hostile", {{kStateKey, text}});
    format::Hash hash;
    hash.add(text);
    for (const auto& [name, entry] : tensors) {
      writer.declare(name, entry.tensor.dtype, entry.tensor.shape);
      hash.add(name);
      hash.add(std::string_view(dtype_name(entry.tensor.dtype)));
      for (const std::int64_t size : entry.tensor.shape) hash.add(size);
      hash.add(entry.bytes);
    }
    const std::int64_t digits = 32;
    writer.declare("checksum", DType::u8, {&digits, 1});
    for (const auto& [name, entry] : tensors) writer.write(name, entry.bytes);
    const std::string sum = hash.text();
    writer.write("checksum", std::as_bytes(std::span(sum)));
    writer.finish();
    return content_of(directory / "hostile");
  }

  void set_number(const char* name, std::size_t index, std::int32_t value) {
    std::memcpy(tensors.at(name).bytes.data() + 4 * index, &value, 4);
  }

  struct Entry {
    format::Tensor tensor;
    std::vector<std::byte> bytes;
  };
  json description;
  std::map<std::string, Entry> tensors;
};

TEST(StateFile, HostileContentsAreRefused) {
  const TestDirectory directory;
  const HostileFile good(saved(directory));
  EXPECT_EQ(parse(good.bytes(directory)).kept(), 9);  // so that what follows is refused for what it changes
  const std::vector<std::pair<std::function<void(HostileFile&)>, const char*>> cases = {
      {[](auto& f) { f.set_number("tokens", 3, 399); }, "\"tokens\" holds 399, outside 0..398"},
      {[](auto& f) { f.set_number("tokens", 0, -1); }, "\"tokens\" holds -1"},
      {[](auto& f) { f.set_number("segments", 9, 3); }, "\"segments\" holds 3, outside -1..2"},
      {[](auto& f) { f.set_number("segments", 0, -2); }, "\"segments\" holds -2"},
      {[](auto& f) { f.description["kept"] = 10; }, "one must be left"},
      {[](auto& f) { f.description["kept"] = 8; }, "must be F32 [2, 8, 8]"},
      {[](auto& f) { f.description["kept"] = -1; }, "\"kept\""},
      {[](auto& f) { f.description["kept"] = 9.5; }, "\"kept\""},
      {[](auto& f) { f.description["context"] = 8; }, "\"kept\""},
      {[](auto& f) { f.description["context"] = std::int64_t{1} << 40; }, "\"context\""},
      {[](auto& f) { f.description["turned_for"] = 8; }, "\"turned_for\""},
      {[](auto& f) { f.description["turned_for"] = 1000; }, "\"turned_for\""},
      {[](auto& f) { f.description["segment_count"] = -1; }, "\"segment_count\""},
      {[](auto& f) { f.description["segment_count"] = std::int64_t{1} << 31; }, "\"segment_count\""},
      {[](auto& f) { f.description["segment_names"] = {1}; }, "whose name is no text"},
      {[](auto& f) { f.description["segment_names"] = "a"; }, "\"segment_names\""},
      {[](auto& f) { f.description["sampling"]["drawn"] = -1; }, "drawn\""},
      {[](auto& f) { f.description["sampling"]["drawn"] = std::int64_t{1} << 40; }, "drawn\""},
      {[](auto& f) { f.description["sampling"]["seed"] = -1; }, "\"sampling.seed\""},
      {[](auto& f) { f.description.erase("sampling"); }, "\"sampling\""},
      {[](auto& f) { f.description["cache"]["keys"] = "F64"; }, "keeps keys as \"F64\""},
      {[](auto& f) { f.description["cache"]["values"] = "F16"; }, "must be F16"},
      {[](auto& f) { f.description["model"] = 3; }, "\"model\""},
      {[](auto& f) { f.description.erase("tokenizer"); }, "\"tokenizer\""},
      {[](auto& f) { f.tensors.erase("tokens"); }, "tokens"},
      {[](auto& f) { f.tensors.erase("layer.2.values"); }, "layer.2.values"},
      {[](auto& f) { f.tensors.erase("layer.2.mass_sums"); }, "layer.2.mass_sums"},
      {[](auto& f) {
         f.tensors.at("layer.1.keys").tensor.shape = {2, 8, 9};
       },
       "\"layer.1.keys\" must be F32"},
      {[](auto& f) { f.tensors.at("layer.1.keys").tensor.dtype = DType::i32; }, "\"layer.1.keys\" must be F32"},
      {[](auto& f) {
         f.tensors.at("tokens").tensor.shape = {2, 5};
       },
       "tokens"},
      {[](auto& f) { f.description["sightline_state"] = 2; }, "version 2 of the format"},
      {[](auto& f) { f.description["arithmetic_version"] = 0; }, "version 0 of the arithmetic"},
      {[](auto& f) { f.description = json::array(); }, "s: "},
  };
  for (const auto& [change, message] : cases) {
    HostileFile file = good;
    change(file);
    const std::string bytes = file.bytes(directory);
    const std::string error = error_of<BadFile>([&] { parse(bytes); });
    EXPECT_NE(error.find(message), std::string::npos) << error;
    EXPECT_TRUE(error.starts_with("s: ")) << error;
  }
}

TEST(StateFile, NumbersThatAreNoneDoNotCrash) {
  const TestDirectory directory;
  HostileFile file(saved(directory));
  for (const char* name : {"layer.1.keys", "layer.2.values", "layer.1.mass_sums"}) {
    std::ranges::fill(file.tensors.at(name).bytes, std::byte{0xff});
  }
  GenerationState state = parse(file.bytes(directory));
  PromptTokens next = state.prompt();
  Generation generation(tiny(), std::move(next), options_of(true), std::move(state));
  EXPECT_THROW(generation.next(), BadFile);
}

// Of the tiny model with something changed.
class OtherModel {
 public:
  explicit OtherModel(const std::function<void(EditableModel&)>& change, const std::string& tokenizer = {}) {
    EditableModel model(kTiny);
    change(model);
    model.write(directory_.path());
    directory_.put("tokenizer.json", tokenizer.empty() ? content_of(kTiny / "tokenizer.json") : tokenizer);
  }
  Model open() const { return model::open(directory_.path()); }

 private:
  TestDirectory directory_;
};

TEST(StateFile, OfSomethingElseIsRefusedByWhatDiffers) {
  const TestDirectory directory;
  const std::string bytes = saved(directory);
  const auto error = [&](const OtherModel& other) {
    const Model model = other.open();
    return error_of<BadFile>([&] { parse(bytes, model); });
  };
  const OtherModel sizes([](EditableModel& model) { model.config["rms_norm_eps"] = 1e-6; });
  EXPECT_NE(error(sizes).find("is the state of another model: a"), std::string::npos) << error(sizes);
  EXPECT_NE(error(sizes).find("of other sizes or settings"), std::string::npos) << error(sizes);
  std::vector<std::byte> changed;
  const OtherModel weights([&](EditableModel& model) {
    format::Tensor& norm = model.tensors.at("model.norm.weight");
    changed.assign(norm.bytes.begin(), norm.bytes.end());
    changed[5] ^= std::byte{1};
    norm.bytes = changed;
  });
  EXPECT_NE(error(weights).find("of the same sizes with other weights"), std::string::npos) << error(weights);
  const OtherModel tokenizer([](EditableModel&) {}, content_of(kTiny / "tokenizer.json") + "\n");
  EXPECT_NE(error(tokenizer).find("with another tokenizer"), std::string::npos) << error(tokenizer);
  const Model same = OtherModel([](EditableModel&) {}).open();
  EXPECT_EQ(parse(bytes, same).kept(), 9);  // wherever its files are
}

TEST(StateFile, NeedsRoom) {
  const TestDirectory directory;
  const std::string bytes = saved(directory);
  const std::string error = error_of<BadArgument>([&] { parse(bytes, tiny(), {.context = 8}); });
  EXPECT_NE(error.find("the state has 9 tokens and the context holds 8"), std::string::npos) << error;
  EXPECT_EQ(parse(bytes, tiny(), {.context = 9, .page_size = 16}).context(), 9);
}

TEST(StateFile, IsNotAnyOtherFile) {
  const std::string model = content_of(kTiny / "model.safetensors");
  const std::string error = error_of<BadFile>([&] { parse(model); });
  EXPECT_NE(error.find("not a saved state"), std::string::npos) << error;
  EXPECT_THROW(load_state("/nowhere/s", tiny()), BadFile);
  EXPECT_THROW(inspect_state(kTiny / "config.json"), BadFile);
}

struct StopAfter : Progress {
  bool advance(std::int64_t done, std::int64_t total) override { return done < total / 2; }
};

TEST(StateFile, LeavesTheOldOneWhereItIsNotWritten) {
  const TestDirectory directory;
  directory.put("s", "old");
  StopAfter stop;
  EXPECT_THROW(save_state(directory / "s", tiny(), state_after(2, options_of(true)), &stop), Cancelled);
  EXPECT_EQ(content_of(directory / "s"), "old");
  EXPECT_EQ(directory.file_count(), 1u);
  EXPECT_THROW(save_state("/nowhere/s", tiny(), state_after(2, options_of(true))), BadFile);
  EXPECT_THROW(save_state("/dev/full", tiny(), state_after(2, options_of(true))), BadFile);
  const Model other = open(kTiny);
  EXPECT_THROW(save_state(directory / "s", other, state_after(2, options_of(true))), BadArgument);
}

}  // namespace
}  // namespace sightline::model
