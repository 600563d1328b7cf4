#include "sightline/context.h"

#include <fmt/format.h>

#include <utility>

#include "sightline/error.h"
#include "src/model/context_cache.h"

namespace sightline::model {
namespace {

KvCacheOptions cache_options(const TransformerConfig& config, std::int64_t tokens, const ContextOptions& options) {
  KvCacheOptions cache = KvCacheOptions::contiguous(1, tokens);
  if (options.page_size != 0) {
    cache.page_size = options.page_size;
    if (options.page_size > 0) cache.page_count = (tokens + options.page_size - 1) / options.page_size;
  }
  cache.layers = config.layers;
  cache.kv_heads = config.kv_heads;
  cache.key_width = cache.value_width = config.head_width;
  cache.dtype = options.keys;
  cache.values_in_keys = options.keys != options.values;
  return cache;
}

KvCacheOptions value_cache_options(KvCacheOptions cache, DType values) {
  cache.dtype = values;
  return cache;
}

}  // namespace

ContextCache::ContextCache(const TransformerConfig& config, std::int64_t tokens, const ContextOptions& options)
    : keys_(cache_options(config, tokens, options)) {
  if (options.keys != options.values) values_.emplace(value_cache_options(keys_.cache.options(), options.values));
}

void ContextCache::extend(std::int64_t count) {
  keys_.cache.extend({&keys_.sequence, 1}, count);
  if (values_) values_->cache.extend({&values_->sequence, 1}, count);  // as many pages as keys have: it cannot fail
}

void ContextCache::truncate(std::int64_t length) {
  keys_.cache.truncate(keys_.sequence, length);
  if (values_) values_->cache.truncate(values_->sequence, length);
}

void ContextCache::look_up() {
  keys_.cache.view({&keys_.sequence, 1}, keys_.view);
  if (values_) values_->cache.view({&values_->sequence, 1}, values_->view);
}

void ContextCache::write(std::int64_t layer, const TensorView& keys, const TensorView& values) {
  keys_.cache.write(layer, {&keys_.sequence, 1}, keys, values_ ? TensorView{} : values);
  if (values_) values_->cache.write(layer, {&values_->sequence, 1}, values, {});
}

void ContextCache::bind(std::int64_t layer, AttentionProblem& problem) const {
  keys_.cache.bind(keys_.view, layer, problem);
  if (!values_) return;
  AttentionProblem of_values = problem;
  values_->cache.bind(values_->view, layer, of_values);
  problem.v = of_values.k;
  problem.pages.v_page_stride = of_values.pages.k_page_stride;  // both caches have gone through the same pages
}

std::int64_t ContextCache::bytes() const { return keys_.cache.bytes() + (values_ ? values_->cache.bytes() : 0); }

void ContextCache::copy_rows(std::int64_t layer, std::span<std::byte> keys, std::span<std::byte> values) const {
  keys_.cache.copy_rows(layer, keys_.sequence, 0, keys, values_ ? std::span<std::byte>() : values);
  if (values_) values_->cache.copy_rows(layer, values_->sequence, 0, values, {});
}

void ContextCache::write_rows(std::int64_t layer, std::span<const std::byte> keys, std::span<const std::byte> values) {
  keys_.cache.write_rows(layer, keys_.sequence, keys, values_ ? std::span<const std::byte>() : values);
  if (values_) values_->cache.write_rows(layer, values_->sequence, values, {});
}

void Context::Impl::copy(const Impl& from, std::int64_t count) {
  cache->truncate(0);
  cache->extend(count);
  const std::int64_t rows = config.kv_heads * count;
  std::vector<std::byte> keys(static_cast<std::size_t>(rows * cache->key_bytes()));
  std::vector<std::byte> values(static_cast<std::size_t>(rows * cache->value_bytes()));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    from.cache->copy_rows(layer, keys, values);
    cache->write_rows(layer, keys, values);
  }
  tokens.assign(from.tokens.begin(), from.tokens.begin() + count);
  turned_for = from.turned_for;
}

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

std::int64_t Context::length() const { return impl_->length(); }
std::int64_t Context::room() const { return impl_->room; }
std::span<const std::int32_t> Context::tokens() const { return impl_->tokens; }
std::int64_t Context::bytes() const { return impl_->cache->bytes(); }

void Context::truncate(std::int64_t length) {
  if (length < 0 || length > this->length()) {
    throw BadArgument(fmt::format("a context of {} tokens cannot be cut to {}", this->length(), length));
  }
  impl_->cache->truncate(length);
  impl_->tokens.resize(static_cast<std::size_t>(length));
}

}  // namespace sightline::model
