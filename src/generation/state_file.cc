#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sightline/attention.h"
#include "sightline/error.h"
#include "src/format/hash.h"
#include "src/format/json.h"
#include "src/format/safetensors.h"
#include "src/generation/state.h"
#include "src/generation/state_format.h"
#include "src/model/context_cache.h"

namespace sightline::model {
namespace {

using format::JsonObject;
using format::quote;
using format::SafetensorsFile;
using format::Tensor;

constexpr const char* kChecksum = "checksum";

// One tensor of a state: of all its tokens, or of a layer.
struct Part {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  LayerPart of = LayerPart::none;
  std::int64_t layer = 0;
};

std::vector<std::int64_t> rows_shape(const TransformerConfig& config, std::int64_t kept, DType type) {
  const std::int64_t bytes = static_cast<std::int64_t>(row_bytes(type, config.head_width));
  return {config.kv_heads, kept, is_packed(type) ? bytes : config.head_width};
}

// All tensors but the checksum, ascending by name: the order in which they are written and hashed.
std::vector<Part> parts_of(const StateShape& shape, const TransformerConfig& config) {
  std::vector<Part> parts = {{"tokens", DType::i32, {shape.tokens}}};
  if (shape.segments) parts.push_back({"segments", DType::i32, {shape.tokens}});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto add = [&](const char* name, DType dtype, std::vector<std::int64_t> sizes, LayerPart of) {
      parts.push_back({fmt::format("layer.{}.{}", layer + 1, name), dtype, std::move(sizes), of, layer});
    };
    const auto stored = [](DType type) { return is_packed(type) ? DType::u8 : type; };
    add("keys", stored(shape.cache.keys), rows_shape(config, shape.kept, shape.cache.keys), LayerPart::keys);
    add("values", stored(shape.cache.values), rows_shape(config, shape.kept, shape.cache.values), LayerPart::values);
    if (shape.mass) {
      add("mass_sums", DType::f32, {config.query_heads, MassSums::kChains, shape.kept}, LayerPart::mass);
    }
  }
  std::ranges::sort(parts, {}, &Part::name);
  return parts;
}

void hash_part(format::Hash& hash, std::string_view name, DType dtype, std::span<const std::int64_t> shape) {
  hash.add(name);
  hash.add(std::string_view(dtype_name(dtype)));
  for (const std::int64_t size : shape) hash.add(size);
}

nlohmann::json describe_state(const Model& model, const GenerationState::Impl& state) {
  const TransformerIdentity identity = model.transformer.identity();
  const Context::Impl& context = state.context.impl();
  return {{"sightline_state", kStateVersion},
          {"arithmetic_version", kArithmeticVersion},
          {"model",
           {{"architecture", model.transformer.config().architecture},
            {"description", identity.description},
            {"weights", identity.weights}}},
          {"tokenizer", model.tokenizer.identity()},
          {"cache", {{"keys", dtype_name(context.options.keys)}, {"values", dtype_name(context.options.values)}}},
          {"context", context.room},
          {"kept", context.length()},
          {"turned_for", context.length() == 0 ? 0 : context.turned_for},
          {"segment_count", state.segment_count},
          {"segment_names", state.segment_names},
          {"sampling", {{"seed", state.seed}, {"drawn", state.drawn}}}};
}

// Writes a state part by part, with what is written going into its checksum.
class Saver {
 public:
  Saver(const std::filesystem::path& path, const Model& model, const GenerationState::Impl& state)
      : state_(state),
        config_(model.transformer.config()),
        description_(describe_state(model, state).dump()),
        file_(path, {{kStateKey, description_}}) {}

