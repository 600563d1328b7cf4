#include "src/generation/state.h"

#include <utility>

#include "src/model/context_cache.h"

namespace sightline::model {

GenerationState::GenerationState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GenerationState::GenerationState(GenerationState&&) noexcept = default;
GenerationState& GenerationState::operator=(GenerationState&&) noexcept = default;
GenerationState::~GenerationState() = default;

std::span<const std::int32_t> GenerationState::tokens() const { return impl_->tokens; }
PromptTokens GenerationState::prompt() const { return {impl_->tokens, impl_->segments, impl_->segment_count}; }
std::int64_t GenerationState::kept() const { return impl_->context.length(); }
std::int64_t GenerationState::context() const { return impl_->context.room(); }
ContextOptions GenerationState::cache() const { return impl_->context.impl().options; }
bool GenerationState::has_key_mass() const { return !impl_->mass.layers.empty(); }
std::uint64_t GenerationState::seed() const { return impl_->seed; }

const std::vector<std::string>& GenerationState::segment_names() const { return impl_->segment_names; }
void GenerationState::name_segments(std::vector<std::string> names) { impl_->segment_names = std::move(names); }

std::int64_t GenerationState::bytes() const {
  std::int64_t bytes = impl_->context.bytes();
  for (const std::vector<float>& sums : impl_->mass.layers) bytes += std::ssize(sums) * 4;
  return bytes;
}

}  // namespace sightline::model
