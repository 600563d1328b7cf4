#include "cli/heads_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "cli/display_text.h"
#include "cli/head_grid.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

using analysis::HeadScores;
using analysis::Role;
using analysis::RoleFinding;
using analysis::Tally;

constexpr int kMarkWidth = 4;    // columns a head, of which the last is blank
constexpr int kLayerWidth = 4;   // "12  "
constexpr int kNumbers = 37;     // columns of a row of the table beside the role and the baseline's rule
constexpr int kRule = 18;        // columns of that rule
constexpr int kLeastTitle = 16;  // columns

std::string head_name(const HeadScores& scores, std::size_t map) {
  const auto index = static_cast<int>(map), heads = static_cast<int>(scores.heads);
  return engine::map_name({index / heads + 1, index % heads + 1});
}

class RoleTable {
 public:
  RoleTable(Painter& painter, const engine::HeadRoles& roles, std::size_t top)
      : painter_(painter), roles_(roles), top_(top) {
    for (const RoleFinding* finding : found()) {
      title_ = std::max(title_, display_width(title_of(*finding)));
    }
    const int room = painter.terminal().width - kNumbers;
    has_rule_ = room >= kLeastTitle + kRule;
    title_ = std::min(title_, std::max(kLeastTitle, room - (has_rule_ ? kRule : 0)));
  }

  void add() {
    const std::vector<const RoleFinding*> rows = found();
    if (rows.empty()) {
      painter_.note("No head beats the baseline of any role");
      return;
    }
    painter_.soft(fmt::format("{} {:<7} {:>6} {:>6} {:>8}{:<{}}{:>6}", pad("role"), "head", "score", "weight",
                              "baseline", "", has_rule_ ? kRule : 0, "n"));
    painter_.newline();
    for (const RoleFinding* finding : rows) add_role(*finding);
  }

 private:
  std::vector<const RoleFinding*> found() const {
    std::vector<const RoleFinding*> rows;
    for (const RoleFinding& finding : roles_.choice.roles) {
      if (finding.found()) rows.push_back(&finding);
    }
    return rows;
  }
  const Role& role(const RoleFinding& finding) const { return roles_.scores.roles[finding.role]; }
  std::string title_of(const RoleFinding& finding) const {
    return displayable(role_title(role(finding)), painter_.terminal().utf8);
  }
  std::string pad(const std::string& text) const { return pad_right(text, title_, painter_.terminal().utf8); }

  void add_role(const RoleFinding& finding) {
    std::size_t shown = 0;
    for (std::size_t i = 0; i < finding.maps.size() && shown < top_; ++i) {
      if (finding.beats[i] == 0) continue;
      const Tally& tally = roles_.scores.reported(finding.role, finding.maps[i]);
      painter_.text(pad(shown == 0 ? title_of(finding) : "")).text(" ");
      painter_.bold(pad_right(head_name(roles_.scores, finding.maps[i]), 7, true)).text(" ");
      painter_.tinted(tally.score(), fmt::format("{:>6.3f}", tally.score()));
      const double weight = tally.mean_weight();
      painter_.text(
          fmt::format("{} {:>8.3f}", known_number(weight, fmt::format(" {:>6.3f}", weight)), tally.baseline()));
      if (has_rule_) painter_.soft(pad_right(shown == 0 ? "  " + role(finding).baseline : "", kRule, true));
      painter_.soft(fmt::format("{:>6.0f}", tally.questions));
      painter_.newline();
      ++shown;
    }
  }

  Painter& painter_;
  const engine::HeadRoles& roles_;
  std::size_t top_;
  int title_ = kLeastTitle;
  bool has_rule_ = true;  // there is room for the name of the baseline's rule
};

// Roles that no head has, and those with too few questions.
void add_rest(Painter& painter, const engine::HeadRoles& roles) {
  std::string none, few;
  for (const RoleFinding& finding : roles.choice.roles) {
    const HeadScores& scores = roles.scores;
    const Role& role = scores.roles[finding.role];
    const std::string title = displayable(role_title(role), painter.terminal().utf8);
    if (!finding.enough) {
      few += fmt::format("{}{} ({})", few.empty() ? "" : "; ", title, role.questions);
    } else if (!finding.found()) {
      const Tally& tally = scores.reported(finding.role, finding.maps.front());
      none += fmt::format("{}{} ({} {:.3f}, baseline {:.3f})", none.empty() ? "" : "; ", title,
                          head_name(scores, finding.maps.front()), tally.score(), tally.baseline());
    }
  }
  if (!none.empty()) painter.note("No head beats the baseline of: " + none);
  const char* asked = roles.scores.complete ? "Left out, with too few questions: "
                                            : "Left out, with too few questions that were asked: ";
  if (!few.empty()) painter.note(asked + few);
}

