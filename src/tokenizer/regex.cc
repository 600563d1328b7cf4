#include "src/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>

#include "sightline/error.h"
#include "src/tokenizer/character_classes.h"
#include "src/tokenizer/regex_pattern.h"

namespace sightline::tokenizer {
namespace {

// Limits on a pattern's work, so that none runs away. Those of one attempt grow with the text, which a single match may
// span; what all attempts together may take is CPU time, since PCRE2 does not tell its steps: 100 times what the
// patterns of known tokenizers need for their slowest texts.
constexpr std::size_t kLeastSteps = 1'000'000, kStepsOfCharacter = 8;
constexpr std::size_t kFirstStack = 64 << 10, kLeastStack = 1 << 20, kStackOfCharacter = 64;  // bytes; if compiled
constexpr std::uint32_t kMaxHeap = 64 << 10;  // KiB; where patterns cannot be compiled
constexpr double kLeastSeconds = 1, kSecondsOfCharacter = 5e-6;
constexpr std::size_t kWindow = 256;  // characters at which a match may start, between two looks at the clock

template <typename T, void (*free)(T*)>
struct Free {
  void operator()(T* pointer) const { free(pointer); }
};
template <typename T, void (*free)(T*)>
using Handle = std::unique_ptr<T, Free<T, free>>;

using Code = Handle<pcre2_code, pcre2_code_free>;
using CompileContext = Handle<pcre2_compile_context, pcre2_compile_context_free>;
using MatchContext = Handle<pcre2_match_context, pcre2_match_context_free>;
using MatchData = Handle<pcre2_match_data, pcre2_match_data_free>;
using JitStack = Handle<pcre2_jit_stack, pcre2_jit_stack_free>;

template <typename Pointer>
Pointer checked(Pointer pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

std::string message_of(int error) {
  PCRE2_UCHAR message[256] = {};
  pcre2_get_error_message(error, message, sizeof(message));
  return reinterpret_cast<const char*>(message);
}

void append_class(std::uint8_t number, std::string& out) {
  constexpr const char* kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[number >> 4];
  out += kDigits[number & 15];
}

// The pattern over classes.
std::string render(const RegexPattern& pattern, const CharacterClasses& classes) {
  std::string out;
  for (const RegexPattern::Part& part : pattern.parts) {
    out += part.syntax;
    if (!part.syntax.empty()) continue;
    const std::vector<std::uint8_t>& numbers = classes.of_set(part.set);
    if (numbers.empty()) out += "(?!)";
    if (numbers.size() > 1) out += '[';
    for (const std::uint8_t number : numbers) append_class(number, out);
    if (numbers.size() > 1) out += ']';
  }
  return out;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

struct Regex::Impl {
  Impl(std::string_view pattern, std::string_view place) : Impl(parse_regex(pattern, place), place) {}
  Impl(const RegexPattern& pattern, std::string_view place) : where(place), classes(pattern.sets) {
    if (classes.count() == 0) {
      throw UnsupportedModel(where + " tells more than " + std::to_string(CharacterClasses::kMost) +
                             " kinds of characters apart, which is not supported");
    }
    const CompileContext context(checked(pcre2_compile_context_create(nullptr)));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    const std::string text = render(pattern, classes);
    int error = 0;
    PCRE2_SIZE at = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                             PCRE2_USE_OFFSET_LIMIT | PCRE2_NO_AUTO_CAPTURE, &error, &at, context.get()));
    if (!code) throw UnsupportedModel(where + " is a pattern that cannot be used: " + message_of(error));
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // where the machine allows it; else patterns are interpreted
  }

  std::string where;
  CharacterClasses classes;
  Code code;
};

namespace {

/// A walk through one text.
class Scan {
 public:
  Scan(const pcre2_code* code, const std::string& where, const std::vector<std::uint8_t>& subject)
      : code_(code),
        where_(where),
        subject_(subject),
        data_(checked(pcre2_match_data_create(1, nullptr))),
        context_(checked(pcre2_match_context_create(nullptr))) {
    const std::size_t steps = kLeastSteps + kStepsOfCharacter * subject.size();
    pcre2_set_match_limit(context_.get(), static_cast<std::uint32_t>(std::min<std::size_t>(steps, UINT32_MAX)));
    pcre2_set_heap_limit(context_.get(), kMaxHeap);
  }

  void run(const std::function<void(std::size_t, std::size_t)>& found) {
    std::size_t at = 0;
    std::size_t last_end = SIZE_MAX;
    std::size_t searches = 0;
    while (at <= subject_.size()) {
      if (++searches % kWindow == 0) check_time();
      if (!search(at)) {
        check_time();
        at += kWindow + 1;
        continue;
      }
      const PCRE2_SIZE* place = pcre2_get_ovector_pointer(data_.get());
      const std::size_t begin = place[0];
      const std::size_t end = place[1];
      const bool repeats = begin == end && begin == last_end;  // empty, where the last match ended
      if (!repeats) found(begin, end);
      last_end = end;
      at = repeats ? end + 1 : end;
    }
  }

 private:
  // The first match that starts in the window from `at` on.
  bool search(std::size_t at) {
    pcre2_set_offset_limit(context_.get(), at + kWindow);
    int result = match(at);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT && !stack_) {
      const std::size_t most = kLeastStack + kStackOfCharacter * subject_.size();
      stack_.reset(checked(pcre2_jit_stack_create(kFirstStack, most, nullptr)));
      pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
      result = match(at);
    }
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result >= 0) return true;
    if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    throw BadFile(where_ + " is a pattern that runs away on this text: " + message_of(result));
  }

  int match(std::size_t at) {
    return pcre2_match(code_, subject_.data(), subject_.size(), at, 0, data_.get(), context_.get());
  }

  void check_time() const {
    const double allowed = kLeastSeconds + kSecondsOfCharacter * static_cast<double>(subject_.size());
    if (cpu_seconds() - begin_ < allowed) return;
    throw BadFile(where_ + " is a pattern that runs away: it takes too long for a text of " +
                  std::to_string(subject_.size()) + " characters");
  }

  const pcre2_code* code_;
  const std::string& where_;
  const std::vector<std::uint8_t>& subject_;
  MatchData data_;
  MatchContext context_;
  JitStack stack_;
  double begin_ = cpu_seconds();
};

}  // namespace

Regex::Regex(std::string_view pattern, std::string_view where) : impl_(std::make_shared<const Impl>(pattern, where)) {}

void Regex::for_each_match(CharSpan text, const std::function<void(std::size_t, std::size_t)>& found) const {
  std::vector<std::uint8_t> subject(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) subject[i] = impl_->classes[text[i].code];
  Scan(impl_->code.get(), impl_->where, subject).run(found);
}

}  // namespace sightline::tokenizer
