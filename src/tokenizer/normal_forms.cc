#include "src/tokenizer/normal_forms.h"

#include <algorithm>
#include <optional>

#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

struct Piece {
  Change change;
  unsigned combining_class;
};

// Text in which every character comes before this one is in the form already.
char32_t first_unstable(NormalForm form) {
  switch (form) {
    case NormalForm::nfd:
      return 0xC0;
    case NormalForm::nfc:
      return 0x300;
    case NormalForm::nfkd:
    case NormalForm::nfkc:
      return 0xA0;
  }
  return 0;
}

void sort_marks(std::vector<Piece>& pieces) {
  const auto is_mark = [](const Piece& p) { return p.combining_class != 0; };
  const auto before = [](const Piece& a, const Piece& b) { return a.combining_class < b.combining_class; };
  for (auto at = pieces.begin(); at != pieces.end();) {
    const auto first = std::find_if(at, pieces.end(), is_mark);
    at = std::find_if_not(first, pieces.end(), is_mark);
    std::stable_sort(first, at, before);
  }
}

std::vector<Piece> decomposed(const std::vector<Char>& chars, Decomposition kind) {
  std::vector<Piece> pieces;
  pieces.reserve(chars.size());
  std::u32string parts;
  for (const Char& c : chars) {
    parts.clear();
    decompose(c.code, kind, parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      pieces.push_back({{parts[i], i == 0 ? 0 : 1}, combining_class(parts[i])});
    }
  }
  sort_marks(pieces);
  return pieces;
}

// Puts pieces together again: a starter takes in what follows it, unless a mark of the same or a higher class stands
// between.
class Composer {
 public:
  void add(const Piece& piece) {
    if (!starter_) return begin(piece);
    const bool blocked = !marks_.empty() && last_class_ >= piece.combining_class;
    const char32_t composite = blocked ? 0 : compose(starter_->code, piece.change.code);
    if (composite != 0) {
      *starter_ = {composite, starter_->change + piece.change.change - 1};
    } else if (piece.combining_class == 0) {
      flush();
      starter_ = piece.change;
    } else {
      marks_.push_back(piece.change);
      last_class_ = piece.combining_class;
    }
  }

  std::vector<Change> finish() && {
    flush();
    return std::move(out_);
  }

 private:
  void begin(const Piece& piece) {
    if (piece.combining_class == 0) {
      starter_ = piece.change;
    } else {
      out_.push_back(piece.change);
    }
  }

  void flush() {
    if (starter_) out_.push_back(*starter_);
    out_.insert(out_.end(), marks_.begin(), marks_.end());
    starter_.reset();
    marks_.clear();
  }

  std::vector<Change> out_;
  std::optional<Change> starter_;
  std::vector<Change> marks_;  // after the starter, not composed with it
  unsigned last_class_ = 0;    // of the last mark
};

}  // namespace

void apply_normal_form(NormalizedString& text, NormalForm form) {
  const auto stable = [limit = first_unstable(form)](const Char& c) { return c.code < limit; };
  if (std::all_of(text.chars().begin(), text.chars().end(), stable)) return;
  const bool compatibility = form == NormalForm::nfkd || form == NormalForm::nfkc;
  const std::vector<Piece> pieces =
      decomposed(text.chars(), compatibility ? Decomposition::compatibility : Decomposition::canonical);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) {
    Composer composer;
    for (const Piece& piece : pieces) composer.add(piece);
    return text.transform(std::move(composer).finish());
  }
  std::vector<Change> changes;
  changes.reserve(pieces.size());
  for (const Piece& piece : pieces) changes.push_back(piece.change);
  text.transform(changes);
}

}  // namespace sightline::tokenizer
