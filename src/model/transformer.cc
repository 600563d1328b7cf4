#include "src/model/transformer.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/json.h"
#include "src/model/forward.h"
#include "src/model/weights.h"

namespace sightline::model {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;  // labels of a large classifier included

std::vector<std::string> collect_warnings(const TransformerConfig& config, std::vector<std::string> warnings) {
  if (!config.unknown_keys.empty()) {
    std::string keys;
    for (const std::string& key : config.unknown_keys) keys += (keys.empty() ? "" : ", ") + format::quote(key);
    warnings.push_back("config.json: keys not known and not used: " + keys);
  }
  return warnings;
}

}  // namespace

struct Transformer::Impl {
  TransformerConfig config;
  Weights weights;
  std::vector<std::string> warnings;
};

Transformer Transformer::load(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "config.json";
  const auto impl = std::make_shared<Impl>();
  impl->config = parse_config(format::read_regular_file(path, kMaxConfigBytes), path.string());
  impl->weights = load_weights(directory, impl->config);
  impl->warnings = collect_warnings(impl->config, std::exchange(impl->weights.warnings, {}));
  Transformer transformer;
  transformer.impl_ = impl;
  return transformer;
}

const TransformerConfig& Transformer::config() const { return impl_->config; }
std::int64_t Transformer::parameter_count() const { return impl_->weights.parameter_count; }
std::vector<std::string> Transformer::warnings() const { return impl_->warnings; }

ForwardResult Transformer::forward(std::span<const TokenSequence> batch, const ForwardOptions& options) const {
  check_batch(impl_->config, batch);
  if (options.want_logits && !impl_->config.language_head) {
    throw BadArgument("the model has no language-model head, so there are no logits");
  }
  try {
    return ForwardPass(impl_->config, impl_->weights, batch, options).run();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the activations of the texts: give fewer at a time");
  }
}

}  // namespace sightline::model
