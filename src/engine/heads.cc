#include "src/engine/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sightline/error.h"
#include "src/analysis/generated_probes.h"
#include "src/engine/corpus_probes.h"
#include "src/engine/look_memory.h"
#include "src/engine/memory.h"
#include "src/engine/session.h"
#include "src/format/conllu.h"
#include "src/format/gap.h"

namespace sightline::engine {
namespace {

using analysis::Place;

constexpr char kNoMemory[] =
    "no memory for the heads' roles: generate shorter texts (--length), or take a smaller model";

// What is asked of the model.
struct Questions {
  std::vector<analysis::Probe> probes;
  std::vector<analysis::PlaceProbe> places;
  std::vector<std::string> notes;  // on what corpora leave out

  std::int64_t longest() const {
    std::int64_t most = 0;
    for (const analysis::Probe& probe : probes) {
      for (const analysis::ProbeText& text : probe.texts) most = std::max(most, std::ssize(text.ids));
    }
    for (const analysis::PlaceProbe& probe : places) {
      for (const analysis::RepeatedText& text : probe.texts) most = std::max(most, text.tokens());
    }
    return most;
  }
};

std::int64_t generated_length(const ModelFacts& model, std::int64_t asked) {
  if (asked == 0) return std::min(kGeneratedTokens, model.max_tokens);
  if (asked <= model.max_tokens) return asked;
  throw BadArgument(fmt::format("texts of {} tokens were asked for (--length), and {} takes at most {}", asked,
                                model.name, model.max_tokens));
}

std::vector<Place> text_places(const model::TransformerConfig& config) {
  std::vector<Place> places = {Place::previous, Place::current};
  if (!config.causal) places.push_back(Place::next);
  places.push_back(Place::first);
  places.push_back(Place::separator);
  if (config.sinks) places.push_back(Place::sink);
  return places;
}

Questions generated_questions(const tokenizer::Tokenizer& tokenizer, const ModelFacts& model,
                              const HeadsOptions& options, std::int64_t length) {
  Questions questions;
  questions.places.push_back(
      {text_places(model.config),
       analysis::paragraph_texts(tokenizer, options.text ? *options.text : analysis::english_text(),
                                 model.max_tokens)});
  if (questions.places.back().texts.empty())
    throw BadArgument("nothing in the text becomes a token: give another text");
  const analysis::GenerationPlan plan{length, options.seed};
  questions.places.push_back({{Place::duplicate, Place::induction}, analysis::repeated_texts(tokenizer, plan)});
  questions.probes.push_back(analysis::bracket_probe(tokenizer, plan));
  return questions;
}

void add(CorpusProbes&& corpus, Questions& questions) {
  std::ranges::move(corpus.probes, std::back_inserter(questions.probes));
  std::ranges::move(corpus.notes, std::back_inserter(questions.notes));
}

void add_corpora(const tokenizer::Tokenizer& tokenizer, bool causal, const HeadsOptions& options,
                 Questions& questions) {
  if (!options.coreference.empty()) {
    add(coreference_probe(format::read_gap(options.coreference), tokenizer, causal, options.coreference.string()),
        questions);
  }
  if (!options.treebank.empty()) {
    add(treebank_probes(format::read_conllu(options.treebank), options.relations, tokenizer, options.treebank.string()),
        questions);
  }
}

std::string left_out_note(const analysis::Role& role) {
  if (role.unseen == 0 && role.too_long == 0) return {};
  std::string note = role.name + (role.from_to.empty() ? "" : " (" + role.from_to + ")") + ":";
  if (role.unseen > 0) {
    note += fmt::format(
        " {} questions are left out, as what is right stands after the row, where a causal model does "
        "not see it",
        role.unseen);
  }
  if (role.too_long > 0) {
    note += fmt::format("{} {} are left out, of texts that are longer than the model takes", role.unseen > 0 ? ";" : "",
                        role.too_long);
  }
  return note;
}

// On heads whose weights are no numbers: none of their answers is right, which says nothing of what they do.
std::string unknown_note(const HeadRoles& roles) {
  const auto is_unknown = [&](std::size_t map) {
    return std::ranges::any_of(roles.choice.roles, [&](const analysis::RoleFinding& finding) {
      return std::isnan(roles.scores.reported(finding.role, map).mean_weight());
    });
  };
  const auto count = std::ranges::count_if(roles.choice.asked_maps, is_unknown);
  if (count == 0) return {};
  return fmt::format("{} of {} heads have weights that are no numbers (NaN): what these heads do is not known", count,
                     roles.choice.asked_maps.size());
}

void require_any(const HeadRoles& roles, const HeadsOptions& options) {
  if (std::ranges::any_of(roles.choice.roles, &analysis::RoleFinding::enough)) return;
  if (!roles.scores.complete) return;  // there will be more, had it not been stopped
  throw BadArgument(fmt::format("no role has {} questions{}: give more or longer texts{}, or a smaller --min",
                                options.least, options.holdout ? " in each half" : "",
                                options.holdout ? ", take both halves for everything (--no-holdout)" : ""));
}

}  // namespace

HeadRoles Session::head_roles(const HeadsOptions& options) const {
  return within_memory(kNoMemory, [&] {
    HeadRoles roles;
    roles.length = generated_length(facts_, options.length);
    Questions questions = generated_questions(model_.tokenizer, facts_, options, roles.length);
    add_corpora(model_.tokenizer, facts_.config.causal, options, questions);
    roles.notes = std::move(questions.notes);
    MemoryPlan plan{.weights = facts_.weights.bytes};
    const std::int64_t longest = std::min(questions.longest(), facts_.max_tokens);  // longer ones are left out
    const std::int64_t tokens = std::max(longest, analysis::kPassTokens);
    plan.workspace = static_cast<std::int64_t>(pass_bytes(facts_, tokens, options_.threads, 1));
    require_memory(plan, memory(), "generate shorter texts (--length), or take a smaller model");

    const analysis::ScoringOptions how{.halves = {options.holdout},
                                       .layer = options.layer,
                                       .head = options.head,
                                       .threads = options_.threads,
                                       .progress = options.progress};
    roles.scores = analysis::score_heads(model_.transformer, std::move(questions.probes), questions.places, how);
    roles.choice = analysis::choose_roles(roles.scores, how, options.least);
    require_any(roles, options);
    for (const analysis::Role& role : roles.scores.roles) {
      if (std::string note = left_out_note(role); !note.empty()) roles.notes.push_back(std::move(note));
    }
    if (std::string note = unknown_note(roles); !note.empty()) roles.notes.push_back(std::move(note));
    return roles;
  });
}

}  // namespace sightline::engine
