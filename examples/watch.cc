// A real model from C++: what its last token looks at in each layer, and how it goes on.
//
//     find_package(sightline REQUIRED COMPONENTS model)
//     target_link_libraries(watch PRIVATE sightline::model)
//
//     watch MODEL "The capital of France is"
//
// MODEL is a directory in Hugging Face's layout or a GGUF file of a decoder. The text is read in one call, observed as
// it goes; then up to eight tokens follow, each in a call that reads the keys and values of those before it from a
// cache.
#include <sightline/error.h>
#include <sightline/model.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using sightline::Observations;
using sightline::model::LayerAttention;

// Asks every layer for its entropies and for the key that each query weighs most, and prints those of the last query,
// which says what comes next.
class LastToken : public sightline::model::AttentionObserver {
 public:
  explicit LastToken(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}

  Observations request(const LayerAttention& call) override {
    heads_ = call.problem.q.shape[1];
    rows_ = call.problem.q.shape[2];
    entropy_.assign(static_cast<std::size_t>(heads_ * rows_), 0);
    key_.assign(entropy_.size(), -1);
    weight_.assign(entropy_.size(), 0);
    Observations see;
    see.entropy = entropy_.data();
    see.top_k = 1;
    see.topk_index = key_.data();
    see.topk_weight = weight_.data();
    return see;
  }

  void done(const LayerAttention& call) override {
    std::printf("layer %2d:", call.layer + 1);
    for (std::int64_t head = 0; head < heads_; ++head) {
      const auto last = static_cast<std::size_t>((head + 1) * rows_ - 1);
      std::printf(" %s %.2f (%.1f nats)", pieces_[static_cast<std::size_t>(key_[last])].c_str(), weight_[last],
                  entropy_[last]);
    }
    std::printf("\n");
  }

 private:
  std::vector<std::string> pieces_;
  std::int64_t heads_ = 0, rows_ = 0;
  std::vector<float> entropy_, weight_;
  std::vector<std::int32_t> key_;
};

int watch(const char* path, const char* text) {
  const auto model = sightline::model::open(path);
  const auto& [transformer, tokenizer, end_tokens] = model;
  std::vector<std::int32_t> ids;
  std::vector<std::string> pieces;
  for (const auto& token : tokenizer.encode(text).tokens) {
    ids.push_back(token.id);
    pieces.push_back(token.piece);
  }

  constexpr int kNewTokens = 8;
  auto context = transformer.make_context(static_cast<std::int64_t>(ids.size()) + kNewTokens);
  LastToken observer(pieces);
  sightline::model::ForwardOptions options;
  options.observer = &observer;
  options.logits = sightline::model::LogitRows::last;
  std::vector<std::int32_t> next = ids, answer;
  for (int i = 0; i < kNewTokens; ++i) {
    const sightline::model::TokenSequence sequence{next, {}, &context};
    const auto result = transformer.forward({&sequence, 1}, options);
    const auto best = std::max_element(result.logits.begin(), result.logits.end());
    next = {static_cast<std::int32_t>(best - result.logits.begin())};
    if (std::binary_search(end_tokens.begin(), end_tokens.end(), next[0])) break;
    answer.push_back(next[0]);
    options.observer = nullptr;  // the text was watched; its answer is not
  }
  std::printf("%s%s\n", text, tokenizer.decode(answer, /*skip_special=*/true).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: watch MODEL TEXT\n");
    return 2;
  }
  try {
    return watch(argv[1], argv[2]);
  } catch (const sightline::Error& error) {  // one line that says what is wrong and what to do
    std::fprintf(stderr, "watch: %s\n", error.what());
    return 1;
  }
}