// Marks of three letters, each role's own.
class RoleMarks {
 public:
  explicit RoleMarks(const HeadScores& scores) {
    for (const Role& role : scores.roles) marks_.push_back(mark_of(role));
  }
  const std::string& operator[](std::size_t role) const { return marks_[role]; }

 private:
  std::string mark_of(const Role& role) {
    std::string letters;
    for (const char c : role.name) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += c;
    }
    letters += "xx";
    const std::string arrow = role.from_to.starts_with("dependent") ? ">" : role.from_to.starts_with("head") ? "<" : "";
    const std::size_t wide = 3 - arrow.size();
    std::vector<std::string> choices = {letters.substr(0, wide)};
    for (std::size_t i = wide; i < letters.size(); ++i) choices.push_back(letters.substr(0, wide - 1) + letters[i]);
    for (int number = 0; number < 100; ++number) {
      const std::string digits = std::to_string(number);
      if (digits.size() < wide) choices.push_back(letters.substr(0, wide - digits.size()) + digits);
    }
    for (const std::string& choice : choices) {
      if (taken_.insert(choice + arrow).second) return choice + arrow;
    }
    return "???";  // of hundreds of relations with the same letters
  }

  std::set<std::string> taken_;
  std::vector<std::string> marks_;
};

class RoleGrid {
 public:
  RoleGrid(Painter& painter, const engine::HeadRoles& roles) : painter_(painter), roles_(roles), marks_(roles.scores) {}

  void add() {
    painter_.accent("role of each head").newline();
    add_head_grid(painter_,
                  {roles_.scores.layers, roles_.scores.heads, kMarkWidth, [this](std::size_t map) { add_cell(map); }});
    add_legend();
  }

 private:
  void add_cell(std::size_t map) {
    const std::optional<std::size_t>& role = roles_.choice.of_map[map];
    if (!role) {
      const bool asked = std::ranges::binary_search(roles_.choice.asked_maps, map);
      painter_.soft(pad_left(asked ? painter_.glyph("·", ".") : " ", kMarkWidth, painter_.terminal().utf8));
      return;
    }
    painter_.spaces(1).tinted(roles_.scores.reported(*role, map).score(), fmt::format("{:>3}", marks_[*role]));
  }

  void add_legend() {
    std::set<std::size_t> used;
    for (const std::optional<std::size_t>& role : roles_.choice.of_map) {
      if (role) used.insert(*role);
    }
    std::string legend;
    for (const std::size_t role : used) {
      legend += fmt::format("{} {}; ", marks_[role],
                            displayable(role_title(roles_.scores.roles[role]), painter_.terminal().utf8));
    }
    painter_.note(fmt::format("{}{} none found", legend, painter_.glyph("·", ".")));
  }

  Painter& painter_;
  const engine::HeadRoles& roles_;
  RoleMarks marks_;
};

}  // namespace

std::string role_title(const Role& role) { return role.from_to.empty() ? role.name : role.name + ", " + role.from_to; }

std::string texts_note(const engine::HeadRoles& roles) {
  return fmt::format("{}, {} of {} were read", stopped_note("texts"), roles.scores.texts_done, roles.scores.texts);
}

std::string halves_note(const engine::HeadRoles& roles) {
  const std::string chosen =
      roles.scores.halves.holdout
          ? "Heads and baselines are chosen on one half of the texts, scores are those of the other"
          : "Heads and baselines are chosen on all texts, and scores are those of the same ones";
  return fmt::format(
      "{}; a role is a head's that does {:.0f} % of what the baseline leaves undone, and is over it by {:.1f} standard "
      "errors of the difference, more where there are few texts",
      chosen, 100 * analysis::kLeastShare, roles.choice.errors);
}

void add_heads_view(Painter& painter, const engine::HeadRoles& roles, const Options& options) {
  if (!roles.scores.complete) painter.note(texts_note(roles));
  RoleTable(painter, roles, static_cast<std::size_t>(options.top.value_or(1))).add();
  painter.newline();
  RoleGrid(painter, roles).add();
  painter.newline();
  add_rest(painter, roles);
  painter.note("score: share of questions of which the answer has the most weight; weight: on the answer, mean");
  painter.note(halves_note(roles));
  for (const std::string& note : roles.notes) painter.note(displayable(note, painter.terminal().utf8));
  painter.note(kRoleCaveat);
  add_caveat(painter);
}

}  // namespace sightline::cli
