// Random operations on a cache, and the same on plain lists of tokens; everything is read back through the page table.
// RapidCheck prints its seed, and RC_PARAMS="seed=..." repeats a run, RC_PARAMS="max_success=..." makes it longer.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "sightline/error.h"
#include "src/cache/testing.h"

namespace sightline::testing {
namespace {

// A number in [from, to], of the whole range from the first case on.
std::int64_t draw(std::int64_t from, std::int64_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(from, to + 1));
}

// How often each event was met.
std::map<std::string, int>& events() {
  static std::map<std::string, int> counts;
  return counts;
}

KvCacheOptions any_options() {
  KvCacheOptions o;
  o.layers = draw(1, 2);
  o.kv_heads = draw(1, 3);
  o.key_width = draw(1, 40);
  o.values_in_keys = draw(0, 4) == 0;
  o.value_width = o.values_in_keys ? draw(1, o.key_width) : draw(1, 40);
  o.dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16, DType::i8_row, DType::q4_1);
  o.page_size = *rc::gen::element<std::int64_t>(16, 17, 24, 64);
  o.page_count = draw(1, 24);
  o.max_sequences = draw(1, 6);
  o.max_tokens = draw(0, 2) == 0 ? draw(1, 100) : 0;
  o.window = draw(0, 1) == 0 ? draw(1, 60) : 0;
  return o;
}

// What a token is: a number that no other has. Its rows follow from it.
std::vector<float> row_of(std::int64_t token, std::int64_t layer, std::int64_t head, bool is_key, std::int64_t width) {
  std::vector<float> row(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < width; ++i) {
    const std::int64_t mixed = ((token * 2 + layer) * 3 + head) * 2 + (is_key ? 1 : 0);
    row[i] = static_cast<float>(mixed % 1021) + static_cast<float>((i * i + token) % 7) / 8;
  }
  return row;
}

std::vector<float> kept_as(DType dtype, const std::vector<float>& row) {
  std::vector<std::byte> bytes(row_bytes(dtype, static_cast<std::int64_t>(row.size())));
  std::vector<float> values(row.size());
  encode_row(dtype, row, bytes.data());
  decode_row(dtype, bytes.data(), values);
  return values;
}

struct ModelSequence {
  SequenceId id;
  std::vector<std::int64_t> tokens;  // all of them, also those given back
  std::int64_t first = 0, gone = 0;
};

class Model {
 public:
  explicit Model(const KvCacheOptions& options) : o_(options), cache_(options) {}

  void step() {
    const std::int64_t kind = draw(0, 10);
    if (sequences_.empty() || kind == 0) {
      create();
    } else if (kind == 1) {
      fork(any_sequence());
    } else if (kind == 2) {
      free(any_sequence());
    } else if (kind <= 4) {
      truncate(any_sequence());
    } else if (kind == 5) {
      keep(any_sequence());
    } else {
      append();
    }
    check();
  }

 private:
  template <class Error, class Call>
  static void refused(const Call& call) {
    RC_ASSERT_THROWS_AS(call(), Error);
  }

