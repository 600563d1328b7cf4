#ifndef SIGHTLINE_TOKENIZER_POST_PROCESSOR_H_
#define SIGHTLINE_TOKENIZER_POST_PROCESSOR_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "sightline/tokenizer.h"
#include "src/tokenizer/stage.h"

namespace sightline::tokenizer {

/// The tokens of the text and, for a pair, of the second text.
using Sequences = std::vector<std::vector<Token>>;

/// Puts special tokens around the sequences and numbers their segments.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// How many tokens it adds to a single text, or to a pair.
  virtual std::size_t added(bool pair) const = 0;
  /// `sequences` are one or two; afterwards they are parts to be put one after the other. Without `add_special` no
  /// token is added.
  virtual void process(Sequences& sequences, bool add_special) const = 0;
  /// Extends the range by what it gives to a single text.
  virtual void extend(TokenRange& range) const = 0;
};

/// "post_processor": BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing. Throws BadFile,
/// UnsupportedModel.
std::unique_ptr<const PostProcessor> make_post_processor(const JsonObject& json);

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_POST_PROCESSOR_H_
