// Few rows have code of their own from the reading of keys to the mix: whatever their rows' type and layout, the bits
// must be those of many rows, in which each row is a lane. docs/attention.md has both schedules.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sightline/attention.h"
#include "src/cpu/target.h"
#include "tests/attention/operand.h"
#include "tests/attention/paging.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kMany = 17;  // rows of a head that are not stacked
constexpr std::int64_t kKvHeads = 2;

enum class Where : std::uint8_t { dense, heads_inside, spread, pages_of_8, pages_of_24, pages_of_64 };
constexpr const char* kWhereNames[] = {"dense", "heads_inside", "spread", "pages_of_8", "pages_of_24", "pages_of_64"};
constexpr std::int64_t kPageSizes[] = {0, 0, 0, 8, 24, 64};

Layout layout_of(Where where) {
  if (where == Where::heads_inside) return Layout::heads_inside;
  return where == Where::spread ? Layout::spread : Layout::dense;
}

struct Case {
  DType dtype;
  Where where;
  std::int64_t width, keys, group;
};

// Keys and values somewhere, and queries of kMany rows a head.
class Problem {
 public:
  explicit Problem(const Case& c)
      : random_(7), paging_({c.keys}, std::max<std::int64_t>(1, page_size(c)), false, random_) {
    queries_.resize(kKvHeads * c.group * kMany * c.width);
    for (float& x : queries_) x = normal_(random_);
    problem_.q = dense_view(std::as_const(queries_).data(), {1, kKvHeads * c.group, kMany, c.width});
    keys_ = operand(c);
    values_ = operand(c);
    problem_.k = keys_.view();
    problem_.v = values_.view();
    for (std::int64_t row = 0; row < kMany; ++row) spans_[row] = {c.keys, 0, row};
    if (page_size(c) == 0) return;
    problem_.pages = paging_.view();
    problem_.pages.k_page_stride = problem_.k.strides[0];
    problem_.pages.v_page_stride = problem_.v.strides[0];
  }

  // Rows [row, row + count) of each head, which stand at positions row and on.
  AttentionProblem rows(std::int64_t row, std::int64_t count) const {
    AttentionProblem part = problem_;
    part.q.data = queries_.data() + row * part.q.strides[2];
    part.q.shape[2] = count;
    part.sequences = {&spans_[row], 1};
    return part;
  }

 private:
  static std::int64_t page_size(const Case& c) { return kPageSizes[static_cast<int>(c.where)]; }

  Operand operand(const Case& c) {
    Strided<float> numbers(DType::f32, {1, kKvHeads, c.keys, c.width}, Layout::dense, 0);
    numbers.fill([&](float& x) { x = normal_(random_); });
    if (page_size(c) == 0) return {numbers, c.dtype, layout_of(c.where)};
    const auto locate = [this](std::int64_t b, std::int64_t j) {
      const auto [page, slot] = paging_.locate(b, j);
      return Operand::Place{page, slot};
    };
    return {numbers, c.dtype, Layout::dense, paging_, locate};
  }

  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  Paging paging_;
  std::vector<float> queries_;
  Operand keys_, values_;
  SequenceSpan spans_[kMany];
  AttentionProblem problem_;
};

// Everything that streams over the keys: outputs [heads, rows, width], the others [heads, rows, ...].
struct Results {
  std::vector<float> out, lse, entropy, position, distance, top_weight;
  std::vector<std::int32_t> top_key;
};

constexpr std::int64_t kTop = 3;

Results run(const AttentionProblem& problem, bool observed) {
  const std::int64_t heads = problem.q.shape[1], rows = problem.q.shape[2], width = problem.v.shape[3];
  const auto floats = [&](std::int64_t each) { return std::vector<float>(heads * rows * each); };
  Results got{floats(width), floats(1), floats(1), floats(1), floats(1), floats(kTop), {}};
  got.top_key.resize(heads * rows * kTop);
  Observations see;
  if (observed) {
    see.lse = got.lse.data();
    see.entropy = got.entropy.data();
    see.position = got.position.data();
    see.distance = got.distance.data();
    see.top_k = kTop;
    see.topk_weight = got.top_weight.data();
    see.topk_index = got.top_key.data();
  }
  attention(problem, dense_view(got.out.data(), {1, heads, rows, width}), see, {.threads = 1});
  return got;
}

// Bits of rows [row, row + count) of each head, of which all has kMany, against those of a pass over them alone.
template <class T>
bool same(const std::vector<T>& all, const std::vector<T>& part, std::int64_t heads, std::int64_t row,
          std::int64_t count) {
  const std::int64_t each = static_cast<std::int64_t>(part.size()) / (heads * count);
  for (std::int64_t h = 0; h < heads; ++h) {
    const T* whole = all.data() + (h * kMany + row) * each;
    if (std::memcmp(whole, part.data() + h * count * each, count * each * sizeof(T)) != 0) return false;
  }
  return true;
}

void expect_same(const Results& all, const Results& part, std::int64_t heads, std::int64_t row, std::int64_t count) {
  EXPECT_TRUE(same(all.out, part.out, heads, row, count));
  EXPECT_TRUE(same(all.lse, part.lse, heads, row, count));
  EXPECT_TRUE(same(all.entropy, part.entropy, heads, row, count));
  EXPECT_TRUE(same(all.position, part.position, heads, row, count));
  EXPECT_TRUE(same(all.distance, part.distance, heads, row, count));
  EXPECT_TRUE(same(all.top_weight, part.top_weight, heads, row, count));
  EXPECT_TRUE(same(all.top_key, part.top_key, heads, row, count));
}

void check(const Case& c) {
  const Problem problem(c);
  const std::int64_t heads = kKvHeads * c.group;
  for (const std::string& target : cpu::available_targets()) {
    if (target == "SCALAR") continue;  // has no such rows
    cpu::force_target(target);
    for (const bool observed : {false, true}) {
      const Results all = run(problem.rows(0, kMany), observed);
      for (const std::int64_t count : {1, 2, 5}) {
        SCOPED_TRACE(target + ", rows of a head: " + std::to_string(count) + (observed ? ", observed" : ""));
        expect_same(all, run(problem.rows(3, count), observed), heads, 3, count);
      }
    }
  }
  cpu::force_target("");
}

class FewRows : public ::testing::TestWithParam<std::tuple<DType, Where>> {};

// Keys: part of a block, a block and a part, more than a run of eight. Widths: one vector, half of a block of
// q4_1, and those at which lines of memory and rows do not meet. Groups: rows that have a loop of their own and that
// have not.
TEST_P(FewRows, AsMany) {
  const auto [dtype, where] = GetParam();
  for (const std::int64_t width : {16, 48, 112, 200}) {
    for (const std::int64_t keys : {3, 100, 700}) {
      for (const std::int64_t group : {1, 2}) {
        SCOPED_TRACE("width " + std::to_string(width) + ", keys " + std::to_string(keys) + ", group " +
                     std::to_string(group));
        check({dtype, where, width, keys, group});
      }
    }
  }
}

std::string name(const ::testing::TestParamInfo<FewRows::ParamType>& info) {
  return std::string(dtype_name(std::get<0>(info.param))) + "_" +
         kWhereNames[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(
    Types, FewRows,
    ::testing::Combine(::testing::Values(DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1),
                       ::testing::Values(Where::dense, Where::heads_inside, Where::spread, Where::pages_of_8,
                                         Where::pages_of_24, Where::pages_of_64)),
    name);

}  // namespace
}  // namespace sightline::testing
