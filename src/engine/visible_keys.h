#ifndef SIGHTLINE_ENGINE_VISIBLE_KEYS_H_
#define SIGHTLINE_ENGINE_VISIBLE_KEYS_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sightline/mask.h"
#include "src/engine/score_rule.h"

namespace sightline::engine {

/// Whether a list of a cut names an index; an empty one names all.
bool cut_names(std::span<const std::int64_t> list, std::int64_t index);

/// The cuts of one head (from 0), for a problem of that head alone. Their lists are those of `cuts`.
std::vector<EdgeCut> cuts_of_head(std::span<const EdgeCut> cuts, std::int64_t head);

/// How many keys the rows of a map see, those that are cut left out.
class VisibleKeys {
 public:
  /// `is_counted`: a flag for each key; `cuts`: of the map's head alone. All must outlive the object.
  VisibleKeys(const ScoreRule& rule, std::span<const EdgeCut> cuts, std::vector<bool> is_counted);

  std::int64_t count(std::int64_t row) const;    // all of them
  std::int64_t counted(std::int64_t row) const;  // those that have the flag

 private:
  // Keys that are left, before each key and before the end; `counted` of those with the flag.
  struct Before {
    std::vector<std::int64_t> all, counted;
  };
  const Before& before(std::int64_t row) const;
  Before without(const std::vector<std::size_t>& cuts) const;

  const ScoreRule& rule_;
  std::span<const EdgeCut> cuts_;
  std::vector<bool> is_counted_;
  mutable std::map<std::vector<std::size_t>, Before> before_;  // by which cuts a row has: rows share them
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_VISIBLE_KEYS_H_
