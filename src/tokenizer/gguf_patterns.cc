#include "src/tokenizer/gguf_patterns.h"

#include <algorithm>

#include "src/tokenizer/byte_level.h"

namespace sightline::tokenizer {
namespace {

// The patterns are those of the tokenizer.json of the models that the names come from. llama.cpp, which gave the names,
// spells some of them otherwise, for want of lookups by category; the originals count.

constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTinyAyaDigits = R"(\d{1,3}(?=(?:\d{3})*\b))";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kThreeAsciiDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kHan = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kHanAndKana = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kDeepSeekLetters =
    "\\s?["
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"
    "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}"
    "\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}"
    "\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}"
    "\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}"
    "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}"
    "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}"
    "\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}"
    "\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}"
    "\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"
    "]+";
constexpr std::string_view kDeepSeekPunctuation = "\\s?[!-/:-~！-／：-～‘-‟　-。]+";
constexpr std::string_view kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::vector<GgufPatterns>& table() {
  static const std::vector<GgufPatterns> patterns = {
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2_pattern(), R"(\p{N}+)", kThreeAsciiDigits}},
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de",
        "jina-v2-code", "roberta-bpe", "modern-bert", "gigachat", "a.x-4.0", "mellum", "exaone4", "trillion",
        "granite-docling"},
       {gpt2_pattern()}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
       {kLlama3},
       true,
       true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {kLlama3}},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "grok-2", "solar-open"},
       {kQwen2}},
      {{"qwen35"}, {kQwen35}},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {kGpt4o}},
      {{"tekken"}, {kTekken}, true, true},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"}, {kDigit, gpt2_pattern()}},
      {{"falcon"}, {kFalconPunctuation, gpt2_pattern(), kThreeAsciiDigits}},
      {{"deepseek-llm"}, {kLineEnd, kDeepSeekLetters, kDeepSeekPunctuation, R"(\s+$)", kHan, R"(\p{N}+)"}},
      {{"deepseek-coder"}, {kLineEnd, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kHan, kDigit}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, {kThreeDigits, kHanAndKana, kDeepSeek3}},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloom}},
      {{"viking"}, {kBloom, kDigit}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailing}},
      {{"seed-coder"}, {kSeedCoder}},
      {{"tiny_aya", "cohere2moe"}, {kTinyAyaDigits, kGpt4o}}};
  return patterns;
}

}  // namespace

const GgufPatterns* find_gguf_patterns(std::string_view name) {
  for (const GgufPatterns& row : table()) {
    if (std::ranges::find(row.names, name) != row.names.end()) return &row;
  }
  return nullptr;
}

std::string gguf_pattern_names() {
  std::vector<std::string_view> names;
  for (const GgufPatterns& row : table()) names.insert(names.end(), row.names.begin(), row.names.end());
  std::ranges::sort(names);
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace sightline::tokenizer
