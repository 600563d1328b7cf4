// Contexts that let keys go, against the rules worked out one key at a time.

#include "src/model/dropping_testing.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "src/model/rope.h"

namespace sightline::model {
namespace {

using format::error_of;

constexpr std::int64_t kLength = 50, kPrompt = 23;  // beyond every window of the set

// Decoders whose rope does not follow the length; the others are refused.
std::vector<std::string> droppable_models() {
  std::vector<std::string> names = model_names("decoder");
  std::erase_if(names, [](const std::string& name) {
    const Transformer transformer = Transformer::load(conformance("models") / name);
    return frequencies_differ(transformer.config().ropes, 1, kLength);
  });
  return names;
}

std::vector<DropRule> all_rules() {
  std::vector<DropRule> rules;
  for (const char* text : {"window,keep=1", "window,keep=7", "sinks+window,keep=9", "sinks+window,keep=6,sinks=2",
                           "mass,keep=8,recent=3", "mass,keep=5", "mass,keep=1", "mass,keep=20,recent=1"}) {
    rules.push_back(parse_drop_rule(text));
  }
  return rules;
}

class DroppingTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
  const TransformerConfig& config_ = transformer_.config();
  const Text text_ = random_text(transformer_, kLength, 3);

  std::vector<float> add(Context& context, std::int64_t count, const ForwardOptions& how) const {
    const std::span<const std::int32_t> ids = text_.ids;
    const TokenSequence part{ids.subspan(context.length(), count), {}, &context};
    return transformer_.forward({&part, 1}, how).logits;
  }
  std::vector<float> add(Context& context, std::int64_t count = 1) const {
    return add(context, count, {.threads = 1, .logits = LogitRows::last});
  }

  Context after_prompt(const ContextOptions& options, std::int64_t piece = kPrompt) const {
    Context context = transformer_.make_context(kLength, options);
    while (context.length() < kPrompt) add(context, std::min(piece, kPrompt - context.length()));
    return context;
  }

