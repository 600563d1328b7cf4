#ifndef SIGHTLINE_ANALYSIS_PLACE_TEXT_H_
#define SIGHTLINE_ANALYSIS_PLACE_TEXT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/asked_text.h"

namespace sightline::analysis {

/// Roles that are a place: which key is right follows from where a row stands.
enum class Place : std::uint8_t {
  previous,   // the token before
  current,    // the row's own
  next,       // the token after
  first,      // the text's first token, whatever it is
  separator,  // special tokens elsewhere
  sink,       // the head's learned sink, which is no token
  duplicate,  // an earlier occurrence of the same token
  induction,  // what came after an earlier occurrence
};
std::string place_name(Place place);
/// Where heads rest that have nothing to look for.
constexpr bool is_resting(Place place) {
  return place == Place::first || place == Place::separator || place == Place::sink;
}

/// A text whose tokens [block_begin, block_end) are a block of `period` tokens, all different, again and again; of a
/// text without repetition `period` is 0.
struct RepeatedText {
  std::vector<std::int32_t> ids, type_ids;
  std::vector<std::int64_t> special;  // which tokens the template added, ascending
  std::int64_t block_begin = 0, block_end = 0, period = 0;

  std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
};

/// Texts, and what is asked about each row of them.
struct PlaceProbe {
  std::vector<Place> places;
  std::vector<RepeatedText> texts;
};

/// Whether the place is asked of that row, and whether such a key is right.
bool asks(Place place, const RepeatedText& text, std::int64_t row);
bool is_right(Place place, const RepeatedText& text, std::int64_t row, std::int64_t key);

/// Keys that a row sees.
struct SeenKeys {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};

/// How many keys of those are right.
std::int64_t right_count(Place place, const RepeatedText& text, std::int64_t row, const SeenKeys& seen);

/// What a head would do that reads no weights: it looks evenly at all that it sees, or always so many tokens back.
struct PlaceBaseline {
  std::optional<std::int64_t> offset;  // tokens back; none: evenly
};
std::string baseline_name(const PlaceBaseline& baseline);

/// The better one of both for these texts. Where a fixed offset is the role itself, and for first token, separator and
/// sink, it is the even look; of repetitions, whose lengths differ, it may be an offset.
PlaceBaseline best_baseline(Place place, const std::vector<const RepeatedText*>& texts, bool causal);

/// A role that is asked of a text's rows.
struct AskedPlace {
  Place place = Place::previous;
  PlaceBaseline baseline;
  std::size_t role = 0;
  int half = 0;
};

/// Asks rows where their heaviest key is, and how much weight lies where it should be, through what the pass observes:
/// no row of the map is read.
class PlaceText : public AskedText {
 public:
  /// `text` must outlive this.
  PlaceText(const RepeatedText& text, std::vector<AskedPlace> places);

  model::TokenSequence sequence() const override { return {text_.ids, text_.type_ids}; }
  Observations request(const model::LayerAttention& call, ObservedBuffers& buffers) override;
  void done(const model::LayerAttention& call, const ObservedBuffers& buffers, const AskedHeads& asked,
            Tallies& to) override;

 private:
  class Rows;

  const RepeatedText& text_;
  std::vector<AskedPlace> places_;
  std::vector<std::int64_t> offsets_;           // whose mass is observed, ascending
  std::vector<std::int32_t> segment_of_token_;  // 0: the first token, 1: a separator, -1: another
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_PLACE_TEXT_H_
