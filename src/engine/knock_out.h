#ifndef SIGHTLINE_ENGINE_KNOCK_OUT_H_
#define SIGHTLINE_ENGINE_KNOCK_OUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/transformer.h"
#include "src/engine/axis.h"
#include "src/engine/look.h"

namespace sightline::engine {

/// What the rows, or the keys, of a knock-out are called.
struct KnockOutSide {
  enum class Kind : std::uint8_t {
    all,      // *
    segment,  // :system
    words,    // #3-9, by number
    pieces,   // /3-9, by number
    name,     // a word or a piece, as its text
  };
  Kind kind = Kind::all;
  std::string name = {};            // of a segment, a word or a piece
  std::size_t first = 0, last = 0;  // of numbers, from 1
};

/// A range of layers and one of heads, from 1; 0 to 0: all.
struct KnockOutMaps {
  std::size_t first_layer = 0, last_layer = 0;
  std::size_t first_head = 0, last_head = 0;
};

/// FROM->TO[@MAPS] as docs/knockout.md describes it: FROM does not see TO, in these maps.
struct KnockOutSpec {
  std::string text;  // as it was given
  KnockOutSide from, to;
  std::vector<KnockOutMaps> maps;  // empty: all
};

/// Throws BadArgument that says what cannot be read.
KnockOutSpec parse_knock_out(std::string_view text);

/// MAPS of it: `L4H2`, `L3-5`, `H2`, `all`, several with commas between them. Throws as parse_knock_out() does.
std::vector<KnockOutMaps> parse_maps(std::string_view list);

/// What the names in a knock-out are looked up in.
struct KnockOutScope {
  const ModelFacts& model;
  const Axis& words;
  std::span<const LookToken> tokens;
  std::span<const std::string> segment_names;      // what the text is made of
  std::span<const std::int32_t> segment_of_token;  // index into these, -1 = none
  std::int32_t growing = -1;  // the segment that tokens to come belong to; -1: the text does not go on
};

/// A knock-out in a text.
struct TextKnockOut {
  // Layers and heads, from 1, each with each.
  struct Maps {
    std::vector<int> layers, heads;

    bool holds(int layer, int head) const;
  };

  std::string spec;                              // as it was given
  std::vector<model::PositionRange> rows, keys;  // tokens, ascending; of a text that goes on also those to come
  std::vector<Maps> maps;
  bool seen = true;  // any of these rows sees any of these keys, in any of the maps, where nothing is knocked out

  bool holds(int layer, int head) const;
};

/// These maps in a model. Throws BadArgument for a layer or a head that there is not.
std::vector<TextKnockOut::Maps> resolve_maps(std::span<const KnockOutMaps> maps, const ModelFacts& model);

/// Throws BadArgument for what there is not: words, pieces, segments, layers, heads. `seen` says which of them change
/// nothing; where none changes anything that is an error, too.
std::vector<TextKnockOut> resolve_knock_outs(std::span<const std::string> specs, const KnockOutScope& scope);

/// The same for the forward pass.
std::vector<model::KnockOut> model_knock_outs(std::span<const TextKnockOut> knock_outs,
                                              const model::TransformerConfig& config);

/// Whether `knock_outs` hide a key from a row, both tokens, in a map.
bool knocks_out(std::span<const TextKnockOut> knock_outs, const MapId& map, std::int64_t row, std::int64_t key);

/// "1 row, 2 keys, 12 maps"; of a text that goes on "and those to come".
std::string extent_text(const TextKnockOut& knock_out);

/// One line for each that changes nothing, saying why.
std::vector<std::string> knock_out_notes(std::span<const TextKnockOut> knock_outs, bool causal);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_KNOCK_OUT_H_
