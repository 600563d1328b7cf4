#ifndef SIGHTLINE_CONTEXT_H_
#define SIGHTLINE_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sightline/tensor.h"

namespace sightline::model {

struct ContextOptions {
  DType keys = DType::f32;  // as the cache keeps them: f32, f16, bf16, i8_row or q4_1
  DType values = DType::f32;
  std::int64_t page_size = 0;  // tokens a page; 0: one page, as long as the context
};

/// A text under way: its tokens, and their keys and values in every layer. Made by Transformer::make_context(). Not for
/// two threads at once.
class Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  std::int64_t length() const;  // tokens so far
  std::int64_t room() const;    // tokens it can hold
  std::span<const std::int32_t> tokens() const;
  std::int64_t bytes() const;  // of the cache

  /// Forgets the tokens from `length` on. Throws BadArgument for more than there are.
  void truncate(std::int64_t length);

  struct Impl;
  explicit Context(std::unique_ptr<Impl> impl);
  Impl& impl() { return *impl_; }  // for the forward pass
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_CONTEXT_H_
