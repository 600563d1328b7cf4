// A generation's tokens and observations, against reference texts and passes without a cache.
#include "src/generation/decoding.h"

#include <gtest/gtest.h>

#include "src/model/bits_testing.h"

namespace sightline::model {
namespace {

using format::SafetensorsFile;

class DecodingTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
};

std::vector<std::int32_t> continuation(const Transformer& transformer, const std::vector<std::int32_t>& prompt,
                                       std::size_t count, DecodingOptions options) {
  options.room = static_cast<std::int64_t>(prompt.size() + count);
  Decoding decoding(transformer, {prompt}, options);
  for (std::size_t i = 0; i < count; ++i) decoding.next();
  const auto tokens = decoding.tokens().subspan(prompt.size());
  return {tokens.begin(), tokens.end()};
}

// Every way in which no result may depend.
std::vector<DecodingOptions> ways() {
  std::vector<DecodingOptions> all;
  for (const std::int64_t piece : {1, 3, 512}) {
    for (const bool watch : {false, true}) {
      DecodingOptions options;
      options.piece = piece;
      options.threads = piece == 3 ? 2 : 1;
      options.cache.page_size = piece == 1 ? 16 : 0;
      if (watch) options.watch = WatchOptions{.top = 3, .key_mass = piece == 3, .row_weights = piece != 512};
      all.push_back(options);
    }
  }
  return all;
}

TEST_P(DecodingTest, GivesTheReferencesTokens) {
  const auto reference = SafetensorsFile::open(conformance("models") / GetParam() / "reference.safetensors");
  int cases = 0;
  for (const char* name : {"gen0", "gen1", "gen2"}) {
    if (reference.find(std::string(name) + ".tokens") == nullptr) continue;
    ++cases;
    const Text prompt = text_of(reference.at(std::string(name) + ".prompt"));
    const Text want = text_of(reference.at(std::string(name) + ".tokens"));
    for (const DecodingOptions& options : ways()) {
      EXPECT_EQ(want.ids, continuation(transformer_, prompt.ids, want.ids.size(), options)) << name;
    }
  }
  EXPECT_GT(cases, 0);
}

// The last row of a pass over all tokens, without a context. Key mass is that of all rows, or of the last one alone.
class LastRow : public AttentionObserver {
 public:
  LastRow(int top, std::vector<std::int32_t> segments, std::int32_t count, bool mass_of_all)
      : top_(top), segments_(std::move(segments)), count_(count), mass_of_all_(mass_of_all) {}

  Observations request(const LayerAttention& call) override {
    const auto& shape = call.problem.q.shape;
    rows_ = shape[2];
    const auto all = static_cast<std::size_t>(shape[1] * rows_);
    entropy_.resize(all);
    key_.resize(all * static_cast<std::size_t>(top_));
    weight_.resize(key_.size());
    mass_.resize(all * static_cast<std::size_t>(count_));
    received_.resize(static_cast<std::size_t>(shape[1] * call.problem.k.shape[2]));
    Observations see;
    see.entropy = entropy_.data();
    see.top_k = top_;
    see.topk_index = key_.data();
    see.topk_weight = weight_.data();
    see.segment_of_key = segments_;
    see.segments = count_;
    see.segment_mass = mass_.data();
    see.key_mass = received_.data();
    newest_ = rows_ - 1;
    if (!mass_of_all_) see.mass_row_begin = newest_;
    row_.resize(static_cast<std::size_t>(shape[1] * call.problem.k.shape[2]));
    see.rows = {&newest_, 1};
    see.row_weights = row_.data();
    return see;
  }

  void done(const LayerAttention& call) override {
    for (std::int64_t head = 0; head < call.problem.q.shape[1]; ++head) {
      const std::int64_t row = head * rows_ + rows_ - 1;
      entropy.push_back(entropy_[row]);
      top_key.insert(top_key.end(), key_.begin() + row * top_, key_.begin() + (row + 1) * top_);
      top_weight.insert(top_weight.end(), weight_.begin() + row * top_, weight_.begin() + (row + 1) * top_);
      segment_mass.insert(segment_mass.end(), mass_.begin() + row * count_, mass_.begin() + (row + 1) * count_);
    }
    key_mass.insert(key_mass.end(), received_.begin(), received_.end());
    row_weights.insert(row_weights.end(), row_.begin(), row_.end());
  }

  std::vector<float> entropy, top_weight, segment_mass, key_mass;
  std::vector<float> row_weights;  // [layers, heads, keys]
  std::vector<std::int32_t> top_key;

