#include "src/analysis/generated_probes.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sightline/error.h"
#include "src/ops/random.h"

namespace sightline::analysis {
namespace {

constexpr std::int64_t kAllTokens = 4096, kLeastTexts = 4, kMostTexts = 16;
constexpr std::size_t kLeastBlock = 4;
constexpr std::uint64_t kBlockSalt = 0x5265706561746564;

// Evenly from [0, end).
std::size_t below(ops::Random& random, std::size_t end) {
  return static_cast<std::size_t>(random.uniform() * static_cast<double>(end));
}

RepeatedText text_of(const tokenizer::Encoding& encoding) {
  RepeatedText text;
  for (const tokenizer::Token& token : encoding.tokens) {
    if (token.special || token.control) text.special.push_back(text.tokens());
    text.ids.push_back(token.id);
    text.type_ids.push_back(token.type_id);
  }
  return text;
}

// What the tokenizer puts around a text.
struct Frame {
  std::vector<tokenizer::Token> before, after;
  std::int32_t type_id = 0;  // of the text between
  std::int64_t tokens() const { return std::ssize(before) + std::ssize(after); }
};

Frame frame_of(const tokenizer::Tokenizer& tokenizer) {
  Frame frame;
  bool inside = false;
  for (const tokenizer::Token& token : tokenizer.encode("a").tokens) {
    if (token.special) {
      (inside ? frame.after : frame.before).push_back(token);
    } else {
      inside = true;
      frame.type_id = token.type_id;
    }
  }
  return frame;
}

// Pieces in brackets are bytes ("<0x0A>"), unused places ("[unused7]", "<unused7>") and marks of their kind.
bool is_word(const std::string& piece, const tokenizer::Spelling& spelling) {
  if (piece.empty() || piece == spelling.space || piece == spelling.continuing) return false;
  const bool in_brackets = piece.size() > 2 && ((piece.front() == '<' && piece.back() == '>') ||
                                                (piece.front() == '[' && piece.back() == ']'));
  return !in_brackets && !std::ranges::all_of(piece, [](unsigned char c) { return c <= ' '; });
}

bool can_be_drawn(const tokenizer::Tokenizer& tokenizer, std::int32_t id) {
  try {
    return !tokenizer.is_special(id) && is_word(tokenizer.piece_of(id), tokenizer.spelling());
  } catch (const BadArgument&) {
    return false;  // a hole in the vocabulary
  }
}

// Draws different tokens: a shuffle that goes only as far as it is asked.
class TokenUrn {
 public:
  TokenUrn(const tokenizer::Tokenizer& tokenizer, ops::Random& random)
      : tokenizer_(tokenizer), random_(random), ids_(static_cast<std::size_t>(tokenizer.range().largest_id) + 1) {
    std::iota(ids_.begin(), ids_.end(), 0);
  }

  // At most `count`: as many as there are.
  std::vector<std::int32_t> draw(std::size_t count) {
    std::vector<std::int32_t> drawn;
    for (std::size_t i = 0; i < ids_.size() && drawn.size() < count; ++i) {
      std::swap(ids_[i], ids_[i + below(random_, ids_.size() - i)]);
      if (can_be_drawn(tokenizer_, ids_[i])) drawn.push_back(ids_[i]);
    }
    return drawn;
  }

 private:
  const tokenizer::Tokenizer& tokenizer_;
  ops::Random& random_;
  std::vector<std::int32_t> ids_;
};

RepeatedText repeated_text(const Frame& frame, const std::vector<std::int32_t>& block, std::int64_t body) {
  RepeatedText text;
  const auto add = [&text](std::int32_t id, std::int32_t type_id) {
    text.ids.push_back(id);
    text.type_ids.push_back(type_id);
  };
  const auto add_special = [&](const std::vector<tokenizer::Token>& tokens) {
    for (const tokenizer::Token& token : tokens) {
      text.special.push_back(text.tokens());
      add(token.id, token.type_id);
    }
  };
  add_special(frame.before);
  text.period = std::ssize(block);
  text.block_begin = text.tokens();
  text.block_end = text.block_begin + body;
  for (std::int64_t i = 0; i < body; ++i) add(block[static_cast<std::size_t>(i % text.period)], frame.type_id);
  add_special(frame.after);
  return text;
}

}  // namespace

std::int64_t text_count(std::int64_t length) { return std::clamp(kAllTokens / length, kLeastTexts, kMostTexts); }

std::vector<RepeatedText> repeated_texts(const tokenizer::Tokenizer& tokenizer, const GenerationPlan& plan) {
  const Frame frame = frame_of(tokenizer);
  const std::int64_t body = plan.length - frame.tokens();
  if (plan.length < kLeastLength || std::cmp_less(body, 4 * kLeastBlock)) {
    throw BadArgument(fmt::format("generated texts of {} tokens are too short: they take {} or more", plan.length,
                                  kLeastLength + frame.tokens()));
  }
  ops::Random random(plan.seed ^ kBlockSalt);
  TokenUrn urn(tokenizer, random);
  std::vector<RepeatedText> texts;
  for (std::int64_t i = 0; i < text_count(plan.length); ++i) {
    const auto quarter = static_cast<std::size_t>(body / 4);
    std::vector<std::int32_t> block = urn.draw(quarter + below(random, quarter + 1));
    // A block of all that a small vocabulary has would be equally long in every text.
    if (block.size() < quarter) block.resize(block.size() / 2 + below(random, block.size() / 2 + 1));
    if (block.size() < kLeastBlock) {
      throw BadArgument("the vocabulary has too few tokens to draw random texts from");
    }
    texts.push_back(repeated_text(frame, block, body));
  }
  return texts;
}

std::vector<RepeatedText> paragraph_texts(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                          std::int64_t max_tokens) {
  std::vector<RepeatedText> texts;
  std::string paragraph;
  const auto finish = [&] {
    tokenizer::EncodeOptions how;
    how.max_length = static_cast<std::size_t>(max_tokens);
    RepeatedText one = text_of(tokenizer.encode(paragraph, how));
    if (one.tokens() > std::ssize(one.special)) texts.push_back(std::move(one));
    paragraph.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      finish();
    } else {
      if (!paragraph.empty()) paragraph += '\n';
      paragraph += line;
    }
  }
  finish();
  return texts;
}

}  // namespace sightline::analysis
