#ifndef SIGHTLINE_FORMAT_GAP_H_
#define SIGHTLINE_FORMAT_GAP_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::format {

/// Bytes [begin, end) of a text.
struct TextPlace {
  std::size_t begin = 0, end = 0;

  bool operator==(const TextPlace&) const = default;
};

/// A pronoun in a text, and two names that it may stand for.
struct GapQuestion {
  std::string text;
  TextPlace pronoun, a, b;
  bool is_a = false, is_b = false;  // whether it stands for that name; perhaps for neither

  bool operator==(const GapQuestion&) const = default;
};

/// The rows of a table in the format of GAP (Webster et al. 2018): a line of column names, then texts with tabs between
/// the cells, nothing quoted; offsets count code points. Throws BadFile, naming the line, for another table, and where
/// a name does not stand at its offset.
std::vector<GapQuestion> parse_gap(std::string_view text, std::string_view name);

/// Reads a file of 64 MiB at most.
std::vector<GapQuestion> read_gap(const std::filesystem::path& path);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_GAP_H_
