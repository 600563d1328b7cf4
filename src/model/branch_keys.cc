#include "src/model/branch_keys.h"

namespace sightline::model {
namespace {

// Pages of the default size, so that a branch copies a part of one alone. Where rows see both ways all keys of a branch
// are its own, and come with the call.
KvCacheOptions cache_options(const TransformerConfig& config, std::int64_t tokens) {
  KvCacheOptions options;
  options.layers = config.layers;
  options.kv_heads = config.kv_heads;
  options.key_width = options.value_width = config.head_width;
  const std::int64_t pages = (tokens + options.page_size - 1) / options.page_size;
  options.page_count = config.causal ? 2 * pages : pages;
  options.max_sequences = 2;
  options.max_tokens = tokens;
  return options;
}

}  // namespace

BranchKeys::BranchKeys(const TransformerConfig& config, std::int64_t tokens)
    : tokens_(tokens), cache_(cache_options(config, tokens)), whole_(cache_.create()) {
  cache_.extend({&whole_, 1}, tokens);
  cache_.view({&whole_, 1}, view_of_whole_);
}

std::int64_t BranchKeys::bytes(const TransformerConfig& config, std::int64_t tokens) {
  const KvCacheOptions options = cache_options(config, tokens);
  return options.page_count * options.page_size * options.layers * options.kv_heads *
         (options.key_width + options.value_width) * std::int64_t{sizeof(float)};
}

void BranchKeys::keep(int layer, const AttentionProblem& problem) {
  cache_.write(layer, {&whole_, 1}, problem.k, problem.v);
}

void BranchKeys::read_whole(int layer, AttentionProblem& problem) { cache_.bind(view_of_whole_, layer, problem); }

void BranchKeys::read_branch(int layer, std::int64_t begin, AttentionProblem& problem) {
  if (begin != begin_) fork_at(begin);
  cache_.write(layer, {&branch_, 1}, problem.k, problem.v);
  cache_.bind(view_of_branch_, layer, problem);
}

void BranchKeys::fork_at(std::int64_t begin) {
  if (begin_ >= 0) cache_.free(branch_);
  begin_ = -1;
  branch_ = cache_.fork(whole_);
  cache_.truncate(branch_, begin);
  cache_.extend({&branch_, 1}, tokens_ - begin);
  cache_.view({&whole_, 1}, view_of_whole_);
  cache_.view({&branch_, 1}, view_of_branch_);
  begin_ = begin;
}

}  // namespace sightline::model
