#include "src/analysis/alignment.h"

#include <algorithm>
#include <unordered_set>

namespace sightline::analysis {
namespace {

using Index = std::int64_t;
using Symbols = std::span<const Index>;

// Items of a sequence whose symbols the other one has, too.
struct Shared {
  std::vector<Index> symbols, places;
};

Shared shared_with(Symbols items, Symbols others) {
  const std::unordered_set<Index> known(others.begin(), others.end());
  Shared shared;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!known.contains(items[i])) continue;
    shared.symbols.push_back(items[i]);
    shared.places.push_back(static_cast<Index>(i));
  }
  return shared;
}

// How far a path reaches on each diagonal x - y, of which there are `a` on one side of 0 and `b` on the other.
class Reach {
 public:
  Reach(Index a, Index b) : zero_(b + 1), at_(static_cast<std::size_t>(a + b + 3)) {}
  Index& operator[](Index diagonal) { return at_[static_cast<std::size_t>(diagonal + zero_)]; }

 private:
  Index zero_;
  std::vector<Index> at_;
};

class CommonSubsequence {
 public:
  CommonSubsequence(Symbols a, Symbols b)
      : a_(a), b_(b), ahead_(std::ssize(a), std::ssize(b)), back_(std::ssize(a), std::ssize(b)) {}

  std::vector<AlignedPair> find() {
    walk({0, std::ssize(a_), 0, std::ssize(b_)});
    return std::move(found_);
  }

 private:
  // Items [a, a_end) and [b, b_end).
  struct Box {
    Index a, a_end, b, b_end;
    Index width() const { return a_end - a; }
    Index height() const { return b_end - b; }
  };
  struct Point {
    Index a, b;
  };

  bool equal(Index i, Index j) const { return a_[static_cast<std::size_t>(i)] == b_[static_cast<std::size_t>(j)]; }

  // Adds the pairs of a box, in order. Halves recurse to a depth of O(log d).
  void walk(Box box) {
    while (box.width() > 0 && box.height() > 0 && equal(box.a, box.b)) found_.push_back({box.a++, box.b++, true});
    Index tail = 0;
    while (box.width() > 0 && box.height() > 0 && equal(box.a_end - 1, box.b_end - 1)) {
      --box.a_end;
      --box.b_end;
      ++tail;
    }
    if (box.width() > 0 && box.height() > 0) {
      const Point middle = middle_of(box);
      walk({box.a, middle.a, box.b, middle.b});
      walk({middle.a, box.a_end, middle.b, box.b_end});
    }
    for (Index i = 0; i < tail; ++i) found_.push_back({box.a_end + i, box.b_end + i, true});
  }

  // A point on a shortest path through the box, which begins and ends with unequal items: where paths from both ends,
  // each of half the length, meet. Neither corner is such a point, so that both parts are smaller.
  Point middle_of(const Box& box) {
    const Index n = box.width(), m = box.height(), delta = n - m;
    const bool odd = delta % 2 != 0;
    ahead_[1] = back_[1] = 0;
    for (Index d = 0;; ++d) {
      for (Index k = first(d, m); k <= last(d, n); k += 2) {
        const Index x = step(ahead_, d, k, n, m);
        const Index end = slide(box, x, x - k);
        ahead_[k] = end;
        const Index opposite = delta - k;
        if (odd && std::abs(opposite) <= d - 1 && inside(opposite, n, m) && end + back_[opposite] >= n) {
          return {box.a + end, box.b + end - k};
        }
      }
      for (Index k = first(d, m); k <= last(d, n); k += 2) {
        const Index x = step(back_, d, k, n, m);
        const Index end = slide_back(box, x, x - k);
        back_[k] = end;
        const Index opposite = delta - k;
        if (!odd && std::abs(opposite) <= d && inside(opposite, n, m) && end + ahead_[opposite] >= n) {
          return {box.a_end - end, box.b_end - (end - k)};
        }
      }
    }
  }

  // Diagonals of parity d from -d to d that lie in the box.
  static Index first(Index d, Index m) { return d <= m ? -d : -m + (d - m) % 2; }
  static Index last(Index d, Index n) { return d <= n ? d : n - (d - n) % 2; }
  static bool inside(Index k, Index n, Index m) { return -m <= k && k <= n; }

  // Where a path of d steps comes to on diagonal k: down from k + 1, or right from k - 1, whichever reaches farther.
  static Index step(Reach& reach, Index d, Index k, Index n, Index m) {
    if (d == 0) return 0;
    const bool from_above = k + 1 <= last(d - 1, n), from_left = k - 1 >= first(d - 1, m);
    if (from_above && (!from_left || reach[k - 1] < reach[k + 1])) return std::min(reach[k + 1], n);
    return std::min(reach[k - 1] + 1, n);
  }

  Index slide(const Box& box, Index x, Index y) const {
    while (x < box.width() && y < box.height() && equal(box.a + x, box.b + y)) ++x, ++y;
    return x;
  }
  Index slide_back(const Box& box, Index x, Index y) const {
    while (x < box.width() && y < box.height() && equal(box.a_end - 1 - x, box.b_end - 1 - y)) ++x, ++y;
    return x;
  }

  Symbols a_, b_;
  Reach ahead_, back_;
  std::vector<AlignedPair> found_;
};

// Items [a, a_end) and [b, b_end), which have no equal partners between their neighbours.
void add_gap(Symbols a, Symbols b, Index i, Index i_end, Index j, Index j_end, std::vector<AlignedPair>& pairs) {
  const auto add_alone = [&pairs](Index from, Index to, Index AlignedPair::*side) {
    for (; from < to; ++from) (pairs.emplace_back().*side) = from;
  };
  for (; i < i_end && j < j_end; ++i, ++j) {
    if (a[static_cast<std::size_t>(i)] < 0 || b[static_cast<std::size_t>(j)] < 0) break;
    pairs.push_back({i, j, false});
  }
  add_alone(i, i_end, &AlignedPair::a);
  add_alone(j, j_end, &AlignedPair::b);
}

}  // namespace

std::vector<AlignedPair> align(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const Shared in_a = shared_with(a, b), in_b = shared_with(b, a);
  std::vector<AlignedPair> pairs;
  Index i = 0, j = 0;
  for (const AlignedPair& common : CommonSubsequence(in_a.symbols, in_b.symbols).find()) {
    const AlignedPair pair{in_a.places[static_cast<std::size_t>(common.a)],
                           in_b.places[static_cast<std::size_t>(common.b)], true};
    add_gap(a, b, i, pair.a, j, pair.b, pairs);
    pairs.push_back(pair);
    i = pair.a + 1;
    j = pair.b + 1;
  }
  add_gap(a, b, i, std::ssize(a), j, std::ssize(b), pairs);
  return pairs;
}

}  // namespace sightline::analysis
