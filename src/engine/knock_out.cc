#include "src/engine/knock_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sightline/error.h"
#include "src/engine/words.h"

namespace sightline::engine {
namespace {

using Range = model::PositionRange;
using Ranges = std::vector<Range>;

// Numbers [first, last] of layers or heads, of which there are `count`; 0 to 0: all.
std::vector<int> numbers_of(std::size_t first, std::size_t last, std::int64_t count, std::string_view what,
                            const ModelFacts& model) {
  if (std::cmp_greater(last, count)) {
    throw BadArgument(
        fmt::format("there is no {0} {1}: {2} has {0}s 1 to {3}", what, std::max(first, last), model.name, count));
  }
  std::vector<int> numbers;
  const std::int64_t end = last == 0 ? count : static_cast<std::int64_t>(last);
  for (auto i = static_cast<std::int64_t>(std::max<std::size_t>(first, 1)); i <= end; ++i) {
    numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

// Names of one knock-out, looked up.
class Resolver {
 public:
  explicit Resolver(const KnockOutScope& scope) : scope_(scope), pieces_(items_of_tokens(scope.tokens)) {}

  TextKnockOut resolve(const KnockOutSpec& spec) const {
    TextKnockOut knock_out{spec.text, ranges_of(spec.from), ranges_of(spec.to), {}, true};
    static constexpr KnockOutMaps kAll[1] = {};
    knock_out.maps = resolve_maps(spec.maps.empty() ? std::span<const KnockOutMaps>(kAll) : spec.maps, scope_.model);
    knock_out.seen = is_seen(knock_out);
    return knock_out;
  }

 private:
  std::int64_t length() const { return std::ssize(scope_.tokens); }
  bool goes_on() const { return scope_.growing >= 0; }

  Ranges ranges_of(const KnockOutSide& side) const {
    switch (side.kind) {
      case KnockOutSide::Kind::all:
        return {{0, goes_on() ? Range::kOpen : length()}};
      case KnockOutSide::Kind::segment:
        return segment(side.name);
      case KnockOutSide::Kind::words:
        return numbered(scope_.words, side, "words");
      case KnockOutSide::Kind::pieces:
        return numbered(pieces_, side, "pieces");
      case KnockOutSide::Kind::name:
        break;
    }
    return {named(side.name)};
  }

  static Range range_of(const AxisItem& item) { return {item.token_begin, item.token_end}; }

  static Ranges numbered(const Axis& axis, const KnockOutSide& side, std::string_view unit) {
    if (side.last > axis.size()) {
      throw BadArgument(fmt::format("there is no {0}{1}: the {2} are {0}1 to {0}{3}", unit == "words" ? '#' : '/',
                                    side.last, unit, axis.size()));
    }
    return {{axis[side.first - 1].token_begin, axis[side.last - 1].token_end}};
  }

  // A word, all of it; else one of its pieces as `didn't/2`; else the only piece spelled so.
  Range named(const std::string& name) const {
    if (has_item(scope_.words, name)) return range_of(scope_.words[find_item(scope_.words, name)]);
    const std::size_t slash = name.rfind('/');
    const std::string word = name.substr(0, slash);
    if (slash != std::string::npos && has_item(scope_.words, word)) {
      if (const auto number = parse_count(std::string_view(name).substr(slash + 1))) {
        return piece(scope_.words[find_item(scope_.words, word)], *number);
      }
    }
    if (has_item(pieces_, name)) return range_of(pieces_[find_item(pieces_, name)]);
    return range_of(scope_.words[find_item(scope_.words, name)]);  // says what there is
  }

  static Range piece(const AxisItem& word, std::size_t number) {
    const std::int64_t count = word.token_end - word.token_begin;
    if (std::cmp_greater(number, count)) {
      throw BadArgument(fmt::format("{} has no piece {}: it has {}", in_quotes(word.label), number, count));
    }
    const std::int64_t at = word.token_begin + static_cast<std::int64_t>(number) - 1;
    return {at, at + 1};
  }

  Ranges segment(const std::string& name) const {
    const auto found = std::ranges::find(scope_.segment_names, name);
    if (found == scope_.segment_names.end()) {
      std::string names;
      for (const std::string& known : scope_.segment_names) names += (names.empty() ? ":" : ", :") + known;
      throw BadArgument(fmt::format("there is no segment {}: there are {}", in_quotes(name), names));
    }
    const auto index = static_cast<std::int32_t>(found - scope_.segment_names.begin());
    Ranges ranges;
    for (std::int64_t i = 0; i < length(); ++i) {
      if (scope_.segment_of_token[static_cast<std::size_t>(i)] != index) continue;
      if (ranges.empty() || ranges.back().end != i) ranges.push_back({i, i});
      ranges.back().end = i + 1;
    }
    if (index == scope_.growing) {
      if (ranges.empty() || ranges.back().end != length()) ranges.push_back({length(), length()});
      ranges.back().end = Range::kOpen;
    }
    if (ranges.empty()) throw BadArgument(fmt::format("no token of the text is of the segment {}", in_quotes(name)));
    return ranges;
  }

  bool is_seen(const TextKnockOut& knock_out) const {
    return std::ranges::any_of(knock_out.maps, [&](const TextKnockOut::Maps& maps) {
      return std::ranges::any_of(maps.layers, [&](int layer) {
        const std::int64_t window = scope_.model.config.pattern[static_cast<std::size_t>(layer - 1)].window;
        return std::ranges::any_of(knock_out.rows, [&](const Range& rows) {
          return std::ranges::any_of(knock_out.keys, [&](const Range& keys) { return sees(rows, keys, window); });
        });
      });
    });
  }

  // Whether any of the rows sees any of the keys in a layer: a causal one none after it, and `window` back at most.
  bool sees(const Range& rows, const Range& keys, std::int64_t window) const {
    if (scope_.model.config.causal && rows.end <= keys.begin) return false;
    const std::int64_t nearest = rows.begin - (keys.end - 1);  // how far back the last key is, at least
    return window == 0 || nearest < window;
  }

  const KnockOutScope& scope_;
  Axis pieces_;
};

std::vector<std::int64_t> from_zero(const std::vector<int>& numbers) {
  std::vector<std::int64_t> indexes;
  for (const int number : numbers) indexes.push_back(number - 1);
  return indexes;
}

bool holds(const Ranges& ranges, std::int64_t token) {
  return std::ranges::any_of(ranges, [token](const Range& range) { return range.has(token); });
}

std::string count_text(const Ranges& ranges, std::string_view one) {
  std::int64_t count = 0;
  for (const Range& range : ranges) count += range.end == Range::kOpen ? 0 : range.end - range.begin;
  const bool open = std::ranges::any_of(ranges, [](const Range& range) { return range.end == Range::kOpen; });
  return fmt::format("{} {}{}{}", count, one, count == 1 ? "" : "s", open ? " and those to come" : "");
}

std::string unseen_note(const TextKnockOut& knock_out, bool causal) {
  return fmt::format("knock-out {} changes nothing: these rows see none of these keys{}", in_quotes(knock_out.spec),
                     causal ? ", as a row of this model sees its own token and some before it, never later ones" : "");
}

}  // namespace

std::vector<TextKnockOut::Maps> resolve_maps(std::span<const KnockOutMaps> maps, const ModelFacts& model) {
  std::vector<TextKnockOut::Maps> resolved;
  for (const KnockOutMaps& one : maps) {
    resolved.push_back({numbers_of(one.first_layer, one.last_layer, model.config.layers, "layer", model),
                        numbers_of(one.first_head, one.last_head, model.config.query_heads, "head", model)});
  }
  return resolved;
}

bool TextKnockOut::Maps::holds(int layer, int head) const {
  return std::ranges::binary_search(layers, layer) && std::ranges::binary_search(heads, head);
}

bool TextKnockOut::holds(int layer, int head) const {
  return std::ranges::any_of(maps, [&](const Maps& some) { return some.holds(layer, head); });
}

std::vector<TextKnockOut> resolve_knock_outs(std::span<const std::string> specs, const KnockOutScope& scope) {
  std::vector<TextKnockOut> knock_outs;
  if (specs.empty()) return knock_outs;
  const Resolver resolver(scope);
  for (const std::string& text : specs) {
    const KnockOutSpec spec = parse_knock_out(text);
    try {
      knock_outs.push_back(resolver.resolve(spec));
    } catch (const BadArgument& error) {
      throw BadArgument(fmt::format("knock-out {}: {}", in_quotes(text), error.what()));
    }
  }
  if (std::ranges::none_of(knock_outs, &TextKnockOut::seen)) {
    throw BadArgument(unseen_note(knock_outs.front(), scope.model.config.causal));
  }
  return knock_outs;
}

std::vector<model::KnockOut> model_knock_outs(std::span<const TextKnockOut> knock_outs,
                                              const model::TransformerConfig& config) {
  std::vector<model::KnockOut> result;
  for (const TextKnockOut& knock_out : knock_outs) {
    for (const TextKnockOut::Maps& maps : knock_out.maps) {
      model::KnockOut& one = result.emplace_back();
      one.rows = knock_out.rows;
      one.keys = knock_out.keys;
      for (const int layer : maps.layers) one.layers.push_back(layer - 1);
      if (std::cmp_less(maps.heads.size(), config.query_heads)) one.heads = from_zero(maps.heads);
    }
  }
  return result;
}

bool knocks_out(std::span<const TextKnockOut> knock_outs, const MapId& map, std::int64_t row, std::int64_t key) {
  return std::ranges::any_of(knock_outs, [&](const TextKnockOut& knock_out) {
    return knock_out.holds(map.layer, map.head) && holds(knock_out.rows, row) && holds(knock_out.keys, key);
  });
}

std::string extent_text(const TextKnockOut& knock_out) {
  std::int64_t maps = 0;
  for (const TextKnockOut::Maps& some : knock_out.maps) maps += std::ssize(some.layers) * std::ssize(some.heads);
  return fmt::format("{}, {}, {} map{}", count_text(knock_out.rows, "row"), count_text(knock_out.keys, "key"), maps,
                     maps == 1 ? "" : "s");
}

std::vector<std::string> knock_out_notes(std::span<const TextKnockOut> knock_outs, bool causal) {
  std::vector<std::string> notes;
  for (const TextKnockOut& knock_out : knock_outs) {
    if (!knock_out.seen) notes.push_back(unseen_note(knock_out, causal));
  }
  return notes;
}

}  // namespace sightline::engine