  void save(Progress* progress) {
    const Context::Impl& context = state_.context.impl();
    const StateShape shape{std::ssize(state_.tokens), context.length(), !state_.segments.empty(),
                           !state_.mass.layers.empty(), context.options};
    const std::vector<Part> parts = parts_of(shape, config_);
    for (const Part& part : parts) file_.declare(part.name, part.dtype, part.shape);
    constexpr std::array<std::int64_t, 1> kDigits = {32};
    file_.declare(kChecksum, DType::u8, kDigits);
    hash_.add(description_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (progress != nullptr && !progress->advance(static_cast<std::int64_t>(i), std::ssize(parts))) {
        throw Cancelled("the state was not saved: what stood in its place is as it was");
      }
      write(parts[i]);
    }
    const std::string sum = hash_.text();
    file_.write(kChecksum, std::as_bytes(std::span(sum)));
    file_.finish();
  }

 private:
  void write(const Part& part) {
    hash_part(hash_, part.name, part.dtype, part.shape);
    switch (part.of) {
      case LayerPart::none:
        return put(part, std::as_bytes(std::span(part.name == "tokens" ? state_.tokens : state_.segments)));
      case LayerPart::mass:
        return write_mass(part);
      default:
        return write_rows(part);
    }
  }
  void put(const Part& part, std::span<const std::byte> bytes) {
    hash_.add(bytes);
    file_.write(part.name, bytes);
  }
  void write_mass(const Part& part) {
    const std::vector<float>& sums = state_.mass.layers[static_cast<std::size_t>(part.layer)];
    const std::span<const float> all = sums;
    const auto room = static_cast<std::size_t>(state_.mass.room), kept = static_cast<std::size_t>(part.shape[2]);
    for (std::size_t row = 0; row < all.size(); row += room) put(part, std::as_bytes(all.subspan(row, kept)));
  }
  // Keys and values of a layer come together, and its keys before its values.
  void write_rows(const Part& part) {
    const Context::Impl& context = state_.context.impl();
    if (part.of == LayerPart::keys) {
      const std::int64_t rows = config_.kv_heads * context.length();
      keys_.resize(static_cast<std::size_t>(rows * context.cache->key_bytes()));
      values_.resize(static_cast<std::size_t>(rows * context.cache->value_bytes()));
      context.cache->copy_rows(part.layer, keys_, values_);
    }
    put(part, part.of == LayerPart::keys ? keys_ : values_);
  }

  const GenerationState::Impl& state_;
  const TransformerConfig& config_;
  const std::string description_;
  format::SafetensorsWriter file_;
  format::Hash hash_;
  std::vector<std::byte> keys_, values_;
};

// A file's description, and where its faults are.
class Loader {
 public:
  explicit Loader(const SafetensorsFile& file)
      : file_(file), description_(description_of(file)), json_(description_, file.name()) {
    require_version("sightline_state", kStateVersion, "the format");
    require_version("arithmetic_version", kArithmeticVersion, "the arithmetic");
  }

  StateFacts facts() const;
  void require_whole() const;
  void require_model(const Model& model) const;
  GenerationState::Impl load(const Model& model, const StateFacts& facts, const ContextOptions& cache,
                             std::int64_t context) const;

 private:
  static nlohmann::json description_of(const SafetensorsFile& file) {
    const auto found = file.metadata().find(kStateKey);
    if (found == file.metadata().end()) {
      throw BadFile(fmt::format("{}: not a saved state: it has no {} (generate --save-state writes one)", file.name(),
                                quote(kStateKey)));
    }
    return format::parse_json(found->second, file.name());
  }
  [[noreturn]] void fail(const std::string& what) const { throw BadFile(fmt::format("{}: {}", file_.name(), what)); }
  void require_version(const char* key, std::int64_t own, const char* what) const {
    const std::int64_t version = json_.require_int(key, 0);
    if (version == own) return;
    fail(fmt::format("was saved with version {} of {}, and this program has version {}: save it anew", version, what,
                     own));
  }
  DType cache_type(const char* key) const;
  const Tensor& tensor(const Part& part) const;
  std::vector<std::int32_t> numbers(const Part& part, std::int64_t lowest, std::int64_t highest) const;
  void load_layer(const std::vector<Part>& parts, std::int64_t layer, GenerationState::Impl& state) const;
  void load_mass(const Part& part, GenerationState::Impl& state) const;