  // The logits of the sinks, [layers][query heads]; empty where the model has none.
  std::vector<std::vector<float>> sinks() const {
    std::vector<std::vector<float>> logits;
    if (!config_.sinks) return logits;
    const auto file = format::SafetensorsFile::open(conformance("models") / GetParam() / "model.safetensors");
    for (int layer = 0; layer < config_.layers; ++layer) {
      logits.push_back(format::to_f32(file.at(fmt::format("model.layers.{}.self_attn.sinks", layer))));
    }
    return logits;
  }
};

TEST_P(DroppingTest, GoesByTheRules) {
  const std::vector<std::vector<float>> logits = sinks();
  const auto sink_of = [&](int layer, std::int64_t head) { return logits.empty() ? -INFINITY : logits[layer][head]; };
  for (const DropRule& rule : all_rules()) {
    SCOPED_TRACE(drop_rule_text(rule));
    Recorder recorder;
    const TokenSequence prompt{std::span(text_.ids).first(kPrompt)};
    transformer_.forward({&prompt, 1}, {.threads = 1, .observer = &recorder});
    std::vector<std::vector<DroppingHead>> heads(config_.layers);
    std::vector<HeadAudit> audits;
    for (int layer = 0; layer < config_.layers; ++layer) {
      for (std::int64_t h = 0; h < config_.kv_heads; ++h) {
        DroppingHead& head = heads[layer].emplace_back(config_, layer, h, rule);
        for (std::int32_t row = 0; row < kPrompt; ++row) {
          head.kept.insert(row);
          for (std::int64_t q = head.first_query_head(); q < head.first_query_head() + head.group(); ++q) {
            double missed = 0;
            head.receive(head.weights(recorder.layers[layer], q, row, head.kept, sink_of(layer, q), missed));
          }
        }
        head.drop(kPrompt - 1);
      }
    }

    Context context = after_prompt({.drop = rule});
    context.begin_dropping(true);
    double sum_missed = 0;
    for (std::int32_t row = kPrompt; row < kLength; ++row) {
      add(context, 1, {.threads = 1, .observer = &recorder});
      std::size_t map = 0;
      for (int layer = 0; layer < config_.layers; ++layer) {
        const LayerRecord& record = recorder.layers[layer];
        for (DroppingHead& head : heads[layer]) {
          const std::vector<std::int32_t>& seen = record.seen[&head - heads[layer].data()];
          head.kept.insert(row);
          ASSERT_EQ(head.kept, std::set(seen.begin(), seen.end())) << "layer " << layer << " row " << row;
          ASSERT_EQ(head.kept.size(), seen.size());
          for (std::int64_t i = 0; i < head.group(); ++i, ++map) {
            const std::int64_t q = head.first_query_head() + i;
            double missed = 0;
            const auto weights = head.weights(record, q, row, head.kept, sink_of(layer, q), missed);
            ASSERT_EQ(seen.size(), weights.size());
            for (std::size_t slot = 0; slot < seen.size(); ++slot) {
              EXPECT_NEAR(weights.at(seen[slot]), record.weights[q][slot], 1e-5);
            }
            EXPECT_NEAR(missed, context.drops().audits[map].newest, 1e-5);
            sum_missed += missed;
            head.receive(weights);
          }
          head.drop(row);
        }
      }
    }

    const DropAccount& account = context.drops();
    EXPECT_EQ(kLength - kPrompt, account.rows);
    std::size_t index = 0;
    std::int64_t evicted = 0;
    for (const std::vector<DroppingHead>& layer : heads) {
      for (const DroppingHead& head : layer) {
        const HeadDrops& drops = account.heads[index++];
        EXPECT_EQ(head.kept.size(), static_cast<std::size_t>(drops.kept));
        EXPECT_EQ(head.evicted, drops.evicted);
        EXPECT_NEAR(head.evicted_mass, drops.evicted_mass, 1e-4);
        EXPECT_NEAR(head.received, drops.received_mass, 1e-4);
        evicted += drops.evicted;
      }
    }
    const bool some_go = std::ranges::any_of(
        config_.pattern, [&](const LayerPattern& layer) { return layer.window == 0 || layer.window - 1 > rule.keep; });
    EXPECT_EQ(some_go, evicted > 0);
    double sum = 0;
    for (const HeadAudit& audit : account.audits) sum += audit.sum;
    EXPECT_NEAR(sum_missed, sum, 1e-3);
    EXPECT_EQ(some_go, sum > 0.01);
  }
}

TEST_P(DroppingTest, IsWithoutItWhereAllIsKept) {
  const std::pair<DType, const char*> runs[] = {
      {DType::f32, "window,keep=50"},      {DType::f32, "mass,keep=49,recent=3"}, {DType::f16, "mass,keep=100"},
      {DType::bf16, "window,keep=50"},     {DType::i8_row, "mass,keep=50"},       {DType::q4_1, "sinks+window,keep=50"},
      {DType::f32, "sinks+window,keep=60"}};
  {
    for (const auto& [type, rule] : runs) {
      ContextOptions options{type, type};
      Context plain = after_prompt(options);
      options.drop = parse_drop_rule(rule);
      Context context = after_prompt(options);
      Context whole = context.begin_dropping(true);
      EXPECT_TRUE(context.is_dropping());
      EXPECT_FALSE(whole.is_dropping());
      while (context.length() < kLength) {
        const std::vector<float> want = add(plain);
        EXPECT_EQ(bytes_of(want), bytes_of(add(context))) << dtype_name(type) << " " << rule << " " << plain.length();
        EXPECT_EQ(bytes_of(want), bytes_of(add(whole)));
      }
      const bool last_goes = options.drop.keep < kLength;  // once the text is over
      for (const HeadDrops& head : context.drops().heads) EXPECT_LE(head.evicted, last_goes ? 1 : 0);
      for (const HeadAudit& audit : context.drops().audits) EXPECT_EQ(0, audit.sum);
    }
  }
}

// What a run is to others: bits of every logit, and all that is counted.
struct RunBits {
  std::string logits;
  std::vector<double> account;

