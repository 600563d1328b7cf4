#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/display_text.h"
#include "cli/interrupt.h"
#include "cli/painter.h"
#include "cli/streams.h"
#include "cli/view.h"
#include "src/tokenizer/display.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

using tokenizer::Token;
using tokenizer::Tokenizer;
using tokenizer::TokenText;

// A token, and how it reads.
struct Row {
  std::int32_t id = 0;
  std::string piece;  // as the vocabulary spells it
  TokenText text;
  struct Range {
    std::size_t byte_begin, byte_end, char_begin, char_end;
  };
  std::optional<Range> range;  // of the text; none for a token that stands for none of it
  std::string_view note;       // "special", "unknown", "continues" or nothing
};

// What the command shows.
struct Listing {
  std::string name;  // of the model
  std::string kind;  // of the tokenizer
  std::size_t vocabulary = 0;
  std::vector<Row> rows;
  std::optional<std::string> text;  // none where ids were given
  std::string decoded;
};

std::string_view note_of(const Tokenizer& tokenizer, const Token& token, const TokenText& text,
                         const std::string& piece) {
  // In the text, a special token that is not spelled there stands for what has no token.
  if (token.special || tokenizer.is_special(token.id)) return text.text == piece ? "special" : "unknown";
  return text.continues ? "continues" : "";
}

std::vector<Row> rows_of_text(const Tokenizer& tokenizer, std::string_view text, const Options& options) {
  const tokenizer::Encoding encoding =
      tokenizer.encode(text, {.add_special = !options.no_special, .parse_special = options.special});
  const std::vector<std::uint32_t> before = tokenizer::characters_before(text);
  std::vector<Row> rows;
  rows.reserve(encoding.tokens.size());
  for (const Token& token : encoding.tokens) {
    Row row{token.id, tokenizer.piece_of(token.id), text_of(token, text, tokenizer.spelling()), {}, ""};
    if (token.sequence >= 0) row.range = {token.begin, token.end, before[token.begin], before[token.end]};
    row.note = note_of(tokenizer, token, row.text, row.piece);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Numbers between commas or white space.
std::vector<std::int32_t> parse_ids(std::string_view list) {
  constexpr std::string_view kBetween = ", \t\r\n";
  std::vector<std::int32_t> ids;
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(kBetween), list.size()));
    if (list.empty()) return ids;
    const std::string_view word = list.substr(0, list.find_first_of(kBetween));
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0) {
      throw UsageError(fmt::format("--decode takes token ids, as 101,2023,102: {} is none", word));
    }
    ids.push_back(id);
    list.remove_prefix(word.size());
  }
}

std::vector<Row> rows_of_ids(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  std::vector<Row> rows;
  for (const std::int32_t id : ids) {
    Token token;
    token.id = id;
    token.piece = tokenizer.piece_of(id);
    token.sequence = tokenizer.is_special(id) ? -1 : 0;
    Row row{id, token.piece, text_of(token, "", tokenizer.spelling()), {}, ""};
    row.note = note_of(tokenizer, token, row.text, row.piece);
    rows.push_back(std::move(row));
  }
  return rows;
}

Listing make_listing(const Options& options) {
  const bool decodes = !options.decode.empty();
  const std::vector<std::int32_t> given = parse_ids(options.decode);  // what is wrong with it is said first
  if (decodes && (options.text || !options.file.empty())) {
    throw UsageError("a text and --decode were both given: leave one of them out");
  }
  std::optional<std::string> text;
  if (!decodes) text = read_text(options);
  const engine::ModelLocation model = chosen_model(options);
  const Tokenizer tokenizer = Tokenizer::open(model.path, {options.pre});
  Listing listing{model.name, std::string(tokenizer.kind()), tokenizer.vocabulary_size(), {}, std::move(text), {}};
  listing.rows = decodes ? rows_of_ids(tokenizer, given) : rows_of_text(tokenizer, *listing.text, options);
  std::vector<std::int32_t> ids;
  for (const Row& row : listing.rows) ids.push_back(row.id);
  listing.decoded = tokenizer.decode(ids, /*skip_special=*/!decodes || options.no_special);
  return listing;
}

std::string bytes_in_words(std::string_view bytes) {
  std::string words = bytes.size() == 1 ? "byte" : "bytes";
  for (const char byte : bytes) words += fmt::format(" {:02X}", static_cast<unsigned char>(byte));
  return words;
}

class TokenTable {
 public:
  TokenTable(Painter& painter, const Listing& listing) : painter_(painter), listing_(listing) {}

  void add() {
    painter_.accent(displayable(listing_.name, utf8()))
        .text(fmt::format(": {}, {} pieces", listing_.kind, listing_.vocabulary))
        .newline();
    painter_.note(counts());
    choose_widths();
    if (!listing_.rows.empty()) add_header();
    for (std::size_t i = 0; i < listing_.rows.size(); ++i) {
      if (i % kRowsBetweenChecks == 0) check_interrupt();
      add_row(i);
    }
    add_decoded();
  }

 private:
  static constexpr std::size_t kRowsBetweenChecks = 4096;
  static constexpr int kLeastText = 8, kMostText = 32, kMostPiece = 24;
  static constexpr int kDecodedLines = 4;  // of a decoded text that differs

  bool utf8() const { return painter_.terminal().utf8; }

