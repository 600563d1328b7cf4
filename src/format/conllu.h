#ifndef SIGHTLINE_FORMAT_CONLLU_H_
#define SIGHTLINE_FORMAT_CONLLU_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::format {

/// A word of a treebank as a syntactic tree has it: of "don't" the two words "do" and "n't".
struct TreebankWord {
  std::string form;
  std::string relation;  // to its head, as it stands there: "nsubj:pass"; empty where the file gives none
  std::size_t head = 0;  // number of a word of the sentence, from 1; 0: the root's, or none is given

  bool operator==(const TreebankWord&) const = default;
};

using TreebankSentence = std::vector<TreebankWord>;

/// The sentences of a file in CoNLL-U (https://universaldependencies.org/format.html): words in basic dependencies.
/// Comments, spellings of words that are written together (lines 3-4), words that are only meant (8.1), and the columns
/// that no field above is of are passed over. A head is a word of the same sentence, but heads may go in circles.
/// Throws BadFile, naming the line, for what is no CoNLL-U, and for a file without a sentence.
std::vector<TreebankSentence> parse_conllu(std::string_view text, std::string_view name);

/// Reads a file of 64 MiB at most.
std::vector<TreebankSentence> read_conllu(const std::filesystem::path& path);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_CONLLU_H_
