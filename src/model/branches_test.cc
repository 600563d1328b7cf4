// Branches of a pass against passes of their own, bit by bit, and what they save against sums by hand.

#include "src/model/branches.h"

#include <gtest/gtest.h>

#include "sightline/error.h"
#include "src/model/bits_testing.h"
#include "src/model/flops.h"
#include "src/model/trunk.h"

namespace sightline::model {
namespace {

using format::error_of;

// A pass of its own with a branch's knock-outs.
ForwardResult naive(const Transformer& transformer, const Text& text, const Branch& branch) {
  const TokenSequence view = text.view();
  ForwardOptions options = all_of(transformer);
  options.keep_hidden_states = false;
  options.knock_outs = branch.knock_outs;
  return transformer.forward({&view, 1}, options);
}

// Hidden rows of all tokens, and logits of `rows`.
RowBits bits_of(const ForwardResult& result, PositionRange rows) {
  const std::int64_t vocabulary = std::ssize(result.logits) / result.row_begin.back();
  return {bytes_of(result.last_hidden_state),
          bytes_of(std::span(result.logits).subspan(rows.begin * vocabulary, (rows.end - rows.begin) * vocabulary))};
}

RowBits bits_of(const BranchResult& result, const BranchResult& whole, std::int64_t width) {
  EXPECT_EQ(whole.hidden_state.size(), result.hidden_state.size() + result.first_row * width);
  return {bytes_of(whole.hidden_state.first(result.first_row * width)) + bytes_of(result.hidden_state),
          bytes_of(result.logits)};
}

class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_); }

  PositionRange range(std::int64_t tokens) {
    const std::int64_t begin = below(tokens), kind = below(4);
    if (kind == 0) return {begin, begin + 1 + below(tokens - begin)};
    return {begin, kind == 1 ? PositionRange::kOpen : begin + 1};
  }

 private:
  std::mt19937 random_;
};

// Of one head, one layer or all; an edge, columns, rows that stand apart, whole heads; late rows and early ones, keys
// that a decoder's row does not see.
KnockOut random_knock_out(const TransformerConfig& config, std::int64_t tokens, Chance& chance) {
  KnockOut knock_out;
  if (chance.below(4) > 0) knock_out.layers.push_back(static_cast<int>(chance.below(config.layers)));
  if (chance.below(6) == 0) knock_out.layers.push_back(static_cast<int>(config.layers) - 1);
  if (chance.below(3) > 0) knock_out.heads.push_back(chance.below(config.query_heads));
  for (std::int64_t i = chance.below(4); i > 0; --i) knock_out.rows.push_back(chance.range(tokens));
  for (std::int64_t i = chance.below(3); i > 0; --i) knock_out.keys.push_back(chance.range(tokens));
  knock_out.sequence = 7;  // which is not read
  return knock_out;
}

std::vector<Branch> random_branches(const TransformerConfig& config, std::int64_t tokens, int count, unsigned seed) {
  Chance chance(seed);
  std::vector<Branch> branches;
  for (int b = 0; b < count; ++b) {
    Branch& branch = branches.emplace_back();
    for (std::int64_t i = chance.below(4); i >= 0; --i) {
      branch.knock_outs.push_back(random_knock_out(config, tokens, chance));
    }
    if (b % 8 == 7) branch.knock_outs.clear();
  }
  return branches;
}

Branch of_this_pass(Branch branch) {
  for (KnockOut& knock_out : branch.knock_outs) knock_out.sequence = -1;
  return branch;
}

// The same logits where no other row's last hidden state is asked for.
void expect_logits_alone(const Transformer& transformer, const Text& text, std::span<const Branch> branches,
                         std::span<const RowBits> want, PositionRange logit_rows) {
  Branches passes(transformer, text.ids, text.types, {.threads = 2, .logit_rows = logit_rows, .hidden_states = false});
  EXPECT_EQ(std::ssize(text.ids) * transformer.config().width, std::ssize(passes.whole().hidden_state));
  std::size_t told = 0;
  passes.run(branches, [&](std::size_t branch, const BranchResult& result) {
    EXPECT_EQ(told++, branch);
    EXPECT_TRUE(result.hidden_state.empty());
    EXPECT_TRUE(want[branch].logits == bytes_of(result.logits)) << branch << ", logits alone";
  });
  EXPECT_EQ(branches.size(), told);
}

