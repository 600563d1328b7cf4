// A decoder's prefill, everything observed, for bench/models.py: one thread, process CPU time.
//
//   model_bench MODEL [--fast] [--plain] [--threads N] [--wall]
//
// says what it is, in a line of JSON, and reads lines "IDS LOGITS": files of 32-bit token ids and for the fp32 logits
// after the last one (- for none). Each is answered by the seconds of one pass through an empty context.
//
//   model_bench MODEL --context C --decode N [--watch] [--halves] [--threads N] [--wall]
//
// The first C ids of the first line's file are the context, and each line, the first too, is answered by the seconds
// of a token when the next N of that file follow one by one. --watch: observed as a generation that is watched, in
// four segments. --halves: the cache keeps f16. --wall: seconds of the clock, not of the process.
//
//   model_bench MODEL --first IDS LOGITS
//
// says once, as JSON, what it took from the program's start to the first logits, opening the tokenizer and the model
// included, and what was resident then.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/limits.h"
#include "sightline/tokenizer.h"
#include "sightline/transformer.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"
#include "src/format/checkpoint.h"
#include "src/format/gguf.h"
#include "src/generation/step_observer.h"

namespace sightline::bench {
namespace {

constexpr int kTop = 4;
constexpr std::int64_t kOffsets[] = {-1, 0, 1};
constexpr std::int32_t kSegments = 2;
constexpr std::int64_t kContext = 4096;  // tokens, as generation has it by default

// What a look has the pass observe, of one layer: [heads, rows, ...] each.
struct LayerRecord {
  std::vector<float> row_max, row_sum, lse, entropy, position, distance, offset_mass, segment_mass, key_mass,
      top_weight;
  std::vector<std::int32_t> top_index;

  void resize(std::int64_t heads, std::int64_t rows, std::int64_t keys) {
    const auto count = static_cast<std::size_t>(heads * rows);
    for (auto* values : {&row_max, &row_sum, &lse, &entropy, &position, &distance}) values->resize(count);
    offset_mass.resize(count * std::size(kOffsets));
    segment_mass.resize(count * kSegments);
    key_mass.resize(static_cast<std::size_t>(heads * keys));
    top_weight.resize(count * kTop);
    top_index.resize(count * kTop);
  }
};

class Everything : public model::AttentionObserver {
 public:
  explicit Everything(std::size_t tokens) : segments_(tokens, 1) { segments_.front() = 0; }

  Observations request(const model::LayerAttention& call) override {
    LayerRecord& record = records_[call.layer];
    record.resize(call.problem.q.shape[1], call.problem.q.shape[2], static_cast<std::int64_t>(segments_.size()));
    Observations see;
    see.row_max = record.row_max.data();
    see.row_sum = record.row_sum.data();
    see.lse = record.lse.data();
    see.entropy = record.entropy.data();
    see.position = record.position.data();
    see.distance = record.distance.data();
    see.top_k = kTop;
    see.topk_index = record.top_index.data();
    see.topk_weight = record.top_weight.data();
    see.offsets = kOffsets;
    see.offset_mass = record.offset_mass.data();
    see.key_mass = record.key_mass.data();
    see.segment_of_key = segments_;
    see.segments = kSegments;
    see.segment_mass = record.segment_mass.data();
    return see;
  }
  void done(const model::LayerAttention&) override {}

