#include "src/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/byte_level.h"
#include "src/tokenizer/metaspace.h"
#include "src/tokenizer/regex.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

// What becomes of delimiters; "a--b" split at '-' gives:
enum class Behavior {
  removed,               // a b
  isolated,              // a - - b
  merged_with_previous,  // a- - b
  merged_with_next,      // a - -b
  contiguous,            // a -- b
};

// A stretch of the text that is a delimiter, or has none.
struct Stretch {
  std::size_t begin, end;
  bool delimiter;
};

// Cuts characters [begin, end) into stretches. Delimiters stand alone; what is between them is one stretch.
using FindStretches = std::function<void(CharSpan, const Split&, std::vector<Stretch>&)>;

template <typename IsDelimiter>
void find_delimiters(IsDelimiter is_delimiter, CharSpan chars, const Split& split, std::vector<Stretch>& out) {
  for (std::size_t i = split.begin; i < split.end; ++i) {
    const bool delimiter = is_delimiter(chars[i].code);
    if (delimiter || out.empty() || out.back().delimiter) {
      out.push_back({i, i + 1, delimiter});
    } else {
      out.back().end = i + 1;
    }
  }
}

template <bool (*is_delimiter)(char32_t)>
void find_delimiters(CharSpan chars, const Split& split, std::vector<Stretch>& out) {
  find_delimiters(is_delimiter, chars, split, out);
}

// Runs of word characters, and runs of what is neither that nor white space; the white space is the delimiter.
void find_words(CharSpan chars, const Split& split, std::vector<Stretch>& out) {
  enum class Kind { space, word, other };
  const auto kind_of = [](char32_t c) {
    return is_word_char(c) ? Kind::word : is_whitespace(c) ? Kind::space : Kind::other;
  };
  Kind last = Kind::space;
  for (std::size_t i = split.begin; i < split.end; ++i) {
    const Kind kind = kind_of(chars[i].code);
    if (out.empty() || kind != last) {
      out.push_back({i, i + 1, kind == Kind::space});
    } else {
      out.back().end = i + 1;
    }
    last = kind;
  }
}

// Matches are the delimiters, or, inverted, what stands between them.
void find_matches(const Regex& regex, bool inverted, CharSpan chars, const Split& split, std::vector<Stretch>& out) {
  std::size_t done = split.begin;
  regex.for_each_match(chars.subspan(split.begin, split.end - split.begin), [&](std::size_t begin, std::size_t end) {
    begin += split.begin;
    end += split.begin;
    if (done < begin) out.push_back({done, begin, inverted});
    out.push_back({begin, end, !inverted});
    done = end;
  });
  if (done < split.end) out.push_back({done, split.end, inverted});
}

// Whether the delimiter behaviour joins stretch `i` to the one before it.
bool joins_previous(const std::vector<Stretch>& stretches, std::size_t i, Behavior behavior) {
  const bool here = stretches[i].delimiter;
  const bool before = stretches[i - 1].delimiter;
  switch (behavior) {
    case Behavior::merged_with_previous:
      return here && !before;
    case Behavior::merged_with_next:
      return before && !here;
    case Behavior::contiguous:
      return here == before;
    case Behavior::removed:
    case Behavior::isolated:
      return false;
  }
  return false;
}

void append_splits(const std::vector<Stretch>& stretches, Behavior behavior, std::vector<Split>& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  bool open = false;  // whether the last split of `out` is of these stretches and may grow
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (behavior == Behavior::removed && stretches[i].delimiter) continue;
    if (open && joins_previous(stretches, i, behavior)) {
      out.back().end = stretches[i].end;
    } else {
      out.push_back({stretches[i].begin, stretches[i].end, {}});
    }
    open = true;
  }
  // A pattern may match nothing, which parts what stands on both sides.
  out.erase(std::remove_if(out.begin() + first, out.end(), [](const Split& s) { return s.begin == s.end; }), out.end());
}

void split_text(PreTokenizedString& text, const FindStretches& find, Behavior behavior) {
  std::vector<Split> splits;
  splits.reserve(text.splits.size());
  std::vector<Stretch> stretches;
  for (const Split& split : text.splits) {
    if (split.added_token) {
      splits.push_back(split);
      continue;
    }
    stretches.clear();
    find(text.chars, split, stretches);
    append_splits(stretches, behavior, splits);
  }
  text.splits = std::move(splits);
}

PreTokenizer make_splitter(FindStretches find, Behavior behavior) {
  return [=](PreTokenizedString& text) { split_text(text, find, behavior); };
}

PreTokenizer make_bert(const JsonObject&) {
  return [](PreTokenizedString& text) {
    split_text(text, find_delimiters<is_whitespace>, Behavior::removed);
    split_text(text, find_delimiters<is_punctuation>, Behavior::isolated);
  };
}