void expect_naive(const Transformer& transformer, const Text& text, int branch_count, unsigned seed) {
  const TransformerConfig& config = transformer.config();
  const std::int64_t tokens = std::ssize(text.ids);
  const bool head = config.language_head != LanguageHead::none;
  const std::vector<Branch> branches = random_branches(config, tokens, branch_count, seed);
  std::vector<RowBits> want;
  const PositionRange logit_rows = head ? PositionRange{tokens / 3, tokens / 2 + 1} : PositionRange{0, 0};
  for (const Branch& branch : branches) {
    want.push_back(bits_of(naive(transformer, text, of_this_pass(branch)), logit_rows));
  }
  for (const int threads : {1, 2, 3}) {
    Branches passes(transformer, text.ids, text.types, {.threads = threads, .logit_rows = logit_rows});
    EXPECT_TRUE(bits_of(naive(transformer, text, {}), logit_rows) ==
                bits_of(passes.whole(), passes.whole(), config.width));
    std::size_t told = 0;
    passes.run(branches, [&](std::size_t branch, const BranchResult& result) {
      EXPECT_EQ(told++, branch);
      EXPECT_TRUE(want[branch] == bits_of(result, passes.whole(), config.width)) << branch << ", threads " << threads;
    });
    EXPECT_EQ(branches.size(), told);
  }
  expect_logits_alone(transformer, text, branches, want, logit_rows);
}

class BranchesTest : public testing::TestWithParam<std::string> {
 protected:
  const Transformer transformer_ = Transformer::load(conformance("models") / GetParam());
};

// Texts within a page of keys and beyond one.
TEST_P(BranchesTest, AreThePassesOfTheirOwn) {
  for (const std::int64_t tokens : {1, 7, 70}) {
    SCOPED_TRACE(tokens);
    const std::int64_t length = std::min(tokens, transformer_.config().max_positions);
    expect_naive(transformer_, random_text(transformer_, length, 3), 24, static_cast<unsigned>(tokens));
  }
}

TEST_P(BranchesTest, OfWhatNoRowSeesAreTheWholePass) {
  const Text text = random_text(transformer_, 30, 5);
  const KnockOut later = {.rows = {{0, 21}}, .keys = {{21, 30}}};
  Branches passes(transformer_, text.ids, text.types);
  const Branch branches[] = {{{later}}, {}};
  const std::size_t unchanged = transformer_.config().causal ? 0 : 1;
  const double before = passes.work().done;
  int same = 0;
  passes.run(std::span(branches).subspan(unchanged), [&](std::size_t, const BranchResult& result) {
    EXPECT_EQ(0, result.first_row);
    same += result.hidden_state.data() == passes.whole().hidden_state.data();
  });
  EXPECT_EQ(static_cast<int>(2 - unchanged), same);
  EXPECT_EQ(before, passes.work().done);
}

INSTANTIATE_TEST_SUITE_P(Models, BranchesTest, testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });

TEST(Branches, OfQuantisedFilesAreThePassesOfTheirOwn) {
  const std::filesystem::path folder = conformance("gguf");
  int files = 0;
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".gguf") || name.starts_with("vocab")) continue;  // those are tokenizers
      SCOPED_TRACE(name);
      const Transformer transformer = Transformer::load(entry.path());
      expect_naive(transformer, random_text(transformer, 20, 6), 8, 11);
      ++files;
    }
  }
  if (files == 0) GTEST_SKIP() << "no GGUF models in " << folder;
}

// The frequencies are those of the whole text, also where a branch's rows begin late. (longrope: phi3, above.)
TEST(Branches, OfARopeThatFollowsTheLengthAreThePassesOfTheirOwn) {
  const Transformer transformer = dynamic_model();
  ASSERT_TRUE(transformer.config().ropes.at(0).follows_length());
  expect_naive(transformer, random_text(transformer, 40, 6), 16, 12);
}

// More rows than one batch takes, in no order of layers, of which every 29th is compared.
TEST(Branches, OfManyBatchesAreToldInOrder) {
  for (const char* name : {"bert", "gpt2"}) {
    const Transformer transformer = Transformer::load(conformance_model(name));
    const Text text = random_text(transformer, 40, 2);
    const std::vector<Branch> branches = random_branches(transformer.config(), 40, 1100, 21);
    Branches passes(transformer, text.ids, text.types, {.threads = 2});
    std::size_t told = 0;
    passes.run(branches, [&](std::size_t branch, const BranchResult& result) {
      EXPECT_EQ(told++, branch);
      if (branch % 29 != 0) return;
      EXPECT_TRUE(bits_of(naive(transformer, text, of_this_pass(branches[branch])), {0, 0}) ==
                  bits_of(result, passes.whole(), transformer.config().width));
    });
    EXPECT_EQ(branches.size(), told);
  }
}

