#ifndef SIGHTLINE_CONTEXT_H_
#define SIGHTLINE_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/tensor.h"

namespace sightline::model {

/// Which key goes where a head has more than it may keep.
enum class DropKind : std::uint8_t {
  none,
  window,        ///< the oldest
  sinks_window,  ///< the oldest but for the first tokens (StreamingLLM, Xiao et al. 2023; positions stay what they are)
  mass,  ///< of those that are not the newest the one that has received the least weight (H2O, Zhang et al. 2023)
};

/// How many keys each key/value head of each layer keeps, and which. docs/generate.md, "Letting keys go".
struct DropRule {
  DropKind kind = DropKind::none;
  std::int64_t keep = 0;    // keys, at least 1
  std::int64_t sinks = 4;   // of sinks_window: first tokens that stay, below keep
  std::int64_t recent = 0;  // of mass: newest tokens that stay, at most keep; 0: half of keep

  friend bool operator==(const DropRule&, const DropRule&) = default;
};

/// A rule as it is written: "window,keep=N", "sinks+window,keep=N[,sinks=S]", "mass,keep=N[,recent=M]". Throws
/// BadArgument that says what is wrong and how rules look.
DropRule parse_drop_rule(std::string_view text);
/// The rule with all its numbers, as parse_drop_rule() reads it; "none".
std::string drop_rule_text(const DropRule& rule);

/// What a key/value head of a layer has let go.
struct HeadDrops {
  std::int64_t kept = 0;     // keys
  std::int64_t evicted = 0;  // keys, without those that left the layer's window, which no row would see again
  double evicted_mass = 0;   // weight that evicted keys had received until they went
  double received_mass = 0;  // weight that all keys have received, of all rows and query heads so far
};

/// What later rows would have given to the evicted keys of their head, as parts of 1.
struct HeadAudit {
  double newest = 0;  // of the newest row
  double sum = 0;     // of all rows
  double largest = 0;
  std::int64_t largest_row = -1;  // its position
};

/// What became of a context since Context::begin_dropping().
struct DropAccount {
  std::int64_t rows = 0;          // tokens since then
  std::vector<HeadDrops> heads;   // [layers, kv heads]
  std::vector<HeadAudit> audits;  // [layers, query heads]; empty unless audited
};

struct ContextOptions {
  DType keys = DType::f32;  // as the cache keeps them: f32, f16, bf16, i8_row or q4_1
  DType values = DType::f32;
  std::int64_t page_size = 0;  // tokens a page; 0: one page, as long as the context
  DropRule drop = {};  // for begin_dropping(); weights that keys receive are then summed from the first token on
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
  std::int64_t bytes() const;  // of the cache, without what an audit keeps aside

  /// Forgets the tokens from `length` on. Throws BadArgument for more than there are, and once keys have been dropped.
  void truncate(std::int64_t length);

  /// From now on each key/value head keeps as many keys as the rule of the options says: those that the rule does not
  /// choose go at once, and one more for each token that is added, which then come one by one. With `audit` evicted
  /// keys are kept aside, to tell what later rows would have given them. Returns the context as it was, with all its
  /// keys: to be dropped, or continued for comparison. Throws BadArgument for a context without a rule or tokens, one
  /// that drops already, and where the newest pass failed or tokens were cut; OutOfMemory.
  Context begin_dropping(bool audit = false);
  bool is_dropping() const;
  /// Of a context that drops keys; BadArgument for others.
  const DropAccount& drops() const;

  struct Impl;
  explicit Context(std::unique_ptr<Impl> impl);
  Impl& impl() { return *impl_; }  // for the forward pass
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_CONTEXT_H_