  const SafetensorsFile& file_;
  const nlohmann::json description_;
  const JsonObject json_;
};

DType Loader::cache_type(const char* key) const {
  const JsonObject cache = json_.require_object("cache");
  const std::string& name = cache.require_string(key);
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1}) {
    if (name == dtype_name(type)) return type;
  }
  fail(fmt::format("keeps {} as {}, which no cache does", key, quote(name)));
}

StateFacts Loader::facts() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  StateFacts facts;
  facts.context = json_.require_int("context", 1, kMost);
  facts.kept = json_.require_int("kept", 0, facts.context);
  facts.cache = {.keys = cache_type("keys"), .values = cache_type("values")};
  const Tensor& tokens = file_.at("tokens");
  if (tokens.shape.size() != 1 || tokens.shape[0] <= facts.kept) {
    fail(fmt::format("keeps {} tokens, and has no more than that: one must be left to go on with", facts.kept));
  }
  facts.tokens = tokens.shape[0];
  facts.key_mass = file_.find("layer.1.mass_sums") != nullptr;
  const nlohmann::json& names = json_.require_array("segment_names");
  for (const nlohmann::json& name : names) {
    if (!name.is_string()) fail("has a segment whose name is no text");
    facts.segment_names.push_back(name.get<std::string>());
  }
  const nlohmann::json& seed = json_.require_object("sampling").value().value("seed", nlohmann::json());
  if (!seed.is_number_unsigned()) fail("\"sampling.seed\" must be a whole number");
  facts.seed = seed.get<std::uint64_t>();
  return facts;
}

void Loader::require_whole() const {
  format::Hash hash;
  hash.add(std::string_view(file_.metadata().at(kStateKey)));
  for (const auto& [name, tensor] : file_.tensors()) {
    if (name == kChecksum) continue;
    hash_part(hash, name, tensor.dtype, tensor.shape);
    hash.add(tensor.bytes);
  }
  const Tensor& sum = file_.at(kChecksum);
  const std::string want = hash.text();
  if (std::ranges::equal(sum.bytes, std::as_bytes(std::span(want)))) return;
  fail("is damaged: its checksum is not that of what it holds");
}

void Loader::require_model(const Model& model) const {
  const JsonObject of = json_.require_object("model");
  const TransformerIdentity own = model.transformer.identity();
  const std::string& architecture = model.transformer.config().architecture;
  if (of.require_string("description") != own.description) {
    fail(fmt::format("is the state of another model: a {} of other sizes or settings than this {}",
                     quote(of.require_string("architecture")), quote(architecture)));
  }
  if (of.require_string("weights") != own.weights) {
    fail(fmt::format("is the state of another model: a {} of the same sizes with other weights",
                     quote(of.require_string("architecture"))));
  }
  if (json_.require_string("tokenizer") != model.tokenizer.identity()) {
    fail("is of the same model with another tokenizer: its tokens would be other texts");
  }
}