  friend bool operator==(const RunBits&, const RunBits&) = default;
};

TEST_P(DroppingTest, NeitherPiecesNorThreadsNorPagesChangeABit) {
  const std::pair<DType, const char*> runs[] = {{DType::f32, "mass,keep=8,recent=3"},
                                                {DType::i8_row, "sinks+window,keep=9"},
                                                {DType::q4_1, "mass,keep=20,recent=1"}};
  {
    for (const auto& [kept_as, text] : runs) {
      const DType type = kept_as;
      const DropRule rule = parse_drop_rule(text);
      const auto run = [&](std::int64_t piece, int threads, std::int64_t page_size) {
        Context context = after_prompt({type, DType::f16, page_size, rule}, piece);
        context.begin_dropping(true);
        RunBits of;
        while (context.length() < kLength) {
          of.logits += bytes_of(add(context, 1, {.threads = threads, .logits = LogitRows::last}));
        }
        for (const HeadDrops& head : context.drops().heads) {
          of.account.insert(of.account.end(),
                            {static_cast<double>(head.evicted), head.evicted_mass, head.received_mass});
        }
        for (const HeadAudit& audit : context.drops().audits) of.account.push_back(audit.sum);
        return of;
      };
      const RunBits want = run(kPrompt, 1, 0);
      EXPECT_TRUE(want == run(1, 2, 16)) << drop_rule_text(rule);
      EXPECT_TRUE(want == run(7, 1, 0)) << drop_rule_text(rule);
    }
  }
}

// Watches what a context that drops keys takes of a pass, too: some of it, or all, so that no place is left for the
// context's own sums.
class Watches : public AttentionObserver {
 public:
  Watches(bool mass, bool rows, Measure measure) : of_mass_(mass), of_rows_(rows), measure_(measure) {}
  Observations request(const LayerAttention& call) override {
    mass_.assign(call.problem.q.shape[1] * call.problem.k.shape[2], 0);
    lse_.assign(call.problem.q.shape[1] * call.problem.q.shape[2], 0);
    Observations see;
    see.measure = measure_;
    see.lse = lse_.data();
    if (of_mass_) see.key_mass = mass_.data();
    see.rows = rows_;
    weights_.assign(rows_.size() * mass_.size(), 0);
    if (of_rows_) see.row_weights = weights_.data();
    return see;
  }
  void done(const LayerAttention&) override {}

