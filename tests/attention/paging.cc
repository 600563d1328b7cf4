#include "tests/attention/paging.h"

#include <algorithm>
#include <numeric>

#include "tests/attention/recipe.h"

namespace sightline::testing {
namespace {

constexpr std::int32_t kOutside = -1234567;
constexpr std::int64_t kSparePages = 2;  // pages of the pool that no sequence has

}  // namespace

Paging::Paging(const std::vector<std::int64_t>& lengths, std::int64_t page_size, bool share, std::mt19937_64& random)
    : page_size_(page_size) {
  std::int64_t total = 0;
  const auto pages_of = [&](std::int64_t keys) { return (keys + page_size - 1) / page_size; };
  for (const std::int64_t keys : lengths) {
    stride_ = std::max(stride_, pages_of(keys) + 1);
    total += pages_of(keys);
  }
  std::vector<std::int32_t> free(total + kSparePages);
  std::iota(free.begin(), free.end(), 0);
  std::shuffle(free.begin(), free.end(), random);
  users_.assign(free.size(), 0);
  table_.assign(lengths.size() * stride_, kOutside);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t n = 0; n < pages_of(lengths[s]); ++n) {
      const bool shared = share && s > 0 && n < pages_of(lengths[s - 1]) && n < 2;
      const std::int32_t page = shared ? table_[(s - 1) * stride_ + n] : free.back();
      if (!shared) free.pop_back();
      table_[s * stride_ + n] = page;
      ++users_[page];
    }
  }
}

std::pair<std::int64_t, std::int64_t> Paging::locate(std::int64_t sequence, std::int64_t n) const {
  const std::int64_t entry = n / page_size_;
  const std::int32_t page = entry < stride_ ? table_[sequence * stride_ + entry] : kOutside;
  return {page == kOutside ? -1 : page, n % page_size_};
}

PageTable Paging::view() const { return {table_.data(), stride_, page_size_, pages(), 0, 0}; }

}  // namespace sightline::testing
