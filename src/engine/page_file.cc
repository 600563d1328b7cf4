#include "src/engine/page_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sightline/error.h"
#include "src/engine/memory.h"
#include "src/engine/page_layer.h"
#include "src/engine/page_template.h"
#include "src/engine/report.h"

namespace sightline::engine {
namespace {

// Layer -> heads, both ascending.
using HeadsOfLayers = std::map<int, std::vector<int>>;

HeadsOfLayers heads_of_layers(const std::vector<MapId>& maps) {
  HeadsOfLayers layers;
  for (const MapId& id : maps) layers[id.layer].push_back(id.head);
  for (auto& [layer, heads] : layers) {
    std::ranges::sort(heads);
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  }
  return layers;
}

// JSON that may stand in a script element: no "<" is left that could end it or open a comment.
std::string embedded(const ReportJson& json) {
  std::string text = report_text(json);
  text.pop_back();
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

class PageWriter {
 public:
  PageWriter(std::span<const Look> looks, const PageOptions& options) : looks_(looks), options_(options) {
    for (const Look& look : looks) {
      maps_.push_back(options.maps.empty() ? look.kept_maps() : options.maps);
      for (const MapId& id : maps_.back()) look.require_kept(id);
      layers_.push_back(heads_of_layers(maps_.back()));
      all_ += layers_.back().size();
    }
  }

  std::string html() {
    const std::string_view page = page_template();
    const std::size_t cut = page.find(kPageNumbers);
    fixed_ = page.size() - kPageNumbers.size();
    require_small_enough();
    for (std::size_t i = 0; i < looks_.size(); ++i) add_text(i);
    const std::string facts = fmt::format("<script type=\"application/json\" id=\"sightline-page\">{}</script>\n",
                                          embedded({{"sightline_page", kPageVersion},
                                                    {"exact", options_.exact},
                                                    {"within", within_},
                                                    {"texts", std::move(texts_)}}));
    fixed_ += facts.size();
    check_size();
    return fmt::format("{}{}{}{}", page.substr(0, cut), facts, numbers_, page.substr(cut + kPageNumbers.size()));
  }

 private:
  // Before anything is deflated: nothing packs into less than half, and base64 adds a third.
  void require_small_enough() const {
    double bytes = 0;
    for (std::size_t i = 0; i < looks_.size(); ++i) {
      const model::TransformerConfig& config = looks_[i].model().config;
      const double numbers = static_cast<double>(looks_[i].tokens().size()) * static_cast<double>(config.head_width);
      const double group = static_cast<double>(config.query_heads) / static_cast<double>(config.kv_heads);
      bytes += numbers * static_cast<double>(maps_[i].size()) * (1 + 1 / group) * (options_.exact ? 4 : 2);
    }
    const double least = bytes / 2 * 4 / 3;
    if (least > static_cast<double>(options_.max_bytes)) refuse("about ", bytes * 0.85 * 4 / 3);
  }

  void add_text(std::size_t text) {
    const Look& look = looks_[text];
    ReportJson layers = ReportJson::array();
    const PageLayerOptions how = {options_.exact, look.tokens().size() <= kPageValueTokens};
    for (const auto& [number, heads] : layers_[text]) {
      PageLayer layer = page_layer(look, number, heads, how);
      const std::string id = fmt::format("numbers-{}-{}", text, number);
      layer.facts["numbers"] = id;
      numbers_ += fmt::format("<script type=\"application/octet-stream\" id=\"{}\">{}</script>\n", id, layer.base64);
      layers.push_back(std::move(layer.facts));
      within_ = std::max(within_, layer.within);
      ++done_;
      check_size();
    }
    ReportOptions options;
    options.maps = maps_[text];
    options.lists = false;
    ReportJson report = build_report(look, options);
    texts_.push_back({{"report", std::move(report)}, {"layers", std::move(layers)}});
  }

  // Says what the whole would come to as soon as a part is over the limit, by the share that is done.
  void check_size() const {
    const std::size_t now = fixed_ + numbers_.size();
    if (now <= options_.max_bytes) return;
    const double share = static_cast<double>(done_) / static_cast<double>(all_);
    const double whole = static_cast<double>(fixed_) + static_cast<double>(numbers_.size()) / share;
    refuse(done_ < all_ ? "about " : "", whole);
  }

  [[noreturn]] void refuse(std::string_view about, double bytes) const {
    throw BadArgument(fmt::format(
        "the page would be {}{:.0f} MB and --html-max allows {:g}: choose a layer or a head with --layer and --head, "
        "or give --html-max {:.0f}",
        about, std::ceil(bytes / 1e6), static_cast<double>(options_.max_bytes) / 1e6,
        std::ceil(bytes / 1e6 * (about.empty() ? 1 : 1.1))));
  }

  std::span<const Look> looks_;
  const PageOptions& options_;
  std::vector<std::vector<MapId>> maps_;  // a text
  std::vector<HeadsOfLayers> layers_;     // a text
  ReportJson texts_ = ReportJson::array();
  std::string numbers_;
  float within_ = 0;
  std::size_t fixed_ = 0, done_ = 0, all_ = 0;  // bytes of the page itself; layers of all texts
};

}  // namespace

std::string page_html(std::span<const Look> looks, const PageOptions& options) {
  return within_memory(kNoMemoryForReport, [&] { return PageWriter(looks, options).html(); });
}

}  // namespace sightline::engine
