#include "src/engine/page_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sightline/error.h"
#include "src/engine/memory.h"
#include "src/engine/page_layer.h"
#include "src/engine/page_template.h"
#include "src/engine/report_fields.h"

namespace sightline::engine {
namespace {

// Layer -> heads, both ascending.
using HeadsOfLayers = std::map<int, std::vector<int>>;

HeadsOfLayers heads_of_layers(const std::vector<MapId>& maps) {
  HeadsOfLayers layers;
  for (const MapId& id : maps) layers[id.layer].push_back(id.head);
  for (auto& [layer, heads] : layers) std::ranges::sort(heads);
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
      reports_.push_back({look, {options.maps}});
      layers_.push_back(heads_of_layers(report_maps(look, reports_.back().options)));
      all_ += layers_.back().size();
    }
  }

  std::string html() {
    const std::string_view page = page_template();
    const std::size_t cut = page.find(kPageNumbers);
    fixed_ = page.size();
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
  struct Report {
    const Look& look;
    ReportOptions options;
  };

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
    ReportJson report = build_report(look, reports_[text].options, {}, false);
    texts_.push_back({{"report", std::move(report)}, {"layers", std::move(layers)}});
  }

  // Says what the whole would come to as soon as a part is over the limit, by the share that is done.
  void check_size() const {
    const std::size_t now = fixed_ + numbers_.size();
    if (now <= options_.max_bytes) return;
    const double share = static_cast<double>(done_) / static_cast<double>(all_);
    const double whole = static_cast<double>(fixed_) + static_cast<double>(numbers_.size()) / share;
    throw BadArgument(fmt::format(
        "the page would be {} {:.0f} MB and --html-max allows {:g}: choose a layer or a head with --layer and --head, "
        "or give --html-max {:.0f}",
        done_ < all_ ? "about" : "", std::ceil(whole / 1e6), static_cast<double>(options_.max_bytes) / 1e6,
        std::ceil(whole / 1e6 * (done_ < all_ ? 1.05 : 1))));
  }

  std::span<const Look> looks_;
  const PageOptions& options_;
  std::vector<Report> reports_;
  std::vector<HeadsOfLayers> layers_;  // a text
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