 private:
  bool of_mass_, of_rows_;
  Measure measure_;
  std::vector<std::int64_t> rows_ = {0, 0};
  std::vector<float> mass_, weights_, lse_;
};

TEST_P(DroppingTest, ObserversChangeNothing) {
  for (int turn = 0; turn < 8; ++turn) {
    const DropRule rule = parse_drop_rule(turn < 4 ? "mass,keep=8,recent=3" : "sinks+window,keep=9");
    Watches observer(turn & 1, turn & 2, turn == 1 || turn >= 5 ? Measure::weight : Measure::value_weight);
    Context plain = after_prompt({.drop = rule}), watched = transformer_.make_context(kLength, {.drop = rule});
    const ForwardOptions how{.threads = 1, .observer = &observer, .logits = LogitRows::last};
    add(watched, kPrompt, how);
    plain.begin_dropping(true);
    watched.begin_dropping(true);
    while (plain.length() < kLength) EXPECT_EQ(bytes_of(add(plain)), bytes_of(add(watched, 1, how)));
    for (std::size_t i = 0; i < plain.drops().heads.size(); ++i) {
      EXPECT_EQ(plain.drops().heads[i].received_mass, watched.drops().heads[i].received_mass);
      EXPECT_EQ(plain.drops().heads[i].evicted_mass, watched.drops().heads[i].evicted_mass);
    }
    for (std::size_t i = 0; i < plain.drops().audits.size(); ++i) {
      EXPECT_EQ(plain.drops().audits[i].sum, watched.drops().audits[i].sum);
    }
  }
}

struct Stop : Progress {
  explicit Stop(int pieces) : left(pieces) {}
  bool advance(std::int64_t, std::int64_t) override { return --left > 0; }
  int left;
};

TEST_P(DroppingTest, ErrorsChangeNothing) {
  const ContextOptions options{.drop = parse_drop_rule("mass,keep=8,recent=3")};
  Context want = after_prompt(options), context = transformer_.make_context(kLength, options);
  add(context, 11);
  for (const int pieces : {1, 2, 3}) {
    Stop stop(pieces);
    EXPECT_THROW(add(context, 12, {.threads = 1, .progress = &stop}), Cancelled);
    EXPECT_EQ(11, context.length());
    error_of<BadArgument>([&] { context.begin_dropping(); });
  }
  add(context, 9);
  context.truncate(14);
  error_of<BadArgument>([&] { context.begin_dropping(); });
  add(context, kPrompt - 14);
  want.begin_dropping(true);
  context.begin_dropping(true);
  for (int row = 0; context.length() < kLength; ++row) {
    const std::string before = bytes_of(add(want));
    if (row % 5 == 0) {
      for (const int pieces : {1, 2, 3}) {
        Stop stop(pieces);
        EXPECT_THROW(add(context, 1, {.threads = 1, .progress = &stop}), Cancelled);
      }
      error_of<BadArgument>([&] { context.truncate(context.length() - 1); });
      if (context.length() + 2 <= kLength) error_of<BadArgument>([&] { add(context, 2); });
    }
    EXPECT_EQ(before, bytes_of(add(context)));
  }
  error_of<BadArgument>([&] { context.begin_dropping(); });
  for (std::size_t i = 0; i < want.drops().heads.size(); ++i) {
    EXPECT_EQ(want.drops().heads[i].received_mass, context.drops().heads[i].received_mass);
    EXPECT_EQ(want.drops().heads[i].evicted, context.drops().heads[i].evicted);
  }
}

TEST_P(DroppingTest, BatchIsEachAlone) {
  const ContextOptions mass{.drop = parse_drop_rule("mass,keep=8,recent=3")},
      window{.drop = parse_drop_rule("window,keep=6")};
  Context a = after_prompt(mass), b = after_prompt(window), c = after_prompt({});
  Context alone_a = after_prompt(mass), alone_b = after_prompt(window), alone_c = after_prompt({});
  for (Context* context : {&a, &b, &alone_a, &alone_b}) context->begin_dropping();
  while (a.length() < kLength) {
    const auto id = std::span(text_.ids).subspan(a.length(), 1);
    const TokenSequence batch[] = {{id, {}, &a}, {id, {}, &b}, {id, {}, &c}};
    const std::vector<float> logits = transformer_.forward(batch, {.threads = 2, .logits = LogitRows::last}).logits;
    EXPECT_EQ(bytes_of(add(alone_a)) + bytes_of(add(alone_b)) + bytes_of(add(alone_c)), bytes_of(logits));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DroppingTest, testing::ValuesIn(droppable_models()),
                         [](const auto& info) { return info.param; });

TEST(Dropping, SavesMemory) {
  const Transformer transformer = Transformer::load(conformance("models") / "llama");
  const Text text = random_text(transformer, 60, 4);
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1}) {
    Context context = transformer.make_context(64, {type, type, 0, parse_drop_rule("mass,keep=8")});
    const TokenSequence prompt{text.ids, {}, &context};
    transformer.forward({&prompt, 1});
    const std::int64_t before = context.bytes();
    const Context whole = context.begin_dropping();
    EXPECT_EQ(before, whole.bytes());
    EXPECT_LE(context.bytes(), before * (8 + 1 + 8 / 8 + 8) / 64) << dtype_name(type);  // slots of the 64
  }
}