 private:
  std::vector<std::int32_t> segments_;  // of each key: the first token, and the text
  std::map<int, LayerRecord> records_;
};

template <class T>
std::vector<T> read_numbers(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file || bytes.empty()) throw std::runtime_error("cannot read " + path);
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

void write_logits(const std::string& path, const std::vector<float>& logits) {
  if (path == "-") return;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
}

struct Arguments {
  std::string model, first_ids, first_logits;
  bool fast = false, plain = false, watch = false, halves = false, wall = false;
  int decode = 0, context = 0, threads = 1;
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  const std::map<std::string, bool*> flags = {{"--fast", &arguments.fast},
                                              {"--plain", &arguments.plain},
                                              {"--watch", &arguments.watch},
                                              {"--halves", &arguments.halves},
                                              {"--wall", &arguments.wall}};
  const std::map<std::string, int*> numbers = {
      {"--decode", &arguments.decode}, {"--context", &arguments.context}, {"--threads", &arguments.threads}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto flag = flags.find(words[i]); flag != flags.end()) {
      *flag->second = true;
    } else if (const auto number = numbers.find(words[i]); number != numbers.end() && i + 1 < words.size()) {
      *number->second = std::stoi(words[++i]);
    } else if (words[i] == "--first" && i + 2 < words.size()) {
      arguments.first_ids = words[++i];
      arguments.first_logits = words[++i];
    } else if (arguments.model.empty()) {
      arguments.model = words[i];
    } else {
      throw std::runtime_error("unexpected " + words[i]);
    }
  }
  if (arguments.model.empty() || (arguments.decode > 0) != (arguments.context > 0)) {
    throw std::runtime_error(
        "model_bench MODEL [--fast] [--plain] [--context C --decode N [--watch] [--halves]] [--threads N] [--wall] "
        "[--first IDS LOGITS]");
  }
  return arguments;
}

model::ForwardOptions forward_options(const Arguments& arguments) {
  model::ForwardOptions options;
  options.threads = arguments.threads;
  options.logits = model::LogitRows::last;
  options.precision = arguments.fast ? Precision::fast : Precision::exact;
  return options;
}

std::vector<float> prefill(const model::Transformer& transformer, const Arguments& arguments, model::Context& context,
                           const std::vector<std::int32_t>& ids) {
  Everything everything(ids.size());
  model::ForwardOptions options = forward_options(arguments);
  if (!arguments.plain) options.observer = &everything;
  context.truncate(0);
  const model::TokenSequence sequence{ids, {}, &context};
  return transformer.forward({&sequence, 1}, options).logits;
}

double seconds_now(const Arguments& arguments) {
  if (!arguments.wall) return sightline_process_seconds();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Tokens that follow one by one on a context.
class Decoder {
 public:
  Decoder(const model::Transformer& transformer, const Arguments& arguments, std::vector<std::int32_t> ids)
      : transformer_(transformer),
        arguments_(arguments),
        ids_(std::move(ids)),
        context_(transformer.make_context(std::ssize(ids_), cache_of(arguments))),
        observer_(transformer.config(), {}, std::ssize(ids_), model::MassSums(), 0) {
    for (std::size_t i = 0; i < ids_.size(); ++i)
      segments_.push_back(static_cast<std::int32_t>(kParts * i / ids_.size()));
    advance(arguments.context, nullptr);
  }

  // Seconds of each of the next tokens.
  double run() {
    double seconds = 0;
    cpu::with_team(arguments_.threads, [&] {
      const double start = seconds_now(arguments_);
      for (int n = 0; n < arguments_.decode; ++n) step();
      seconds = (seconds_now(arguments_) - start) / arguments_.decode;
    });
    return seconds;
  }
  const std::vector<float>& logits() const { return logits_; }

 private:
  static constexpr std::int32_t kParts = 4;

  static model::ContextOptions cache_of(const Arguments& arguments) {
    return arguments.halves ? model::ContextOptions{DType::f16, DType::f16} : model::ContextOptions{};
  }

  void step() {
    if (arguments_.watch) {
      observer_.begin(1, std::span(segments_).first(context_.length() + 1), kParts, /*newest=*/true);
    }
    advance(1, arguments_.watch ? &observer_ : nullptr);
  }

  void advance(std::int64_t count, model::AttentionObserver* observer) {
    if (context_.length() + count > std::ssize(ids_)) throw std::runtime_error("no ids are left");
    const auto ids = std::span(ids_).subspan(context_.length(), count);
    const model::TokenSequence sequence{ids, {}, &context_};
    model::ForwardOptions options = forward_options(arguments_);
    options.observer = observer;
    logits_ = transformer_.forward({&sequence, 1}, options).logits;
  }

  const model::Transformer& transformer_;
  const Arguments& arguments_;
  std::vector<std::int32_t> ids_, segments_;
  model::Context context_;
  model::StepObserver observer_;
  std::vector<float> logits_;
};

// Bytes of all tensors: what a token reads once, where the model has no experts and its word embedding is tied.
double weight_bytes(const std::string& path) {
  format::Checkpoint checkpoint = format::Checkpoint::open(path);
  double bytes = 0;
  for (const std::string& name : checkpoint.names()) bytes += static_cast<double>(checkpoint.at(name).bytes.size());
  return bytes;
}

void serve(const Arguments& arguments) {
  const auto transformer = model::Transformer::load(arguments.model);
  std::printf(R"({"about": "Sightline, target %s", "weights": %.0f})"
              "\n",
              cpu::chosen_target().c_str(), weight_bytes(arguments.model));
  std::fflush(stdout);
  std::string ids_file, logits_file;
  std::optional<Decoder> decoder;
  while (std::cin >> ids_file >> logits_file) {
    if (arguments.decode > 0) {
      if (!decoder) decoder.emplace(transformer, arguments, read_numbers<std::int32_t>(ids_file));
      const double seconds = decoder->run();
      write_logits(logits_file, decoder->logits());
      std::cout << seconds << std::endl;
      continue;
    }
    const auto ids = read_numbers<std::int32_t>(ids_file);
    auto context = transformer.make_context(std::ssize(ids));
    const double start = seconds_now(arguments);
    const auto logits = prefill(transformer, arguments, context, ids);
    const double seconds = seconds_now(arguments) - start;
    write_logits(logits_file, logits);
    std::cout << seconds << std::endl;
  }
}

// Bytes of a line of /proc/self/status, which gives kB.
double status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(name + ":")) return 1024 * std::stod(line.substr(name.size() + 1));
  }
  throw std::runtime_error("no " + name + " in /proc/self/status");
}

tokenizer::Tokenizer open_tokenizer(const std::filesystem::path& model) {
  if (std::filesystem::is_directory(model)) return tokenizer::Tokenizer::load(model / "tokenizer.json");
  return tokenizer::Tokenizer::from_gguf(format::GgufFile::open(model).metadata());
}

void first_logits(const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ids = read_numbers<std::int32_t>(arguments.first_ids);
  open_tokenizer(arguments.model).encode("a prompt of some words");  // is part of the way, whatever the ids
  const double opened = sightline_process_seconds();
  const auto transformer = model::Transformer::load(arguments.model);
  auto context = transformer.make_context(std::min(transformer.config().max_positions, kContext));
  const auto logits = prefill(transformer, arguments, context, ids);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf(R"({"seconds": %.4f, "tokenizer": %.4f, "wall": %.4f, "resident": %.0f, "cache": %lld})"
              "\n",
              sightline_process_seconds(), opened, wall.count(), status_bytes("VmHWM"),
              static_cast<long long>(context.bytes()));
  write_logits(arguments.first_logits, logits);
}

}  // namespace
}  // namespace sightline::bench

int main(int argc, char** argv) {
  using namespace sightline::bench;
  try {
    const Arguments arguments = parse({argv + 1, argv + argc});
    arguments.first_ids.empty() ? serve(arguments) : first_logits(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_bench: %s\n", error.what());
    return 1;
  }
}
