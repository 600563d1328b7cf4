// A chat of one question from C++: what each token of the answer draws on, told as it comes.
//
//     find_package(sightline REQUIRED COMPONENTS model)
//     target_link_libraries(generate PRIVATE sightline::model)
//
//     generate MODEL "You are a guide to Europe." "What is the capital of France?"
//
// MODEL is a directory in Hugging Face's layout or a GGUF file of a decoder. The prompt is the two texts in lines of
// their own; each is a segment, and what the model writes is one more. A line a token says how much of its attention
// went to each, and which token it looked at most; heads and layers are averaged. The callback stops the text at the
// end of its first sentence, or after 40 tokens.
#include <sightline/error.h>
#include <sightline/generation.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

using sightline::model::GeneratedToken;
using sightline::model::StepSight;

constexpr const char* kSegments[] = {"system", "question", "answer"};
constexpr std::size_t kMaxTokens = 40;

// The two texts as tokens, each with its segment; tokens that begin a text belong to none.
sightline::model::PromptTokens read_prompt(const sightline::tokenizer::Tokenizer& tokenizer, const std::string& system,
                                           const std::string& question) {
  sightline::model::PromptTokens prompt;
  prompt.segment_count = 2;
  for (const auto& token : tokenizer.encode(system + "\n" + question + "\n").tokens) {
    prompt.ids.push_back(token.id);
    prompt.segments.push_back(token.special ? -1 : token.begin < system.size() ? 0 : 1);
  }
  return prompt;
}

// The mean over all heads of the weight on each segment.
std::vector<float> segment_mass(const StepSight& sight) {
  std::vector<float> mean(static_cast<std::size_t>(sight.segments));
  for (std::size_t i = 0; i < sight.segment_mass.size(); ++i) mean[i % mean.size()] += sight.segment_mass[i];
  for (float& mass : mean) mass /= static_cast<float>(sight.layers * sight.heads);
  return mean;
}

// The position that most of the weight went to, all heads together, of those among the heads' top keys. The first
// token, which many heads rest on, is set aside.
std::int32_t most_seen(const StepSight& sight) {
  std::map<std::int32_t, float> weight;
  for (std::size_t i = 0; i < sight.top_key.size(); ++i) {
    if (sight.top_key[i] > 0) weight[sight.top_key[i]] += sight.top_weight[i];
  }
  const auto lighter = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(weight.begin(), weight.end(), lighter);
  return most == weight.end() ? 0 : most->first;
}

std::string piece_at(const sightline::model::Generation& generation, const sightline::tokenizer::Tokenizer& tokenizer,
                     std::size_t position) {
  const auto& prompt = generation.prompt().ids;
  const std::int32_t id = position < prompt.size() ? prompt[position] : generation.tokens()[position - prompt.size()];
  return static_cast<std::size_t>(id) < tokenizer.vocabulary_size() ? tokenizer.piece_of(id) : "(no text)";
}

int generate(const char* path, const std::string& system, const std::string& question) {
  const auto model = sightline::model::open(path);
  sightline::model::GenerationOptions options;
  options.watch = sightline::model::WatchOptions{.top = 8};
  sightline::model::Generation generation(model, read_prompt(model.tokenizer, system, question), options);
  const auto& end = generation.run([&](const GeneratedToken& token) {
    for (std::size_t s = 0; const float mass : segment_mass(*token.sight))
      std::printf("%s %.2f  ", kSegments[s++], mass);
    const auto seen = static_cast<std::size_t>(most_seen(*token.sight));
    std::printf("most: %-12s %s\n", piece_at(generation, model.tokenizer, seen).c_str(), token.text.c_str());
    std::fflush(stdout);
    return token.text.find('.') == std::string::npos && generation.tokens().size() < kMaxTokens;
  });
  generation.flush();  // what was held back of a character that was cut
  std::printf("%s (%s)\n", generation.text().c_str(), end_name(end).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: generate MODEL SYSTEM QUESTION\n");
    return 2;
  }
  try {
    return generate(argv[1], argv[2], argv[3]);
  } catch (const sightline::Error& error) {  // one line that says what is wrong and what to do
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 1;
  }
}
