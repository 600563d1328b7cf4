#ifndef SIGHTLINE_CLI_MAP_PICTURE_H_
#define SIGHTLINE_CLI_MAP_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/weights.h"
#include "src/format/picture.h"

namespace sightline::cli {

/// One item of an axis as a picture names it.
struct AxisLabel {
  std::string text;
  bool quiet = false;  // special tokens: in grey
};

/// One labelled map: its size decides whether cells hold numbers, whether every item is named, and the scale.
struct MapSheet {
  std::string title;               // "Layer 4, head 2"
  std::string model;               // begins the line below, which goes on with the map's size and how exact it is
  std::string unit;                // "words"
  std::vector<std::string> notes;  // lines of their own: what is merged, what is set aside
  std::vector<AxisLabel> rows, cols;
  Weights weights;
};
format::Picture draw_map(const MapSheet& sheet, format::Font& font);

/// One small map of the layers x heads sheet.
struct SheetTile {
  Weights weights;
  double entropy = 0;  // nats
  double spread = 0;   // entropy as a share of an even look's, 0..1: the bar below the tile
  bool marked = false;
};
/// All heads, a row a layer.
struct HeadSheet {
  std::string title, model;
  std::string unit;
  std::vector<std::string> notes;
  std::int64_t layers = 0, heads = 0;
  std::vector<SheetTile> tiles;  // [layers, heads]
};
format::Picture draw_heads(const HeadSheet& sheet, format::Font& font);

/// Items a side up to which a picture shows every weight; beyond, means of blocks.
inline constexpr std::int64_t kMaxMapSide = 16'384;

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_MAP_PICTURE_H_
