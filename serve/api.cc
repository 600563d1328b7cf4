#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "serve/http_error.h"
#include "serve/size_text.h"
#include "sightline/error.h"
#include "sightline/version.h"
#include "src/engine/explain.h"
#include "src/engine/look_memory.h"
#include "src/engine/page_file.h"

namespace sightline::serve {
namespace {

using engine::ReportJson;

static_assert(std::endian::native == std::endian::little, "weights are sent as they lie in memory");

// Ends a pass that nobody waits for, or that takes too long.
class Patience : public Progress {
 public:
  Patience(const Wanted& wanted, int seconds)
      : wanted_(wanted), deadline_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {}

  bool advance(std::int64_t /*done*/, std::int64_t /*total*/) override {
    late_ = std::chrono::steady_clock::now() > deadline_;
    return !late_ && wanted_();
  }
  bool late() const { return late_; }

 private:
  const Wanted& wanted_;
  const std::chrono::steady_clock::time_point deadline_;
  bool late_ = false;
};

// The engine speaks to users of the command line.
std::string for_clients(std::string message) {
  constexpr std::string_view kOption = "cut it with --truncate";
  const std::size_t at = message.find(kOption);
  if (at != std::string::npos) message.replace(at, kOption.size(), "ask for it to be cut (\"truncate\": true)");
  return message;
}

std::string to_text(ReportJson report, const std::string& id) {
  report["look"] = id;
  return engine::report_text(report);
}

ReportJson short_report(const engine::Look& look, std::span<const engine::Explanation> explanations, bool axes) {
  engine::ReportOptions options;
  options.lists = false;
  options.axes = axes;
  options.explained_keys = static_cast<std::size_t>(kMaxExplainedNumbers / (4 * look.model().config.head_width));
  return engine::build_report(look, options, explanations);
}

void add_lists(const engine::Look& look, const engine::MapId& map, ReportJson& report) {
  look.require_kept(map);
  engine::ReportOptions options;
  options.maps = {map};
  options.axes = false;
  ReportJson one = engine::build_report(look, options);
  for (ReportJson& entry : report["maps"]) {
    if (entry["layer"] == map.layer && entry["head"] == map.head) entry = std::move(one["maps"][0]);
  }
}

engine::Explanation explain_row(const engine::Look& look, const ExplainSpec& row) {
  look.require_kept(row.map);
  return engine::explain(look, row.token, row.map, true);
}

// All that can be told without the look; maps as parse_maps() gives them.
engine::BlockRequest parse_block(const Parameters& parameters) {
  engine::BlockRequest request;
  request.maps = parse_maps(parameter(parameters, "maps"));
  request.mean = parse_switch("mean", parameter(parameters, "mean"));
  for (const char* range : {"rows", "keys"}) parse_range(range, parameter(parameters, range), INT64_MAX);
  if (parameters.contains("step")) request.step = parse_number("step", parameter(parameters, "step"), 1);
  if (request.step > engine::kMaxBlockStep || !std::has_single_bit(static_cast<std::uint64_t>(request.step))) {
    throw HttpError(400, "bad_request", fmt::format("step={} is no power of two up to 2^30", request.step));
  }
  return request;
}

void require_few_cells(const engine::BlockRequest& request) {
  const std::int64_t per_map = request.rows() * request.cols();
  if (request.blocks() > kMaxCells || per_map > kMaxCells / request.blocks()) {
    throw HttpError(
        400, "too_many_cells",
        fmt::format("{} x {} x {} cells were asked for and an answer holds {}: ask for fewer maps, a part of "
                    "the map, or a larger step",
                    request.blocks(), request.rows(), request.cols(), kMaxCells));
  }
}

}  // namespace

Api::Api(const engine::Session& session, const ServeOptions& options)
    : session_(session), options_(options), store_(options.memory) {
  engine::require_layers(session.model(), options.keep_layers);
}

std::string Api::model() const {
  ReportJson json = engine::model_json(session_.model());
  json["max_tokens"] = session_.model().max_tokens;
  json["max_text_bytes"] = options_.max_text;
  json["max_cells"] = kMaxCells;
  json["memory_bytes"] = store_.memory();
  json["keep_layers"] = options_.keep_layers;
  json["caveat"] = engine::kCaveat;
  json["versions"] = {{"sightline", SIGHTLINE_VERSION},
                      {"sightline_report", engine::kReportVersion},
                      {"arithmetic_version", kArithmeticVersion}};
  return engine::report_text(json);
}

std::string Api::look(std::string_view body, const Wanted& wanted) {
  LookKey key = parse_look_body(body);
  check_text(key);
  choose_layers(key);
  const auto found = store_.find(key);
  const KeptLook look = found ? *found : make(std::move(key), wanted);
  return to_text(short_report(*look.look, {}, true), look.id);
}

std::string Api::look_again(const Parameters& parameters) {
  require_parameters(parameters, {"look*", "explain", "lists", "only"});
  // What is malformed is said before what is gone.
  std::optional<ExplainSpec> row;
  std::optional<engine::MapId> lists;
  if (parameters.contains("explain")) row = parse_explain(parameter(parameters, "explain"));
  if (parameters.contains("lists")) lists = parse_map(parameter(parameters, "lists"));
  const bool whole = !parameters.contains("only");
  if (!whole && parameter(parameters, "only") != "explanations") {
    throw HttpError(400, "bad_request", "only=explanations is all that can be asked for");
  }
  const auto [id, look] = kept(parameters);
  std::vector<engine::Explanation> explanations;
  if (row) explanations.push_back(explain_row(*look, *row));
  ReportJson report = short_report(*look, explanations, whole);
  if (lists) add_lists(*look, *lists, report);
  if (whole) return to_text(std::move(report), id);
  ReportJson part;
  for (const char* field : {"sightline_report", "caveat", "notes", "explanations"}) part[field] = report[field];
  return to_text(std::move(part), id);
}

Tile Api::tile(const Parameters& parameters) {
  require_parameters(parameters, {"look*", "maps*", "rows", "keys", "step", "mean"});
  engine::BlockRequest request = parse_block(parameters);
  const auto [id, look] = kept(parameters);
  const auto tokens = static_cast<std::int64_t>(look->tokens().size());
  const TokenRange rows = parse_range("rows", parameter(parameters, "rows"), tokens);
  const TokenRange keys = parse_range("keys", parameter(parameters, "keys"), tokens);
  request.maps = expand_maps(request.maps, *look);
  request.row_begin = rows.begin;
  request.row_end = rows.end;
  request.key_begin = keys.begin;
  request.key_end = keys.end;
  require_few_cells(request);
  const std::vector<float> weights = look->block(request);
  Tile tile{std::string(weights.size() * sizeof(float), '\0'),
            fmt::format("{},{},{}", request.blocks(), request.rows(), request.cols())};
  std::memcpy(tile.bytes.data(), weights.data(), tile.bytes.size());
  return tile;
}

std::string Api::page(const Parameters& parameters) {
  require_parameters(parameters, {"look*", "html*", "maps"});
  if (!parse_switch("html", parameter(parameters, "html")))
    throw HttpError(400, "bad_request", "html=0 asks for nothing");
  const bool chosen = parameters.contains("maps");
  std::vector<engine::MapId> maps;
  if (chosen) maps = parse_maps(parameter(parameters, "maps"));
  const auto [id, look] = kept(parameters);
  engine::PageOptions options;
  if (chosen) options.maps = expand_maps(maps, *look);
  for (const engine::MapId& map : options.maps) look->require_kept(map);
  try {
    return engine::page_html({look.get(), 1}, options);
  } catch (const BadArgument&) {
    throw HttpError(422, "page_too_large",
                    fmt::format("a page of these maps would be over {} MB: ask for fewer (maps=L4H2), or write it with "
                                "sightline look --html, where --html-max sets the limit",
                                options.max_bytes / 1000000));
  }
}

void Api::check_text(const LookKey& key) const {
  if (key.text.size() <= options_.max_text) return;
  throw HttpError(422, "text_too_long",
                  fmt::format("the text has {} bytes and this server reads at most {}: shorten it, or start the server "
                              "with a larger --max-text",
                              key.text.size(), options_.max_text));
}

// What the server was told to keep is all that can be kept.
void Api::choose_layers(LookKey& key) const {
  try {
    engine::require_layers(session_.model(), key.keep_layers);
  } catch (const BadArgument& error) {
    throw HttpError(422, "no_such_layer", error.what());
  }
  if (options_.keep_layers.empty()) return;
  for (const int layer : key.keep_layers) {
    if (std::ranges::find(options_.keep_layers, layer) == options_.keep_layers.end()) {
      throw HttpError(422, "layer_not_kept", fmt::format("this server was told not to keep layer {}", layer));
    }
  }
  if (key.keep_layers.empty()) key.keep_layers = options_.keep_layers;
}

std::int64_t Api::count_tokens(const LookKey& key) const {
  try {
    return session_.token_count(key.text, key.truncate);
  } catch (const BadArgument& error) {
    const std::string message = for_clients(error.what());
    // A text that can be cut is one that is too long; any other is refused again.
    try {
      session_.token_count(key.text, true);
    } catch (const BadArgument&) {
      throw HttpError(422, "text_empty", message);
    }
    throw HttpError(422, "text_too_long", message);
  }
}

KeptLook Api::make(LookKey key, const Wanted& wanted) {
  const std::int64_t tokens = count_tokens(key);
  const std::size_t bytes = engine::look_bytes(session_.model(), tokens, key.keep_layers) + 2 * key.text.size();
  auto reservation = store_.reserve(bytes + engine::pass_bytes(session_.model(), tokens));
  Patience patience(wanted, options_.max_seconds);
  engine::LookOptions options;
  options.truncate = key.truncate;
  options.keep_layers = key.keep_layers;
  options.progress = &patience;
  try {
    const auto look = std::make_shared<const engine::Look>(session_.look(key.text, options));
    const std::size_t kept_bytes = look->bytes() + 2 * key.text.size();
    return store_.keep(std::move(key), look, kept_bytes, std::move(reservation));
  } catch (const Cancelled&) {
    if (!patience.late()) throw;
    throw HttpError(422, "time_limit",
                    fmt::format("the model did not come to an end in {} seconds: shorten the text, or start the server "
                                "with a larger --max-seconds",
                                options_.max_seconds));
  }
}

KeptLook Api::kept(const Parameters& parameters) {
  const std::string id(parameter(parameters, "look"));
  const bool well_formed = id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!well_formed) throw HttpError(400, "bad_request", "look is no id: POST /api/look gives one");
  const auto found = store_.find(id);
  if (!found) throw HttpError(410, "look_gone", "this look is no longer kept: post its text to /api/look again");
  return *found;
}

}  // namespace sightline::serve