  std::size_t any_sequence() const {
    return static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(sequences_.size()) - 1));
  }
  bool is_full() const { return static_cast<std::int64_t>(sequences_.size()) == o_.max_sequences; }

  void create() {
    if (is_full()) return refused<OutOfMemory>([&] { (void)cache_.create(); });
    sequences_.push_back({cache_.create(), {}});
  }

  void fork(std::size_t n) {
    if (is_full()) return refused<OutOfMemory>([&] { (void)cache_.fork(sequences_[n].id); });
    ModelSequence child = sequences_[n];
    child.id = cache_.fork(sequences_[n].id);
    sequences_.push_back(child);
  }

  void free(std::size_t n) {
    const SequenceId id = sequences_[n].id;
    cache_.free(id);
    refused<BadArgument>([&] { (void)cache_.free(id); });
    sequences_.erase(sequences_.begin() + static_cast<std::int64_t>(n));
  }

  void truncate(std::size_t n) {
    ModelSequence& s = sequences_[n];
    const std::int64_t length = draw(0, 3) == 0 ? 0 : draw(0, static_cast<std::int64_t>(s.tokens.size()));
    const std::int64_t needed = o_.window > 0 ? std::max<std::int64_t>(0, length - o_.window + 1) : 0;
    events()["too far back"] += length > 0 && needed < s.first;
    events()["begun anew"] += length == 0 && s.gone > 0;
    if (length > 0 && needed < s.first) return refused<BadArgument>([&] { (void)cache_.truncate(s.id, length); });
    cache_.truncate(s.id, length);
    s.tokens.resize(static_cast<std::size_t>(length));
    if (length == 0) s.first = s.gone = 0;
  }

  // Each token from some position on stays or goes by chance.
  void keep(std::size_t n) {
    ModelSequence& s = sequences_[n];
    const auto end = static_cast<std::int64_t>(s.tokens.size());
    const std::int64_t length = draw(s.first, end);
    std::vector<std::int64_t> positions, tokens(s.tokens.begin(), s.tokens.begin() + length);
    for (std::int64_t position = length; position < end; ++position) {
      if (draw(0, 1) == 0) continue;
      positions.push_back(position);
      tokens.push_back(s.tokens[static_cast<std::size_t>(position)]);
    }
    const auto kept = static_cast<std::int64_t>(tokens.size());
    const bool too_far = o_.window > 0 && kept > 0 && std::max<std::int64_t>(0, kept - o_.window + 1) < s.first;
    if (too_far || shares(s, length)) {
      return refused<BadArgument>([&] { (void)cache_.keep(s.id, length, positions); });
    }
    events()["tokens moved"] += !positions.empty();
    cache_.keep(s.id, length, positions);
    s.tokens = tokens;
    if (tokens.empty()) s.first = s.gone = 0;
  }

  std::vector<std::int32_t> table_of(const ModelSequence& s) const {
    KvView view;
    cache_.view({&s.id, 1}, view);
    view.table.resize(static_cast<std::size_t>((view.keys + o_.page_size - 1) / o_.page_size));
    return view.table;
  }

  // Whether another sequence has a page with tokens of this one from a position on.
  bool shares(const ModelSequence& s, std::int64_t position) const {
    if (position == static_cast<std::int64_t>(s.tokens.size())) return false;
    std::vector<std::int32_t> own = table_of(s);
    own.erase(own.begin(), own.begin() + (position / o_.page_size - s.gone));
    return std::ranges::any_of(sequences_, [&](const ModelSequence& other) {
      const auto table = table_of(other);
      return other.id != s.id && std::ranges::find_first_of(table, own) != table.end();
    });
  }

  std::int64_t next_first(const ModelSequence& s) const {
    if (o_.window == 0) return 0;
    return std::max(s.first, static_cast<std::int64_t>(s.tokens.size()) - o_.window + 1);
  }

  // Pages in use if these sequences grew: their tables are gone through, page by page.
  std::int64_t pages_after(const std::vector<std::size_t>& batch, std::int64_t count) const {
    std::map<std::int32_t, int> holders;
    for (const ModelSequence& s : sequences_) {
      for (const std::int32_t page : table_of(s)) ++holders[page];
    }
    RC_ASSERT(cache_.pages_in_use() == static_cast<std::int64_t>(holders.size()));
    std::int64_t fresh = 0;
    for (const std::size_t n : batch) {
      const ModelSequence& s = sequences_[n];
      const std::int64_t leaving = next_first(s) / o_.page_size - s.gone;
      events()["pages given back"] += leaving > 0;
      for (std::int64_t page = 0; page < leaving; ++page) --holders[table_of(s)[static_cast<std::size_t>(page)]];
    }
    for (const std::size_t n : batch) {
      const auto length = static_cast<std::int64_t>(sequences_[n].tokens.size());
      fresh += (length + count + o_.page_size - 1) / o_.page_size - (length + o_.page_size - 1) / o_.page_size;
      if (length % o_.page_size == 0 || holders[table_of(sequences_[n]).back()] == 1) continue;
      --holders[table_of(sequences_[n]).back()];
      ++fresh;
      ++events()["a shared page is copied"];
    }
    return fresh + std::count_if(holders.begin(), holders.end(), [](const auto& page) { return page.second > 0; });
  }

  void append() {
    std::vector<std::size_t> batch;
    for (std::size_t n = 0; n < sequences_.size(); ++n) {
      if (draw(0, 2) > 0) batch.push_back(n);
    }
    std::reverse(batch.begin(), batch.end());
    const std::int64_t kind = draw(0, 4), count = kind < 2 ? 1 : kind < 4 ? draw(0, 40) : draw(40, 200);
    std::vector<SequenceId> ids;
    bool fits = true;
    for (const std::size_t n : batch) {
      const ModelSequence& s = sequences_[n];
      ids.push_back(s.id);
      fits &= o_.max_tokens == 0 || static_cast<std::int64_t>(s.tokens.size()) + count - next_first(s) <= o_.max_tokens;
    }
    const std::int64_t after = pages_after(batch, count);
    events()["a sequence is full"] += !fits;
    events()["the pool is full"] += fits && after > o_.page_count;
    if (!fits || (after > o_.page_count && count > 0))
      return refused<OutOfMemory>([&] { (void)cache_.extend(ids, count); });
    events()["tokens of a batch"] += count > 0 && batch.size() > 1;
    grow(batch, ids, count);
    RC_ASSERT(count == 0 || cache_.pages_in_use() == after);
  }

  void grow(const std::vector<std::size_t>& batch, const std::vector<SequenceId>& ids, std::int64_t count) {
    std::vector<std::vector<std::int64_t>> added(batch.size());
    for (std::size_t b = 0; b < batch.size(); ++b) {
      ModelSequence& s = sequences_[batch[b]];
      if (count > 0) s.first = next_first(s), s.gone = s.first / o_.page_size;
      for (std::int64_t n = 0; n < count; ++n) added[b].push_back(next_token_++);
      s.tokens.insert(s.tokens.end(), added[b].begin(), added[b].end());
    }
    const auto rows = [&](std::int64_t layer, bool is_key, std::int64_t width) {
      std::vector<float> all;
      for (const auto& tokens : added) {
        for (std::int64_t head = 0; head < o_.kv_heads; ++head) {
          for (const std::int64_t token : tokens)
            std::ranges::copy(row_of(token, layer, head, is_key, width), std::back_inserter(all));
        }
      }
      return all;
    };
    if (o_.layers > 1) cache_.extend(ids, count);
    for (std::int64_t layer = 0; layer < o_.layers; ++layer) {
      const auto batches = static_cast<std::int64_t>(batch.size());
      const auto keys = rows(layer, true, o_.key_width), values = rows(layer, false, o_.value_width);
      const TensorView k = dense_view(keys.data(), {batches, o_.kv_heads, count, o_.key_width});
      const TensorView v =
          o_.values_in_keys ? TensorView{} : dense_view(values.data(), {batches, o_.kv_heads, count, o_.value_width});
      o_.layers > 1 ? cache_.write(layer, ids, k, v) : cache_.append(ids, k, v);
    }
  }

  void check() const {
    RC_ASSERT(cache_.sequences_in_use() == static_cast<std::int64_t>(sequences_.size()));
    std::vector<SequenceId> ids;
    for (const ModelSequence& s : sequences_) ids.push_back(s.id);
    const std::int64_t layer = draw(0, o_.layers - 1);
    const Reading reading(cache_, ids, layer);
    for (std::size_t b = 0; b < sequences_.size(); ++b) check_sequence(reading, static_cast<std::int64_t>(b), layer);
  }

  void check_sequence(const Reading& reading, std::int64_t b, std::int64_t layer) const {
    const ModelSequence& s = sequences_[static_cast<std::size_t>(b)];
    const auto length = static_cast<std::int64_t>(s.tokens.size());
    RC_ASSERT(cache_.length(s.id) == length);
    RC_ASSERT(cache_.first_position(s.id) == s.first);
    RC_ASSERT(reading.span(b).key_position == s.gone * o_.page_size);
    RC_ASSERT(reading.span(b).key_count == length - s.gone * o_.page_size);
    for (std::int64_t j = 0; j < reading.span(b).key_count; ++j) {
      const std::int64_t token = s.tokens[static_cast<std::size_t>(reading.span(b).key_position + j)];
      const std::int64_t head = token % o_.kv_heads;
      const auto key = kept_as(o_.dtype, row_of(token, layer, head, true, o_.key_width));
      RC_ASSERT(reading.key(b, head, j) == key);
      if (o_.values_in_keys) continue;
      RC_ASSERT(reading.value(b, head, j) == kept_as(o_.dtype, row_of(token, layer, head, false, o_.value_width)));
    }
  }

  KvCacheOptions o_;
  KvCache cache_;
  std::vector<ModelSequence> sequences_;
  std::int64_t next_token_ = 0;
};

TEST(CacheModel, AgreesWithPlainListsOfTokens) {
  EXPECT_TRUE(rc::check("random operations", [] {
    Model model(any_options());
    const std::int64_t steps = draw(1, 400);
    for (std::int64_t n = 0; n < steps; ++n) model.step();
  }));
  EXPECT_EQ(events().size(), 8u);
  for (const auto& [event, times] : events()) {
    std::cout << "  " << event << ": " << times << '\n';
    EXPECT_GT(times, 0) << event;
  }
}

}  // namespace
}  // namespace sightline::testing