  std::string counts() const {
    const auto special =
        std::count_if(listing_.rows.begin(), listing_.rows.end(), [](const Row& row) { return row.note == "special"; });
    std::string line = fmt::format("{} token{}", listing_.rows.size(), listing_.rows.size() == 1 ? "" : "s");
    if (special > 0) line += fmt::format(" ({} special)", special);
    if (!listing_.text) return line;
    const auto characters = tokenizer::characters_before(*listing_.text).back();
    return line + fmt::format(", {} character{}, {} byte{}", characters, characters == 1 ? "" : "s",
                              listing_.text->size(), listing_.text->size() == 1 ? "" : "s");
  }

  std::string label(const Row& row) const {
    return row.text.whole ? with_marks(row.text.text, utf8()) : bytes_in_words(row.text.text);
  }

  // The piece, where it is spelled otherwise than the text reads.
  std::string spelling(const Row& row) const {
    return row.piece == row.text.text ? std::string() : displayable(row.piece, utf8());
  }

  std::string range(std::size_t begin, std::size_t end) const {
    return fmt::format("{}{}{}", begin, painter_.glyph("–", "-"), end);
  }

  static int digits(std::size_t number) { return static_cast<int>(fmt::formatted_size("{}", number)); }

  void choose_widths() {
    int longest_text = kLeastText, longest_piece = 0;
    std::int32_t largest_id = 0;
    for (const Row& row : listing_.rows) {
      largest_id = std::max(largest_id, row.id);
      longest_text = std::max(longest_text, display_width(label(row)));
      longest_piece = std::max(longest_piece, display_width(spelling(row)));
      note_width_ = std::max(note_width_, static_cast<int>(row.note.size()));
    }
    number_width_ = digits(listing_.rows.size());
    id_width_ = std::max(2, digits(static_cast<std::size_t>(largest_id)));
    if (listing_.text) {
      byte_width_ = std::max(5, 2 * digits(listing_.text->size()) + 1);
      char_width_ = std::max(10, 2 * digits(tokenizer::characters_before(*listing_.text).back()) + 1);
    }
    if (longest_piece > 0) piece_width_ = std::clamp(longest_piece, 5, kMostPiece);  // 5: its heading
    const int taken = number_width_ + id_width_ + byte_width_ + char_width_ + note_width_ + piece_width_ + 2 * 6;
    text_width_ = std::clamp(painter_.terminal().width - taken, kLeastText, std::min(longest_text, kMostText));
  }

  // A cell that is empty in all rows has no column.
  void cell(Ink ink, std::string_view content, int width, bool right = false) {
    if (width == 0) return;
    painter_.put(ink, right ? pad_left(content, width, utf8()) : pad_right(content, width, utf8())).spaces(2);
  }

  void add_header() {
    cell(Ink::soft, "#", number_width_, true);
    cell(Ink::soft, "id", id_width_, true);
    cell(Ink::bold, "text", text_width_);
    cell(Ink::soft, "bytes", byte_width_);
    cell(Ink::soft, "characters", char_width_);
    cell(Ink::soft, "piece", piece_width_);
    painter_.newline();
  }

  void add_row(std::size_t i) {
    const Row& row = listing_.rows[i];
    cell(Ink::soft, std::to_string(i + 1), number_width_, true);
    cell(Ink::plain, std::to_string(row.id), id_width_, true);
    cell(row.note == "special" ? Ink::accent : Ink::bold, label(row), text_width_);
    cell(Ink::soft, row.range ? range(row.range->byte_begin, row.range->byte_end) : "", byte_width_);
    cell(Ink::soft, row.range ? range(row.range->char_begin, row.range->char_end) : "", char_width_);
    cell(Ink::plain, spelling(row), piece_width_);
    painter_.soft(row.note).newline();
  }

  void add_decoded() {
    if (listing_.text && *listing_.text == listing_.decoded) {
      painter_.note("decoded: the text, byte for byte");
      return;
    }
    const std::string shown = with_marks(listing_.decoded, utf8());
    painter_.soft("decoded: ")
        .text(fit_columns(shown, kDecodedLines * painter_.terminal().width - 9, utf8()))
        .newline();
  }

  Painter& painter_;
  const Listing& listing_;
  int number_width_ = 1, id_width_ = 2, text_width_ = kLeastText, byte_width_ = 0, char_width_ = 0, piece_width_ = 0,
      note_width_ = 0;
};

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json = {{"id", row.id}, {"piece", row.piece}};
  if (row.text.whole) {
    json["text"] = row.text.text;
  } else {
    for (const char byte : row.text.text) json["bytes"].push_back(static_cast<unsigned char>(byte));
  }
  if (row.range) {
    json["byte_range"] = {row.range->byte_begin, row.range->byte_end};
    json["character_range"] = {row.range->char_begin, row.range->char_end};
  }
  json["special"] = row.note == "special";
  return json;
}

std::string json_text(const Listing& listing) {
  nlohmann::ordered_json json = {
      {"model", listing.name}, {"tokenizer", listing.kind}, {"vocabulary", listing.vocabulary}};
  if (listing.text) json["text"] = *listing.text;
  json["decoded"] = listing.decoded;
  json["tokens"] = nlohmann::ordered_json::array();
  for (const Row& row : listing.rows) json["tokens"].push_back(to_json(row));
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string ids_line(const Listing& listing) {
  std::string line;
  for (const Row& row : listing.rows) line += (line.empty() ? "" : " ") + std::to_string(row.id);
  return line + "\n";
}

}  // namespace

void run_tokens(const Options& options) {
  const Listing listing = make_listing(options);
  if (options.ids) return write_output(ids_line(listing));
  if (options.json) return write_output(json_text(listing));
  Painter painter(detect_terminal(STDOUT_FILENO, options.colour));
  TokenTable(painter, listing).add();
  write_output(painter.result());
}

}  // namespace sightline::cli
