#ifndef SIGHTLINE_ENGINE_PAGE_FILE_H_
#define SIGHTLINE_ENGINE_PAGE_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/engine/look.h"

namespace sightline::engine {

/// Version of what stands in a page's file, written into it as "sightline_page". docs/page.md describes it.
inline constexpr int kPageVersion = 1;

struct PageOptions {
  bool exact = false;                // fp32 throughout; otherwise less where weights stay within kPageWithin
  std::size_t max_bytes = 20000000;  // of the file
  std::vector<MapId> maps = {};      // which maps the page shows; empty: all that the looks keep
};

/// One self-contained HTML file that shows the looks, of one model, without a server: the page itself, a report of each
/// text without lists, and Q, K and row states, from which the page computes any weight. V is carried for texts of up
/// to kPageValueTokens. It makes no request and runs no script but its own. Throws BadArgument for a page that would be
/// over `max_bytes`, UnsupportedModel where weights do not follow from Q and K alone, OutOfMemory.
std::string page_html(std::span<const Look> looks, const PageOptions& options = {});

/// The longest text of which a page carries V, which Steps shows and nothing else needs.
inline constexpr std::size_t kPageValueTokens = 128;

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PAGE_FILE_H_