 private:
  int top_;
  std::vector<std::int32_t> segments_;
  std::int32_t count_;
  bool mass_of_all_;
  std::int64_t rows_ = 0;
  std::int64_t newest_ = 0;
  std::vector<float> entropy_, weight_, mass_, received_, row_;
  std::vector<std::int32_t> key_;
};

// The bits of the head's weights in `maps` [layers, heads, keys], or near the mean over heads taken in fp64.
void expect_row(const StepSight& sight, const std::vector<float>& maps) {
  const auto keys = static_cast<std::size_t>(sight.keys), heads = static_cast<std::size_t>(sight.heads);
  ASSERT_EQ(sight.row_weights.size() * heads, maps.size());
  for (std::size_t i = 0; i < sight.row_weights.size(); ++i) {
    const float* const of_layer = maps.data() + i / keys * heads * keys + i % keys;
    double sum = 0;
    for (std::size_t head = 0; head < heads; ++head) sum += of_layer[head * keys];
    if (sight.head < 0) {
      ASSERT_NEAR(sight.row_weights[i], sum / static_cast<double>(heads), 1e-6);
    } else {
      ASSERT_EQ(sight.row_weights[i], of_layer[static_cast<std::size_t>(sight.head) * keys]);
    }
  }
}

void expect_sight(const StepSight& sight, const LastRow& want) {
  EXPECT_EQ(want.top_key, sight.top_key);
  for (const auto& [expected, got] :
       {std::pair(&want.entropy, &sight.entropy), std::pair(&want.top_weight, &sight.top_weight),
        std::pair(&want.segment_mass, &sight.segment_mass), std::pair(&want.key_mass, &sight.key_mass)}) {
    EXPECT_TRUE(bytes_of(*expected) == bytes_of(*got));
  }
}

// Logits (as the log-probability of the token) and all that is observed, bit by bit, at every step: phi3's text crosses
// from the short factors of its rope to the long ones, gemma's and mistral's windows are left behind.
TEST_P(DecodingTest, WithCacheIsWithout) {
  const Text text = random_text(transformer_, 14, 3);
  std::vector<std::int32_t> segments(40, 2);
  std::fill_n(segments.begin(), 14, 0);
  segments[5] = 1;
  for (const std::int64_t piece : {4, 512}) {
    DecodingOptions options;
    options.room = 40;
    options.piece = piece;
    options.threads = 1;
    options.watch = WatchOptions{.top = 4, .key_mass = piece == 4, .row_weights = true};
    options.log_probability = true;
    Decoding decoding(transformer_, {text.ids, {segments.begin(), segments.begin() + 14}, 2}, options);
    for (int step = 0; step < 20; ++step) {
      const std::vector<std::int32_t> before(decoding.tokens().begin(), decoding.tokens().end());
      const int head = step % (static_cast<int>(transformer_.config().query_heads) + 1) - 1;
      decoding.watch_head(head);
      const std::int32_t token = decoding.next();
      const bool mass = piece == 4;
      LastRow want(4, {segments.begin(), segments.begin() + std::ssize(before)}, 3, mass);
      const TokenSequence whole{before};
      const auto result =
          transformer_.forward({&whole, 1}, {.threads = 2, .observer = &want, .logits = LogitRows::last});
      EXPECT_EQ(best_of(result.logits), token);
      EXPECT_EQ(ops::log_probability(result.logits, token), decoding.log_probability());
      ASSERT_NE(decoding.sight(), nullptr);
      EXPECT_EQ(decoding.sight()->row, std::ssize(before) - 1);
      EXPECT_EQ(decoding.sight()->head, head);
      expect_row(*decoding.sight(), mass ? want.row_weights : want.key_mass);
      for (std::size_t i = 0; i < want.row_weights.size() && !mass; ++i) {
        ASSERT_NEAR(want.row_weights[i], want.key_mass[i], 1e-5f * want.row_weights[i]);  // sinks are rounded otherwise
      }
      if (!mass) want.key_mass.clear();
      expect_sight(*decoding.sight(), want);
      if (HasFailure()) FAIL() << "step " << step << ", pieces of " << piece;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, DecodingTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

TEST(Decoding, GivesTheTokensOfGgufFiles) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(conformance("gguf"))) {
    std::filesystem::path name = entry.path();
    if (name.extension() != ".gguf") continue;
    name.replace_extension(".reference.safetensors");
    if (!std::filesystem::exists(name)) continue;
    const SafetensorsFile reference = SafetensorsFile::open(name);
    if (reference.find("gen0.tokens") == nullptr) continue;
    ++files;
    const Transformer transformer = Transformer::load(entry.path());
    const Text prompt = text_of(reference.at("gen0.prompt")), want = text_of(reference.at("gen0.tokens"));
    for (const DecodingOptions& options : ways()) {
      EXPECT_EQ(want.ids, continuation(transformer, prompt.ids, want.ids.size(), options)) << entry.path();
    }
  }
  EXPECT_GT(files, 5);
}

const Transformer& llama() {
  static const Transformer transformer = Transformer::load(conformance_model("llama"));
  return transformer;
}

TEST(Decoding, EveryCacheTypeDecodes) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1}) {
    DecodingOptions options;
    options.room = 20;
    options.cache = {.keys = type, .values = type};
    std::vector<std::int32_t> tokens[2];
    for (const std::int64_t piece : {1, 512}) {
      options.piece = piece;
      Decoding decoding(llama(), {{3, 1, 4, 1, 5}}, options);
      for (int i = 0; i < 15; ++i) decoding.next();
      tokens[piece > 1].assign(decoding.tokens().begin(), decoding.tokens().end());
    }
    EXPECT_EQ(tokens[0], tokens[1]);
    const Context context = llama().make_context(20, options.cache);
    const std::int64_t planned = cache_bytes(llama().config(), 20, options.cache);
    EXPECT_LE(planned, context.bytes()) << dtype_name(type);
    EXPECT_LT(context.bytes(), planned + 64 * 2 * llama().config().layers) << dtype_name(type);
  }
}

