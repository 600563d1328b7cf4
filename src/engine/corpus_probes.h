#ifndef SIGHTLINE_ENGINE_CORPUS_PROBES_H_
#define SIGHTLINE_ENGINE_CORPUS_PROBES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/tokenizer.h"
#include "src/analysis/probe.h"
#include "src/format/conllu.h"
#include "src/format/gap.h"

namespace sightline::engine {

/// What a corpus asks, and what of it is left out and why: a line each.
struct CorpusProbes {
  std::vector<analysis::Probe> probes;
  std::vector<std::string> notes;
};

/// Sentences of more words are left out.
inline constexpr std::size_t kMaxSentenceWords = 60;

/// Two probes for each relation of a treebank, from the dependent to its head and from the head to the dependent, with
/// a question for each word that has the relation: of all other words of the sentence, which is it? A model reads the
/// words with a space between any two, so that its tokens do not cross words; a sentence where one does, or where a
/// word has no token, is left out. A subtype ("aux:pass") is a relation of its own and counts with its relation
/// ("aux"), too; but the subject of a passive stands for an object, so "nsubj:pass" does not count with "nsubj".
/// `relations`: those that are asked about, in the file's order; empty: all. `name`: of the file, in messages. Throws
/// BadArgument for a relation that is not there, a treebank with too many, one without any, and where no sentence fits
/// the tokens.
CorpusProbes treebank_probes(const std::vector<format::TreebankSentence>& sentences,
                             const std::vector<std::string>& relations, const tokenizer::Tokenizer& tokenizer,
                             std::string_view name);

/// The probe "coreference": of two names, which one does the pronoun stand for? A name weighs as much as its heaviest
/// token. Rows that say neither name or both are left out, and for a causal model those where a name stands after the
/// pronoun. Throws BadArgument where nothing is left.
CorpusProbes coreference_probe(const std::vector<format::GapQuestion>& rows, const tokenizer::Tokenizer& tokenizer,
                               bool causal, std::string_view name);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_CORPUS_PROBES_H_