// Keys of many pages, of which branches that begin at different rows copy a part.
TEST(Branches, OfALongTextAreThePassesOfTheirOwn) {
  const std::filesystem::path folder = conformance("long") / "model";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const Transformer transformer = Transformer::load(folder);
  const Text text = random_text(transformer, 1000, 9);
  std::vector<Branch> branches;
  for (const std::int64_t row : {999, 130, 640, 999, 63, 700}) {
    branches.push_back({{{.layers = {static_cast<int>(row % 2)}, .rows = {{row, row + 1}}, .keys = {{row / 2, row}}}}});
  }
  Branches passes(transformer, text.ids, {}, {.threads = 2, .logit_rows = {999, 1000}});
  passes.run(branches, [&](std::size_t branch, const BranchResult& result) {
    EXPECT_TRUE(bits_of(naive(transformer, text, branches[branch]), {999, 1000}) ==
                bits_of(result, passes.whole(), transformer.config().width));
  });
}

// A head whose rows see none of their keys gives 0: what the output projection then lacks is the head's part alone.
TEST(Branches, OfAWholeHeadTakeItsOutputAway) {
  EditableModel model(conformance_model("llama_llama3"));
  const Transformer transformer = model.load();
  const Text text = random_text(transformer, 12, 8);
  const std::int64_t layer = transformer.config().layers - 1, head = 1, d = transformer.config().head_width;
  // The same model without that head's columns in the output matrix.
  const std::string name = "model.layers." + std::to_string(layer) + ".self_attn.o_proj.weight";
  std::vector<float> weights = format::to_f32(model.tensors.at(name));
  const std::int64_t columns = transformer.config().query_heads * d;
  for (std::int64_t i = 0; i < std::ssize(weights); ++i) {
    if (i % columns / d == head) weights[static_cast<std::size_t>(i)] = 0;
  }
  model.tensors.at(name).dtype = DType::f32;
  model.tensors.at(name).bytes = std::as_bytes(std::span(weights));
  const ForwardResult want = naive(model.load(), text, {});
  Branches passes(transformer, text.ids, text.types);
  const Branch branch{{{.layers = {static_cast<int>(layer)}, .heads = {head}}}};
  passes.run({&branch, 1}, [&](std::size_t, const BranchResult& result) {
    ASSERT_EQ(want.last_hidden_state.size(), result.hidden_state.size());
    for (std::size_t i = 0; i < result.hidden_state.size(); ++i) {
      ASSERT_NEAR(want.last_hidden_state[i], result.hidden_state[i], 1e-5) << i;
    }
  });
}

// Every edge from a row, in each head of each layer.
std::vector<Branch> edges_of_row(const TransformerConfig& config, std::int64_t row, std::int64_t keys, bool by_head) {
  std::vector<Branch> branches;
  for (int layer = 0; layer < static_cast<int>(config.layers); ++layer) {
    for (std::int64_t head = 0; head < (by_head ? config.query_heads : 1); ++head) {
      for (std::int64_t key = 0; key < keys; ++key) {
        KnockOut edge{.layers = {layer}, .rows = {{row, row + 1}}, .keys = {{key, key + 1}}};
        if (by_head) edge.heads = {head};
        branches.push_back({{edge}});
      }
    }
  }
  return branches;
}

BranchWork work_of(const Transformer& transformer, const Text& text, const std::vector<Branch>& branches,
                   PositionRange logit_rows, bool hidden_states = true) {
  Branches passes(transformer, text.ids, text.types, {.logit_rows = logit_rows, .hidden_states = hidden_states});
  passes.run(branches, [](std::size_t, const BranchResult&) {});
  return passes.work();
}