TEST(Dropping, RefusesWhatHasNoMeaning) {
  const Transformer llama = Transformer::load(conformance("models") / "llama");
  Context plain = llama.make_context(8), none = llama.make_context(8, {.drop = parse_drop_rule("window,keep=3")});
  EXPECT_NE(std::string::npos, error_of<BadArgument>([&] { plain.begin_dropping(); }).find("no rule"));
  EXPECT_NE(std::string::npos, error_of<BadArgument>([&] { none.begin_dropping(); }).find("no token"));
  error_of<BadArgument>([&] { static_cast<void>(none.drops()); });
  for (const DropRule& rule : {DropRule{DropKind::window, 0}, DropRule{DropKind::window, -4},
                               DropRule{DropKind::sinks_window, 4}, DropRule{DropKind::sinks_window, 4, -1},
                               DropRule{DropKind::mass, 4, 4, 5}, DropRule{DropKind::mass, 4, 4, -1}}) {
    error_of<BadArgument>([&] { llama.make_context(8, {.drop = rule}); });
  }
  for (const std::string& name : model_names("decoder")) {
    const Transformer transformer = Transformer::load(conformance("models") / name);
    if (!frequencies_differ(transformer.config().ropes, 1, kLength)) continue;
    const DropRule rule = parse_drop_rule("window,keep=4");
    const std::string error = error_of<BadArgument>([&] { transformer.make_context(kLength, {.drop = rule}); });
    EXPECT_NE(std::string::npos, error.find("rope follows the length")) << name;
    transformer.make_context(2, {.drop = rule});
  }
}

TEST(DropRule, IsReadAndWritten) {
  const std::pair<const char*, DropRule> rules[] = {
      {"window,keep=512", {DropKind::window, 512}},
      {"sinks+window,keep=5", {DropKind::sinks_window, 5, 4}},
      {"sinks+window,sinks=0,keep=5", {DropKind::sinks_window, 5, 0}},
      {"mass,keep=7", {DropKind::mass, 7}},
      {"mass,keep=7,recent=7", {DropKind::mass, 7, 4, 7}},
  };
  for (const auto& [text, rule] : rules) EXPECT_EQ(rule, parse_drop_rule(text)) << text;
  EXPECT_EQ("none", drop_rule_text({}));
  EXPECT_EQ("window,keep=512", drop_rule_text(rules[0].second));
  EXPECT_EQ("sinks+window,keep=5,sinks=4", drop_rule_text(rules[1].second));
  EXPECT_EQ("mass,keep=7,recent=3", drop_rule_text(rules[3].second));
  EXPECT_EQ("mass,keep=1,recent=1", drop_rule_text(parse_drop_rule("mass,keep=1")));
}

TEST(DropRule, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no rule of dropping \"\""},
      {"h2o,keep=4", "no rule of dropping \"h2o\""},
      {"mass", "how many keys to keep"},
      {"mass,recent=2", "how many keys to keep"},
      {"mass,keep=", "is no number"},
      {"mass,keep=4x", "is no number"},
      {"mass,keep=99999999999999999999", "is no number"},
      {"mass,keep=0", "keep=0"},
      {"window,keep=-1", "keep=-1"},
      {"mass,keep=4,recent=5", "recent=5"},
      {"mass,keep=4,recent=0", "recent=0"},
      {"mass,keep=4,sinks=1", "knows no \"sinks=1\""},
      {"window,keep=4,recent=1", "knows no \"recent=1\""},
      {"window,keep", "is no number"},
      {"mass,keep=4,keep=4", "says keep twice"},
      {"sinks+window,keep=9,sinks=1,sinks=2", "says sinks twice"},
      {"window,,keep=4", "knows no \"\""},
      {"sinks+window,keep=4", "sinks can be 0 to 3"},
      {"sinks+window,keep=4,sinks=-1", "sinks can be 0 to 3"},
  };
  for (const auto& [text, says] : wrong) {
    const std::string error = error_of<BadArgument>([&, of = text] { parse_drop_rule(of); });
    EXPECT_NE(std::string::npos, error.find(says)) << text << ": " << error;
  }
}

}  // namespace
}  // namespace sightline::model