TEST(Decoding, AFullContextIsAnError) {
  DecodingOptions options;
  options.room = 6;
  Decoding decoding(llama(), {{3, 1, 4, 1}}, options);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(decoding.is_full());
    decoding.next();
  }
  EXPECT_TRUE(decoding.is_full());  // the last token needs no room of its own
  const std::string error = format::error_of<BadArgument>([&] { decoding.next(); });
  EXPECT_NE(error.find("the context is full: it holds 6 tokens"), std::string::npos) << error;
  EXPECT_EQ(decoding.tokens().size(), 7u);
}

TEST(Decoding, RefusesHeadsThatThereAreNot) {
  DecodingOptions options;
  options.room = 3;
  EXPECT_THROW(Decoding(llama(), {{3, 1}}, options).watch_head(0), BadArgument);
  options.watch = WatchOptions{};
  EXPECT_THROW(Decoding(llama(), {{3, 1}}, options).watch_head(0), BadArgument);
  options.watch = WatchOptions{.row_weights = true};
  Decoding decoding(llama(), {{3, 1}}, options);
  const auto heads = static_cast<int>(llama().config().query_heads);
  decoding.watch_head(heads - 1);
  EXPECT_THROW(decoding.watch_head(heads), BadArgument);
  EXPECT_THROW(decoding.watch_head(-2), BadArgument);
}

TEST(Decoding, RefusesPromptsThatDoNotFit) {
  DecodingOptions options;
  options.room = 3;
  const std::string error = format::error_of<BadArgument>([&] { Decoding(llama(), {{3, 1, 4, 1}}, options); });
  EXPECT_NE(error.find("the prompt has 4 tokens and the context holds 3"), std::string::npos) << error;
  EXPECT_THROW(Decoding(llama(), {}, options), BadArgument);
  options.piece = 0;
  EXPECT_THROW(Decoding(llama(), {{1}}, options), BadArgument);
}

struct StopAt : Progress {
  explicit StopAt(std::int64_t tokens) : tokens(tokens) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_LE(last, done);
    EXPECT_EQ(total, 12);
    last = done;
    return done < tokens;
  }
  std::int64_t tokens, last = 0;
};

TEST(Decoding, TellsOfThePromptAndCanBeCancelled) {
  DecodingOptions options;
  options.room = 20;
  options.piece = 4;
  const std::vector<std::int32_t> prompt(12, 7);
  StopAt stop(8), whole(100);
  options.progress = &stop;
  Decoding cancelled(llama(), {prompt}, options);
  EXPECT_THROW(cancelled.next(), Cancelled);
  EXPECT_EQ(cancelled.tokens().size(), 12u);
  options.progress = &whole;
  Decoding decoding(llama(), {prompt}, options);
  decoding.next();
  EXPECT_EQ(whole.last, 8);
  decoding.next();
  EXPECT_EQ(whole.last, 12);
}

TEST(Decoding, SaysWhereNoLogitIsANumber) {
  EditableModel edited(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder");
  const format::Tensor& norm = edited.tensors.at("model.norm.weight");
  std::vector<std::byte> damaged(norm.bytes.size(), std::byte{0xff});  // NaN in every type
  edited.tensors.at("model.norm.weight").bytes = damaged;
  DecodingOptions options;
  options.room = 5;
  Decoding decoding(edited.load(), {{1, 2}}, options);
  EXPECT_THROW(decoding.next(), BadFile);
}

}  // namespace
}  // namespace sightline::model