// A decoder of 3 layers with a gated MLP.
TEST(BranchWork, IsWhatThePartsTake) {
  const Transformer transformer = Transformer::load(conformance_model("llama"));
  const TransformerConfig& config = transformer.config();
  ASSERT_EQ(3, config.layers);
  const double d = static_cast<double>(config.head_width), q = static_cast<double>(config.query_heads) * d,
               kv = static_cast<double>(config.kv_heads) * d, w = static_cast<double>(config.width),
               inner = static_cast<double>(config.inner_width), words = static_cast<double>(config.vocabulary);
  const double query = 2 * w * q, keys = 2 * 2 * w * kv, output = 2 * q * w, mlp = 3 * 2 * w * inner;
  const double row = query + keys + output + mlp, pair = 2 * 2 * q, logits = 2 * w * words;
  const Text text = random_text(transformer, 10, 4);
  // Row 7 of 10 tokens loses key 2, in the first layer: the layers above compute rows 7, 8 and 9.
  const Branch edge{{{.layers = {0}, .rows = {{7, 8}}, .keys = {{2, 3}}}}};
  const double whole = 3 * (10 * row + 55 * pair) + logits;
  const BranchWork work = work_of(transformer, text, {edge, edge}, {9, 10});
  EXPECT_EQ(2 * whole, work.naive);
  const double branch = row - keys + 8 * pair + 2 * (3 * row + (8 + 9 + 10) * pair) + logits;
  // In the second layer rows 8 and 9 have the whole pass's input, and are projected once.
  EXPECT_EQ(whole + 2 * branch - 2 * (query + keys), work.done);
  EXPECT_EQ(work.naive / work.done, work.ratio());
  // In the last layer, a row whose logits are not asked for.
  const Branch last{{{.layers = {2}, .rows = {{7, 8}}, .keys = {{2, 3}}}}};
  EXPECT_EQ(whole + row - keys + 8 * pair, work_of(transformer, text, {last}, {9, 10}).done);
  EXPECT_EQ(whole, work_of(transformer, text, {last}, {9, 10}, false).done);
  // Where logits alone are asked for, rows 7 and 8 end with the last layer's keys.
  const double alone =
      row - keys + 8 * pair + 3 * row + (8 + 9 + 10) * pair + 3 * (query + keys) + output + mlp + 10 * pair + logits;
  EXPECT_EQ(whole + alone, work_of(transformer, text, {edge}, {9, 10}, false).done);
  // Nothing that is asked for can change: a row before 7, or none.
  EXPECT_EQ(whole, work_of(transformer, text, {edge}, {6, 7}, false).done);
  EXPECT_EQ(whole - logits, work_of(transformer, text, {edge}, {8, 8}, false).done);
}

// Rows that see both ways: in all layers at once one layer of the model's is left but for its keys.
TEST(BranchWork, OfMaskedModelsEndsWithTheKeysOfTheLastLayer) {
  const Transformer transformer = Transformer::load(conformance_model("bert_mlm_legacy"));
  const TransformerConfig& config = transformer.config();
  ASSERT_EQ(2, config.layers);
  const Text text = random_text(transformer, 10, 4);
  const Branch edge{{{.rows = {{3, 4}}, .keys = {{2, 3}}}}};
  const double done = work_of(transformer, text, {edge}, {5, 6}, false).done - forward_flops(config, 10, 1);
  const double others = attention_output_flops(config) + feed_forward_flops(config);
  EXPECT_EQ(others + query_flops(config) + 10 * pair_flops(config) +
                10 * (query_flops(config) + key_value_flops(config)) + others + 10 * pair_flops(config) +
                language_head_flops(config),
            done);
}

TEST(BranchWork, SavesMostOfLateRowsOfDecoders) {
  const Transformer transformer = Transformer::load(conformance_model("llama"));
  const Text text = random_text(transformer, 100, 4);
  const BranchWork late = work_of(transformer, text, edges_of_row(transformer.config(), 99, 100, false), {99, 100});
  EXPECT_GT(late.ratio(), 40);
  RecordProperty("ratio", std::to_string(late.ratio()));
}

TEST(BranchWork, IsAtMostHalfOnMiniLm) {
  const std::filesystem::path directory = minilm_directory();
  if (!std::filesystem::exists(directory / "model.safetensors")) {
    GTEST_SKIP() << "no MiniLM in " << directory << "; SIGHTLINE_MINILM can name its directory";
  }
  const Transformer transformer = Transformer::load(directory);
  const Text text = random_text(transformer, 15, 4);
  for (const bool by_head : {false, true}) {
    const std::vector<Branch> edges = edges_of_row(transformer.config(), 9, 15, by_head);
    const BranchWork work = work_of(transformer, text, edges, {0, 0});
    EXPECT_GE(work.ratio(), 2);
    RecordProperty(by_head ? "by_head" : "by_layer", std::to_string(work.ratio()));
  }
  expect_naive(transformer, text, 6, 1);
}

