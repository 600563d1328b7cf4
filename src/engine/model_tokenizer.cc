#include "src/engine/model_tokenizer.h"

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/gguf.h"

namespace sightline::engine {

tokenizer::Tokenizer open_tokenizer(const ModelLocation& model, const std::string& pre) {
  if (model.gguf) return tokenizer::Tokenizer::from_gguf(format::GgufFile::open(model.path).metadata(), {pre});
  if (!pre.empty()) {
    throw BadArgument(model.path.string() + " is no GGUF file: its tokenizer.json says how words are found, not --pre");
  }
  const std::filesystem::path file = model.path / "tokenizer.json";
  if (!format::is_present(file)) {
    throw BadFile(model.path.string() +
                  " has no tokenizer.json; fetch it with the model, or name a model that has one");
  }
  return tokenizer::Tokenizer::load(file);
}

}  // namespace sightline::engine
