// Cases of files: safetensors, checkpoints in shards, half-precision numbers.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "sightline/error.h"
#include "src/format/checkpoint.h"
#include "tools/conform/case_values.h"
#include "tools/conform/peak_memory.h"
#include "tools/conform/reports.h"
#include "tools/conform/temporary_directory.h"

namespace sightline::conform {
namespace {

using format::Checkpoint;
using format::GgufFile;
using format::SafetensorsFile;
using format::Tensor;
using nlohmann::json;

// Of every refusal, whatever the file claims to hold.
constexpr std::chrono::milliseconds kRefusalTime{100};

// The message of the BadFile that `action` throws.
template <class Action>
std::string refusal(const std::string& what, const Action& action) {
  try {
    action();
  } catch (const BadFile& error) {
    return error.what();
  }
  throw Mismatch(what + ": expected BadFile, got no error");
}

void expect_names(const std::string& what, const std::string& message, const std::string& name) {
  expect(message.find(name) != std::string::npos,
         fmt::format("{}: expected a message that names {}, got: {}", what, name, message));
}

// "error naming tensor t": every message has the name, quoted, alone or before the name of a field ("t.shape").
void expect_tensor_named(const std::string& what, const std::string& message, const json& rule) {
  constexpr std::string_view kNaming = "error naming tensor ";
  const std::string text = rule.get<std::string>();
  if (!text.starts_with(kNaming)) return;
  const std::string name = '"' + text.substr(kNaming.size());
  if (message.find(name + '.') == std::string::npos) expect_names(what, message, name + '"');
}

// A word that the file holds is to be in its message; other words are to be in all messages.
void expect_words(const std::string& what, const std::string& message, const json& words, std::string_view all_files,
                  std::string_view file) {
  for (const std::string word : words) {
    const bool of_some_file = all_files.find(word) != std::string_view::npos;
    if (!of_some_file || file.find(word) != std::string_view::npos) expect_names(what, message, word);
  }
}

// Each file is refused by `parse`, within the bounds that the report gives.
template <class Parse>
void check_refused(const Report& report, const Parse& parse) {
  std::string all_files;
  for (const json& file : report.given.at("files")) {
    const auto bytes = decode_base64(file.at("bytes_base64"));
    all_files.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  for (const json& file : report.given.at("files")) {
    const std::string name = file.at("name");
    const auto bytes = decode_base64(file.at("bytes_base64"));
    expect(bytes.size() == file.at("size"), name + ": the case file is not whole");
    std::string message;
    const auto begin = std::chrono::steady_clock::now();
    const auto extra = peak_memory([&] { message = refusal(name, [&] { parse(bytes, name); }); });
    expect(std::chrono::steady_clock::now() - begin < kRefusalTime, name + ": took too long");
    expect_tensor_named(name, message, report.expected.at("all"));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (report.expected.contains("message_contains")) {
      expect_words(name, message, report.expected.at("message_contains"), all_files, text);
    }
    if (extra && report.expected.contains("peak_extra_memory_bytes_below")) {
      expect(*extra < report.expected.at("peak_extra_memory_bytes_below").get<std::int64_t>(),
             fmt::format("{}: took {} bytes of memory", name, *extra));
    }
  }
}

void run_reject(const Report& report) {
  check_refused(report, [](const auto& bytes, const auto& name) { SafetensorsFile::parse(bytes, name); });
}

// "error naming the key or tensor": the message holds, quoted, a name that stands in the file.
void expect_name_of_file(const std::string& message, const std::vector<std::byte>& bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t begin = message.find('"') + 1, end = message.find('"', begin);
  const bool quotes = begin != 0 && end != message.npos && end > begin;
  expect(quotes && file.find(message.substr(begin, end - begin)) != file.npos, "no name of the file in: " + message);
}

void run_gguf_reject(const Report& report) {
  const bool named = report.expected.at("all") == "error naming the key or tensor";
  check_refused(report, [named](const auto& bytes, const auto& name) {
    try {
      GgufFile::parse(bytes, name);
    } catch (const BadFile& error) {
      if (named) expect_name_of_file(error.what(), bytes);
      throw;
    }
  });
}

void run_gguf_accept(const Report& report) {
  for (const json& file : report.given.at("files")) {
    const std::string name = file.at("name");
    const auto bytes = decode_base64(file.at("bytes_base64"));
    const GgufFile parsed = GgufFile::parse(bytes, name);
    for (const auto& [tensor_name, value] : report.expected.at(name).items()) {
      const Tensor& tensor = parsed.tensors().at(tensor_name);
      const json& numbers = value.is_array() ? value : value.at("data");
      Array wanted{tensor.shape, numbers.get<std::vector<double>>()};
      if (value.contains("rows_x_cols")) wanted.shape = value.at("rows_x_cols").get<Shape>();
      if (value.contains("type")) expect(dtype_name(tensor.dtype) == value.at("type"), tensor_name + ": another type");
      const auto wide = format::to_f32(tensor);
      expect_close(tensor_name, {tensor.shape, {wide.begin(), wide.end()}}, wanted, {0, 1e-12});
    }
  }
}

void run_accept(const Report& report) {
  const auto bytes = decode_base64(report.given.at("bytes_base64"));
  const auto file = SafetensorsFile::parse(bytes, "case");
  for (const auto& [name, expected] : report.expected.items()) {
    const Tensor& tensor = file.at(name);
    Array got = to_array(tensor);
    if (tensor.dtype == DType::f16 || tensor.dtype == DType::bf16) {
      const auto wide = format::to_f32(tensor);
      got.values.assign(wide.begin(), wide.end());
    }
    Array wanted{got.shape, {}};
    for (const json& value : expected) {
      wanted.values.push_back(value.is_boolean() ? value.get<bool>() : case_number(value));
    }
    expect_close(name, got, wanted, {0, 1e-12});  // the file writes 13 digits
  }
}

float widened(std::uint16_t bits) {
  std::byte bytes[2];
  std::memcpy(bytes, &bits, 2);
  return format::to_f32({DType::f16, {1}, bytes}).at(0);
}

// 1 sign bit, 5 of exponent, 10 of mantissa.
double f16_by_rule(unsigned bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) value = mantissa == 0 ? INFINITY : NAN;
  return bits & 0x8000 ? -value : value;
}

void run_decode_f16(const Report& report) {
  const auto& patterns = report.given.at("bits_hex");
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto bits = static_cast<std::uint16_t>(std::stoul(patterns.at(i).get<std::string>(), nullptr, 16));
    expect_close(patterns.at(i).get<std::string>(), {{1}, {widened(bits)}},
                 {{1}, {case_number(report.expected.at("f32").at(i))}}, {0, 1e-12});
  }
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double got = widened(static_cast<std::uint16_t>(bits)), expected = f16_by_rule(bits);
    const bool same =
        std::isnan(expected) ? std::isnan(got) : got == expected && std::signbit(got) == std::signbit(expected);
    expect(same, fmt::format("pattern {:04X}: expected {}, got {}", bits, expected, got));
  }
}

