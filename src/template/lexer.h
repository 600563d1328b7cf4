#ifndef SIGHTLINE_TEMPLATE_LEXER_H_
#define SIGHTLINE_TEMPLATE_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::jinja {

struct Token {
  enum class Type : std::uint8_t {
    data,
    block_begin,
    block_end,
    variable_begin,
    variable_end,
    name,
    string,
    integer,
    real,
    symbol,
    end
  };
  Type type;
  std::string text;  // of a string: without quotes and escapes; of a number: without underscores
  int line = 1;
};

/// A syntax error, or something unknown, at a line of the source.
struct SourceFault {
  int line;
  std::string message;
  bool unsupported = false;  // else it is not Jinja
};

/// Cuts a template as Jinja does with trim_blocks and lstrip_blocks: the newline behind a tag or a comment goes, and so
/// does the white space before one that begins its line; `-` takes all white space on its side, `+` keeps it. Throws
/// SourceFault. `source` is UTF-8; its last newline is dropped.
std::vector<Token> lex(std::string_view source);

}  // namespace sightline::jinja

#endif  // SIGHTLINE_TEMPLATE_LEXER_H_