const Tensor& Loader::tensor(const Part& part) const {
  const Tensor& tensor = file_.at(part.name);
  if (tensor.dtype == part.dtype && tensor.shape == part.shape) return tensor;
  std::string sizes;
  for (const std::int64_t size : part.shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  fail(fmt::format("tensor {} must be {} [{}]", quote(part.name), dtype_name(part.dtype), sizes));
}

std::vector<std::int32_t> Loader::numbers(const Part& part, std::int64_t lowest, std::int64_t highest) const {
  const Tensor& from = tensor(part);
  std::vector<std::int32_t> values(static_cast<std::size_t>(part.shape[0]));
  std::memcpy(values.data(), from.bytes.data(), from.bytes.size());
  for (const std::int32_t value : values) {
    if (value < lowest || value > highest) {
      fail(fmt::format("{} holds {}, outside {}..{}", quote(part.name), value, lowest, highest));
    }
  }
  return values;
}

void Loader::load_layer(const std::vector<Part>& parts, std::int64_t layer, GenerationState::Impl& state) const {
  const auto bytes_of = [&](LayerPart of) {
    return tensor(*std::ranges::find_if(parts, [&](const Part& p) { return p.of == of && p.layer == layer; })).bytes;
  };
  state.context.impl().cache->write_rows(layer, bytes_of(LayerPart::keys), bytes_of(LayerPart::values));
}

void Loader::load_mass(const Part& part, GenerationState::Impl& state) const {
  const Tensor& from = tensor(part);
  const std::int64_t rows = part.shape[0] * part.shape[1], kept = part.shape[2];
  std::vector<float>& sums = state.mass.layers[static_cast<std::size_t>(part.layer)];
  sums.assign(static_cast<std::size_t>(rows * state.mass.room), 0);
  const auto bytes = static_cast<std::size_t>(kept) * sizeof(float);
  for (std::int64_t row = 0; row < rows && bytes > 0; ++row) {
    std::memcpy(sums.data() + row * state.mass.room, from.bytes.data() + static_cast<std::size_t>(row) * bytes, bytes);
  }
}

GenerationState::Impl Loader::load(const Model& model, const StateFacts& facts, const ContextOptions& cache,
                                   std::int64_t context) const {
  const TransformerConfig& config = model.transformer.config();
  const StateShape shape{facts.tokens, facts.kept, file_.find("segments") != nullptr, facts.key_mass, facts.cache};
  const std::vector<Part> parts = parts_of(shape, config);
  const auto part = [&](std::string_view name) { return *std::ranges::find(parts, name, &Part::name); };
  GenerationState::Impl state{
      model.transformer.make_context(context, cache), numbers(part("tokens"), 0, config.vocabulary - 1), {}};
  state.segment_count = static_cast<std::int32_t>(json_.require_int("segment_count", 0, INT16_MAX));
  state.segment_names = facts.segment_names;
  if (shape.segments) state.segments = numbers(part("segments"), -1, state.segment_count);
  Context::Impl& into = state.context.impl();
  into.tokens.assign(state.tokens.begin(), state.tokens.begin() + facts.kept);
  into.turned_for = json_.require_int("turned_for", facts.kept, config.max_positions);
  into.cache->extend(facts.kept);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) load_layer(parts, layer, state);
  if (facts.key_mass) {
    state.mass.room = context;
    state.mass.layers.resize(static_cast<std::size_t>(config.layers));
    for (const Part& of : parts) {
      if (of.of == LayerPart::mass) load_mass(of, state);
    }
  }
  state.seed = facts.seed;
  state.drawn = static_cast<std::uint64_t>(json_.require_object("sampling").require_int("drawn", 0, 1 << 30));
  return state;
}

GenerationState load_from(const SafetensorsFile& file, const Model& model, const StateRoom& room) {
  const Loader loader(file);
  loader.require_whole();
  loader.require_model(model);
  const StateFacts facts = loader.facts();
  const std::int64_t context = room.context == 0 ? facts.context : room.context;
  if (context < facts.kept) {
    throw BadArgument(fmt::format("{}: the state has {} tokens and the context holds {}: make it larger (-c)",
                                  file.name(), facts.kept, context));
  }
  ContextOptions cache = facts.cache;
  cache.page_size = room.page_size;
  return GenerationState(std::make_unique<GenerationState::Impl>(loader.load(model, facts, cache, context)));
}

}  // namespace

void save_state(const std::filesystem::path& path, const Model& model, const GenerationState& state,
                Progress* progress) {
  if (!model.transformer.owns(state.impl().context)) throw BadArgument("the state is of another model than is named");
  Saver(path, model, state.impl()).save(progress);
}

StateFacts inspect_state(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  return Loader(file).facts();
}

GenerationState load_state(const std::filesystem::path& path, const Model& model, const StateRoom& room) {
  return load_from(SafetensorsFile::open(path), model, room);
}

GenerationState parse_state(std::span<const std::byte> bytes, std::string_view name, const Model& model,
                            const StateRoom& room) {
  return load_from(SafetensorsFile::parse(bytes, name), model, room);
}

}  // namespace sightline::model
