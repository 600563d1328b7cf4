#ifndef SIGHTLINE_CLI_VIEW_H_
#define SIGHTLINE_CLI_VIEW_H_

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/painter.h"
#include "cli/weights.h"
#include "src/engine/look.h"
#include "src/engine/model_location.h"
#include "src/engine/session.h"

namespace sightline::cli {

/// Throws UsageError where --top is given and not 1 to `most`.
void require_top(const Options& options, int most = std::numeric_limits<int>::max());

/// The model that -m names, or the default one. Throws BadArgument and BadFile saying how to get it.
engine::ModelLocation chosen_model(const Options& options);
/// How the options ask for its files to be read.
model::OpenOptions open_options(const Options& options);
/// Opens the model that the options name, or the default one.
engine::Session open_session(const Options& options);
engine::LookOptions look_options(const Options& options, std::optional<int> top);
/// Notes on standard error what was cut off the text, and what of it was dropped.
void note_what_is_missing(const engine::Look& look, std::string_view text = "the text");
/// The text of the options through that model, `top` keys kept a row; notes on standard error what was cut or dropped.
/// `one_layer`: of other layers than that of --layer nothing but summaries will be asked, so nothing more is kept.
engine::Look look_at_text(const Options& options, std::optional<int> top = std::nullopt, bool one_layer = false);

/// The maps that --layer and --head leave, one at least. Throws BadArgument.
std::vector<engine::MapId> chosen_maps(const engine::Look& look, const Options& options);
/// The sharpest of them.
engine::MapId chosen_map(const engine::Look& look, const Options& options);

/// The items that the options show: words, or with --pieces tokens; without special ones for --no-special.
engine::Axis chosen_axis(const engine::Look& look, const Options& options);
/// "words" or "tokens", as that axis holds.
std::string_view unit_name(const Options& options);

/// Sentences about what the items leave out or merge: how weights of pieces became weights of words (where a word has
/// several), which keys the rows of `id` do not see, what its sink takes, and for --no-special how much weight is set
/// aside. Empty where there is nothing to say.
std::vector<std::string> axis_notes(const engine::Look& look, const engine::Axis& axis, const Options& options,
                                    const std::optional<engine::MapId>& id);

/// How the items of an axis are called on a terminal.
std::string item_label(const engine::AxisItem& item, const Painter& painter);

/// Whether a share rounds to no per cent at all; not so where it is not a number.
bool reads_blank(double share);
/// A share as whole per cent, right-aligned in `width` columns; blank under half a per cent. In two columns all of it
/// reads 99.
std::string percent(double share, int width);
/// `text`, which is the number as it is shown, blanks before it; "??" as wide where it is none (NaN, whatever its
/// sign).
std::string known_number(double value, std::string text);
/// The same in three columns, where cells touch: 100 needs colours to be told from the cell before, and reads 99
/// without.
std::string percent_cell(double share, const Painter& painter);

/// A share as a bar in `columns` columns.
std::string share_bar(double share, int columns, const Painter& painter);

/// Items of an axis that a view shows, and how they are numbered in it. Maps of one text share them.
struct ShownItems {
  std::shared_ptr<const engine::Axis> items;
  std::vector<std::int64_t> numbers;  // from 1
  std::int64_t of = 0;                // items of the axis

  bool all() const { return std::ssize(numbers) == of; }
};
ShownItems all_items(engine::Axis axis);
/// Those with the given indexes (from 0, ascending).
ShownItems some_items(const engine::Axis& axis, const std::vector<std::int64_t>& indexes);

/// A map between items, fetched in strips.
Weights item_weights(const engine::Look& look, const engine::MapId& id, const ShownItems& rows, const ShownItems& cols);
/// A map between all tokens, which `tokens` are, with at_step().
Weights token_weights(const engine::Look& look, const engine::MapId& id, const ShownItems& tokens);

/// From how many tokens on all of a map is shown by token, not by word: words differ in length, so that a mean over a
/// block of words is none over a block of tokens, which is what a look has at hand.
inline constexpr std::int64_t kLongText = 1024;
inline bool is_long(const engine::Look& look) { return std::ssize(look.tokens()) > kLongText; }

/// A line for each knock-out, with how much it takes.
void add_knock_outs(Painter& painter, std::span<const engine::TextKnockOut> knock_outs);

/// What is said where a signal ended a task and the rest is shown: "Not all of the rows: it was stopped".
std::string stopped_note(std::string_view what);

/// The line that ends everything about weights.
void add_caveat(Painter& painter);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_VIEW_H_