PreTokenizer make_whitespace(const JsonObject&) { return make_splitter(find_words, Behavior::removed); }

PreTokenizer make_whitespace_split(const JsonObject&) {
  return make_splitter(find_delimiters<is_whitespace>, Behavior::removed);
}

Behavior behavior_of(const JsonObject& json, std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, Behavior>, 5> kNames = {
      {{"Removed", Behavior::removed},
       {"Isolated", Behavior::isolated},
       {"MergedWithPrevious", Behavior::merged_with_previous},
       {"MergedWithNext", Behavior::merged_with_next},
       {"Contiguous", Behavior::contiguous}}};
  const std::string* name = json.find_string(key);
  if (name == nullptr) return Behavior::isolated;
  for (const auto& [known, behavior] : kNames) {
    if (known == *name) return behavior;
  }
  throw UnsupportedModel(json.where(key) + " is " + format::quote(*name) + ", which is not supported");
}

PreTokenizer make_punctuation(const JsonObject& json) {
  return make_splitter(find_delimiters<is_punctuation>, behavior_of(json, "behavior"));
}

PreTokenizer make_char_delimiter_split(const JsonObject& json) {
  const std::u32string delimiter = to_chars(json.require_string("delimiter"));
  if (delimiter.size() != 1) throw BadFile(json.where("delimiter") + " must be one character");
  const auto find = [c = delimiter[0]](CharSpan chars, const Split& split, std::vector<Stretch>& out) {
    find_delimiters([c](char32_t other) { return other == c; }, chars, split, out);
  };
  return make_splitter(find, Behavior::removed);
}

PreTokenizer make_digits(const JsonObject& json) {
  const bool individual = json.require_bool("individual_digits");
  return make_splitter(find_delimiters<is_numeric>, individual ? Behavior::isolated : Behavior::contiguous);
}

PreTokenizer make_regex_splitter(const Regex& regex, Behavior behavior, bool inverted) {
  const auto find = [=](CharSpan chars, const Split& split, std::vector<Stretch>& out) {
    find_matches(regex, inverted, chars, split, out);
  };
  return make_splitter(find, behavior);
}

// {"Regex": ...}, or {"String": ...}, which stands for itself.
Regex read_pattern(const JsonObject& json) {
  const JsonObject pattern = json.require_object("pattern");
  if (pattern.has("Regex")) return {pattern.require_string("Regex"), pattern.where("Regex")};
  const std::string& text = pattern.require_string("String");
  if (text.empty()) throw UnsupportedModel(pattern.where("String") + " is empty, which is not supported");
  std::string escaped;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && is_punctuation(static_cast<unsigned char>(c))) escaped += '\\';
    escaped += c;
  }
  return {escaped, pattern.where("String")};
}

PreTokenizer make_split(const JsonObject& json) {
  json.require_string("behavior");
  return make_regex_splitter(read_pattern(json), behavior_of(json, "behavior"),
                             json.find_bool("invert").value_or(false));
}

PreTokenizer make_byte_level(const JsonObject& json) {
  const bool prepend = json.require_bool("add_prefix_space");
  PreTokenizer split;  // null: the text is cut already
  if (json.find_bool("use_regex").value_or(true)) {
    split = make_regex_splitter(Regex(gpt2_pattern(), json.where("use_regex")), Behavior::isolated, false);
  }
  return [=](PreTokenizedString& text) {
    if (prepend) prepend_spaces(text);
    if (split) split(text);
    spell_bytes(text);
  };
}

PreTokenizer make_sequence(const JsonObject& json) {
  const std::vector<PreTokenizer> pre_tokenizers = make_stages(make_pre_tokenizer, json, "pretokenizers");
  return [=](PreTokenizedString& text) {
    for (const PreTokenizer& pre_tokenize : pre_tokenizers) pre_tokenize(text);
  };
}

}  // namespace

PreTokenizer make_pre_tokenizer(const JsonObject& json) {
  static const std::vector<StageType<PreTokenizer>> kTypes = {
      {"BertPreTokenizer", {}, make_bert},
      {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, make_byte_level},
      {"CharDelimiterSplit", {"delimiter"}, make_char_delimiter_split},
      {"Digits", {"individual_digits"}, make_digits},
      {"Metaspace", {"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"}, make_metaspace},
      {"Punctuation", {"behavior"}, make_punctuation},
      {"Sequence", {"pretokenizers"}, make_sequence},
      {"Split", {"pattern", "behavior", "invert"}, make_split},
      {"Whitespace", {}, make_whitespace},
      {"WhitespaceSplit", {}, make_whitespace_split}};
  return make_stage(kTypes, json);
}

}  // namespace sightline::tokenizer
