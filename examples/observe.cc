// Attention from C++, observed: how sharp every row of a causal problem is, and which keys it reads most.
//
//     find_package(sightline REQUIRED COMPONENTS attention)
//     target_link_libraries(observe PRIVATE sightline::attention)
//
// The problem has a closed form. Queries and keys have one number each, and the score of key j is j ln 2, whatever the
// row: each key weighs twice as much as the one before it. Row i then sees weights 2^j / (2^(i+1) - 1), j = 0..i.
#include <sightline/attention.h>
#include <sightline/error.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t kTokens = 6, kTop = 2;

// -sum w ln w of row i, in plain doubles.
double closed_form_entropy(std::int64_t i) {
  const double sum = std::exp2(i + 1) - 1;
  double entropy = 0;
  for (std::int64_t j = 0; j <= i; ++j) entropy -= std::exp2(j) / sum * std::log(std::exp2(j) / sum);
  return entropy;
}

// One batch, one head, numbers of width 1. Shapes are [batch, heads, sequence, width]; in a dense view the numbers lie
// side by side.
sightline::TensorView column(const std::vector<float>& numbers) {
  return sightline::dense_view(numbers.data(), {1, 1, kTokens, 1});
}

bool near(float got, double expected) { return std::abs(got - expected) <= 1e-5; }

int observe() {
  std::vector<float> q(kTokens, 1), k(kTokens), v(kTokens, 3), out(kTokens);
  for (std::int64_t j = 0; j < kTokens; ++j) k[j] = static_cast<float>(j) * std::log(2.0f);

  sightline::AttentionProblem problem;
  problem.q = column(q);
  problem.k = column(k);
  problem.v = column(v);
  problem.causal = true;

  // What is asked for has an array to go to; everything else costs nothing.
  std::vector<float> entropy(kTokens), weight(kTokens * kTop);
  std::vector<std::int32_t> key(kTokens * kTop);
  sightline::Observations see;
  see.entropy = entropy.data();
  see.top_k = kTop;
  see.topk_index = key.data();
  see.topk_weight = weight.data();

  sightline::attention(problem, sightline::dense_view(out.data(), {1, 1, kTokens, 1}), see);

  std::printf("row  entropy  two heaviest keys\n");
  bool right = true;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    const std::int64_t first = i * kTop, second = first + 1;
    std::printf("%3d  %7.4f  %d (%.4f)", static_cast<int>(i), entropy[i], key[first], weight[first]);
    if (key[second] >= 0) std::printf(", %d (%.4f)", key[second], weight[second]);  // the first row sees one key only
    std::printf("\n");
    right = right && near(entropy[i], closed_form_entropy(i)) && near(out[i], 3) && key[first] == i &&
            near(weight[first], std::exp2(i) / (std::exp2(i + 1) - 1)) && key[second] == i - 1;
  }
  if (!right) std::fprintf(stderr, "observe: the table is not what the closed form says\n");
  return right ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return observe();
  } catch (const sightline::Error& error) {  // one line that says what is wrong and what to do
    std::fprintf(stderr, "observe: %s\n", error.what());
    return 1;
  }
}
