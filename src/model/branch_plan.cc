#include "src/model/branch_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/model/edge_cuts.h"

namespace sightline::model {
namespace {

// The positions that a knock-out names, ascending; empty lists mean all.
struct NamedEdges {
  const std::vector<int>* layers;
  std::vector<std::int64_t> rows, keys;
};

// Keys [begin, end) that a row sees.
std::pair<std::int64_t, std::int64_t> keys_seen(const TransformerConfig& config, int layer, std::int64_t row,
                                                std::int64_t tokens) {
  const std::int64_t window = config.pattern[static_cast<std::size_t>(layer)].window;
  return {window > 0 ? std::max<std::int64_t>(0, row + 1 - window) : 0, config.causal ? row + 1 : tokens};
}

bool loses_an_edge(const NamedEdges& edges, std::pair<std::int64_t, std::int64_t> seen) {
  if (edges.keys.empty()) return true;
  const auto key = std::ranges::lower_bound(edges.keys, seen.first);
  return key != edges.keys.end() && *key < seen.second;
}

// Of the rows that a knock-out names the first one, from the i-th on, that loses an edge in a layer; tokens: none does.
std::int64_t next_row(const TransformerConfig& config, int layer, const NamedEdges& edges, std::int64_t tokens,
                      std::int64_t& i) {
  const std::int64_t count = edges.rows.empty() ? tokens : std::ssize(edges.rows);
  while (i < count) {
    const std::int64_t row = edges.rows.empty() ? i : edges.rows[static_cast<std::size_t>(i)];
    ++i;
    if (loses_an_edge(edges, keys_seen(config, layer, row, tokens))) return row;
  }
  return tokens;
}

void mark_rows(const TransformerConfig& config, int layer, const NamedEdges& edges, std::vector<bool>& cut) {
  const auto tokens = std::ssize(cut);
  for (std::int64_t i = 0, row = 0; (row = next_row(config, layer, edges, tokens, i)) < tokens;) {
    cut[static_cast<std::size_t>(row)] = true;
  }
}

std::vector<NamedEdges> named_edges(std::int64_t tokens, std::span<const KnockOut> knock_outs) {
  std::vector<NamedEdges> named;
  for (const KnockOut& knock_out : knock_outs) {
    auto rows = listed_positions(knock_out.rows, 0, tokens), keys = listed_positions(knock_out.keys, 0, tokens);
    if (rows && keys) named.push_back({&knock_out.layers, std::move(*rows), std::move(*keys)});
  }
  return named;
}

std::vector<std::int64_t> rows_cut(const TransformerConfig& config, int layer, std::span<const NamedEdges> named,
                                   std::int64_t tokens) {
  std::vector<bool> cut(static_cast<std::size_t>(tokens));
  for (const NamedEdges& edges : named) {
    if (names_layer(*edges.layers, layer)) mark_rows(config, layer, edges, cut);
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < tokens; ++row) {
    if (cut[static_cast<std::size_t>(row)]) rows.push_back(row);
  }
  return rows;
}

// The first row that loses an edge in any layer from this one on.
std::int64_t first_row_cut(const TransformerConfig& config, int layer, std::span<const NamedEdges> named,
                           std::int64_t tokens) {
  std::int64_t first = tokens;
  for (; layer < static_cast<int>(config.layers); ++layer) {
    for (const NamedEdges& edges : named) {
      std::int64_t i = 0;
      if (names_layer(*edges.layers, layer)) first = std::min(first, next_row(config, layer, edges, tokens, i));
    }
  }
  return first;
}

}  // namespace

BranchPlan plan_branch(const TransformerConfig& config, std::int64_t tokens, PositionRange asked,
                       std::span<const KnockOut> knock_outs) {
  const std::vector<NamedEdges> named = named_edges(tokens, knock_outs);
  const auto layers = static_cast<int>(config.layers);
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<std::int64_t> rows = rows_cut(config, layer, named, tokens);
    if (layer + 1 == layers) std::erase_if(rows, [&](std::int64_t row) { return !asked.has(row); });
    if (rows.empty()) continue;
    const std::int64_t first_row = config.causal ? first_row_cut(config, layer, named, tokens) : 0;
    if (std::max(first_row, asked.begin) >= asked.end) break;
    return {layer, std::move(rows), first_row};
  }
  return {layers, {}, tokens};
}

}  // namespace sightline::model
