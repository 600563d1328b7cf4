#include "src/tokenizer/normalizer.h"

#include "sightline/error.h"
#include "src/tokenizer/charsmap.h"
#include "src/tokenizer/normal_forms.h"
#include "src/tokenizer/replacement.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

void lowercase(NormalizedString& text) {
  bool lengthens = false;
  text.map([&](char32_t c) {
    const LowerCase lower = to_lower(c);
    lengthens |= lower.second != 0;
    return lower.second == 0 ? lower.first : c;
  });
  if (!lengthens) return;
  std::vector<Change> changes;
  for (const Char& c : text.chars()) {
    const LowerCase lower = to_lower(c.code);
    changes.push_back({lower.first, 0});
    if (lower.second != 0) changes.push_back({lower.second, 1});
  }
  text.transform(changes);
}

// Drops controls and what has no meaning in text; every white space becomes a plain space.
void clean(NormalizedString& text) {
  const auto is_space = [](char32_t c) { return c == '\t' || c == '\n' || c == '\r'; };
  text.filter([&](char32_t c) { return is_space(c) || (c != 0xFFFD && !is_other(c)); });
  text.map([](char32_t c) { return is_whitespace(c) ? U' ' : c; });
}

void space_out_chinese(NormalizedString& text) {
  const auto chinese = [](const Char& c) { return is_chinese(c.code); };
  if (std::none_of(text.chars().begin(), text.chars().end(), chinese)) return;
  std::vector<Change> changes;
  for (const Char& c : text.chars()) {
    if (is_chinese(c.code)) {
      changes.insert(changes.end(), {{U' ', 0}, {c.code, 1}, {U' ', 1}});
    } else {
      changes.push_back({c.code, 0});
    }
  }
  text.transform(changes);
}

Normalizer make_bert(const JsonObject& json) {
  const bool clean_text = json.require_bool("clean_text");
  const bool chinese = json.require_bool("handle_chinese_chars");
  const bool lower = json.require_bool("lowercase");
  const bool accents = json.find_bool("strip_accents").value_or(lower);  // null: as "lowercase"
  return [=](NormalizedString& text) {
    if (clean_text) clean(text);
    if (chinese) space_out_chinese(text);
    if (accents) {
      apply_normal_form(text, NormalForm::nfd);
      text.filter([](char32_t c) { return !is_nonspacing_mark(c); });
    }
    if (lower) lowercase(text);
  };
}

template <NormalForm form>
Normalizer make_normal_form(const JsonObject&) {
  return [](NormalizedString& text) { apply_normal_form(text, form); };
}

Normalizer make_lowercase(const JsonObject&) { return lowercase; }

Normalizer make_strip_accents(const JsonObject&) {
  return [](NormalizedString& text) { text.filter([](char32_t c) { return !is_mark(c); }); };
}

// What Google's translation models dropped, and what they took for a space.
Normalizer make_nmt(const JsonObject&) {
  const auto is_dropped = [](char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  };
  const auto is_space = [](char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  };
  return [=](NormalizedString& text) {
    text.filter([&](char32_t c) { return !is_dropped(c); });
    text.map([&](char32_t c) { return is_space(c) ? U' ' : c; });
  };
}

Normalizer make_strip(const JsonObject& json) {
  const bool left = json.require_bool("strip_left");
  const bool right = json.require_bool("strip_right");
  return [=](NormalizedString& text) { text.strip(left, right); };
}

Normalizer make_replace(const JsonObject& json) {
  const Replacement replacement = read_replacement(json);
  const std::u32string pattern = to_chars(replacement.pattern), content = to_chars(replacement.content);
  if (!replacement.regex) return [=](NormalizedString& text) { text.replace(pattern, content); };
  return [regex = *replacement.regex, content](NormalizedString& text) {
    std::vector<NormalizedString::Stretch> stretches;
    regex.for_each_match(text.chars(), [&](std::size_t begin, std::size_t end) { stretches.push_back({begin, end}); });
    text.replace(stretches, content);
  };
}

Normalizer make_prepend(const JsonObject& json) {
  const std::u32string front = to_chars(json.require_string("prepend"));
  return [=](NormalizedString& text) { text.prepend(front); };
}

Normalizer make_sequence(const JsonObject& json) {
  const std::vector<Normalizer> normalizers = make_stages(make_normalizer, json, "normalizers");
  return [=](NormalizedString& text) {
    for (const Normalizer& normalize : normalizers) normalize(text);
  };
}

}  // namespace

Normalizer make_normalizer(const JsonObject& json) {
  static const std::vector<StageType<Normalizer>> kTypes = {
      {"BertNormalizer", {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}, make_bert},
      {"Lowercase", {}, make_lowercase},
      {"NFC", {}, make_normal_form<NormalForm::nfc>},
      {"NFD", {}, make_normal_form<NormalForm::nfd>},
      {"NFKC", {}, make_normal_form<NormalForm::nfkc>},
      {"NFKD", {}, make_normal_form<NormalForm::nfkd>},
      {"Nmt", {}, make_nmt},
      {"Precompiled", {"precompiled_charsmap"}, make_precompiled},
      {"Prepend", {"prepend"}, make_prepend},
      {"Replace", {"pattern", "content"}, make_replace},
      {"Sequence", {"normalizers"}, make_sequence},
      {"Strip", {"strip_left", "strip_right"}, make_strip},
      {"StripAccents", {}, make_strip_accents}};
  return make_stage(kTypes, json);
}

}  // namespace sightline::tokenizer