void write_files(const TemporaryDirectory& directory, const json& files) {
  for (const auto& [name, content] : files.items()) {
    const std::string text = content;
    if (name.ends_with(".json")) {
      directory.put(name, text);
    } else {
      const auto bytes = decode_base64(text);
      directory.put(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
}

std::string last_shard(const json& files) {
  std::string last;
  for (const auto& [name, content] : files.items()) {
    if (name.ends_with(".safetensors")) last = std::max(last, name);
  }
  return last;
}

void check_tensors(Checkpoint checkpoint, const json& expected) {
  for (const auto& [name, values] : expected.items()) {
    const Array got = to_array(checkpoint.at(name));
    expect_close(name, got, {got.shape, values.get<std::vector<double>>()}, {});
  }
}

void run_checkpoints(Context& context, const Report& report) {
  constexpr std::string_view kNaming = "error naming ";
  for (const json& entry : report.given.at("dirs")) {
    const std::string name = entry.at("name");
    context.recorder.run(report.name + "/" + name, [&] {
      const TemporaryDirectory directory;
      write_files(directory, entry.at("files"));
      const json& expected = report.expected.at(name);
      if (expected.is_object()) return check_tensors(Checkpoint::open(directory.path()), expected);
      const std::string message = refusal(name, [&] { Checkpoint::open(directory.path()); });
      std::string named = expected.get<std::string>().substr(kNaming.size());
      if (named == "the shard") named = last_shard(entry.at("files"));  // which is the one cut short
      expect_names(name, message, named);
    });
  }
}

constexpr ReportKind kKinds[] = {
    {"safetensors_reject", nullptr, run_reject}, {"safetensors_accept", nullptr, run_accept},
    {"gguf_reject", nullptr, run_gguf_reject},   {"gguf_accept", nullptr, run_gguf_accept},
    {"decode_f16", nullptr, run_decode_f16},     {"checkpoint_dirs", nullptr, nullptr, run_checkpoints},
};

}  // namespace

std::span<const ReportKind> format_kinds() { return kKinds; }

}  // namespace sightline::conform