// Against what is really kept. Of a decoder a branch has pages of its own.
TEST(Branches, KeepWhatTheirPlanSays) {
  for (const char* name : {"llama", "bert"}) {
    const Transformer transformer = Transformer::load(conformance_model(name));
    const TransformerConfig& config = transformer.config();
    const std::int64_t tokens = 40;  // of a page of 64
    const Text text = random_text(transformer, tokens, 2);
    Branches passes(transformer, text.ids, text.types);
    std::int64_t values = 64 * config.layers * config.kv_heads * 2 * config.head_width * (config.causal ? 2 : 1);
    for (const auto& rows : passes.trunk().hidden_states) values += std::ssize(rows);
    for (const auto& rope : passes.trunk().ropes) values += std::ssize(rope.cos) + std::ssize(rope.sin);
    EXPECT_EQ(4 * values, branch_trunk_bytes(config, tokens)) << name;
  }
}

struct StopsAfter : Progress {
  explicit StopsAfter(std::int64_t steps) : left(steps) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_LE(0, done);
    EXPECT_LE(done, total);
    last = done;
    return left-- > 0;
  }
  std::int64_t left, last = 0;
};

TEST(Branches, KeepWhatWasToldWhenStopped) {
  const Transformer transformer = Transformer::load(conformance_model("bert"));
  const Text text = random_text(transformer, 40, 2);
  const std::vector<Branch> branches(1500, {{{.layers = {1}, .rows = {{3, 4}}, .keys = {{2, 3}}}}});
  StopsAfter stop(1 << 20);
  Branches passes(transformer, text.ids, text.types, {.threads = 2, .progress = &stop});
  const std::int64_t layers = transformer.config().layers;
  EXPECT_EQ(layers, stop.last);
  std::size_t told = 0;
  const auto read = [&](std::size_t, const BranchResult&) {
    if (++told == 100) stop.left = 1;
  };
  EXPECT_THROW(passes.run(branches, read), Cancelled);
  EXPECT_GE(told, 100u);
  EXPECT_LT(told, branches.size());
  EXPECT_EQ(static_cast<double>(told) * forward_flops(transformer.config(), 40, 0), passes.work().naive);
  // It goes on where it is told to.
  stop.left = 1 << 20;
  const std::size_t before = told;
  passes.run(std::span(branches).subspan(told), read);
  EXPECT_EQ(branches.size(), told);
  EXPECT_EQ(static_cast<std::int64_t>(branches.size() - before) * layers, stop.last);
  StopsAfter at_once(0);
  EXPECT_THROW(Branches(transformer, text.ids, text.types, {.progress = &at_once}), Cancelled);
}

TEST(Branches, OfWhatThereIsNotAreRefused) {
  const Transformer transformer = Transformer::load(conformance_model("llama"));
  const Text text = random_text(transformer, 10, 1);
  const auto error = [&](const KnockOut& knock_out) {
    Branches passes(transformer, text.ids, text.types);
    const Branch branches[] = {{}, {{knock_out}}};
    return error_of<BadArgument>([&] {
      passes.run(branches, [](std::size_t, const BranchResult&) { ADD_FAILURE() << "told before it was checked"; });
    });
  };
  EXPECT_EQ("a knock-out names layer 3, outside 0..2", error({.layers = {3}}));
  EXPECT_EQ("a knock-out names head 4, outside 0..3", error({.heads = {4}}));
  EXPECT_EQ("a knock-out names rows 9..10, outside 0..9", error({.rows = {{9, 11}}}));
  const auto refused = [](const Transformer& model, std::span<const std::int32_t> ids, PositionRange logit_rows) {
    return error_of<BadArgument>([&] { Branches(model, ids, {}, {.logit_rows = logit_rows}); });
  };
  EXPECT_EQ("sequence 0 has no tokens", refused(transformer, {}, {0, 0}));
  EXPECT_EQ("logits of rows 9..10 are asked for, outside 0..9", refused(transformer, text.ids, {9, 11}));
  const std::int32_t outside[] = {1, -1};
  EXPECT_EQ("sequence 0, position 1: token id -1 is outside 0..319", refused(transformer, outside, {0, 0}));
  EXPECT_EQ("the model has no language-model head, so there are no logits",
            refused(Transformer::load(conformance_model("bert")), text.ids, {0, 1}));
}

}  // namespace
}  // namespace sightline::model
