#include <fmt/format.h>

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

#include "src/format/file.h"
#include "src/format/json.h"
#include "src/format/ordered_json.h"
#include "src/template/chat_template.h"
#include "tools/conform/suites.h"

namespace sightline::conform {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

std::string ascii(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// "2025-03-09T08:05:07", with its day of the week.
std::tm read_time(const std::string& text) {
  std::tm time{};
  std::istringstream(text) >> std::get_time(&time, "%Y-%m-%dT%H:%M:%S");
  const std::time_t seconds = timegm(&time);
  gmtime_r(&seconds, &time);
  return time;
}

// The text; or what raise_exception was given, as {"error": ...}; of other errors only that there is one.
Json render(const jinja::ChatTemplate& chat, const Json& test, const std::tm& now) {
  jinja::ChatOptions options;
  options.add_generation_prompt.reset();
  options.extra = test.at("kwargs");
  options.now = now;
  try {
    return chat.render(test.at("messages"), options);
  } catch (const jinja::TemplateRefusal& refusal) {
    return {{"error", refusal.text()}};
  } catch (const BadArgument&) {
    return {{"error", nullptr}};
  }
}

Json expected_of(const Json& test) {
  if (test.contains("expected")) return test.at("expected");
  const Json& error = test.at("error");
  return {{"error", error.at("type") == "TemplateError" ? error.at("message") : Json(nullptr)}};
}

// The conversation, and how often it stands in the file before: each is there with several settings.
std::string case_name(const Json& test, std::vector<std::string>& seen) {
  const std::string name = fmt::format("{}/{}", fs::path(test.at("template").get<std::string>()).stem().string(),
                                       test.at("conversation").get<std::string>());
  seen.push_back(name);
  return fmt::format("{}/{}", name, std::count(seen.begin(), seen.end(), name));
}

void run_case(const fs::path& folder, const Json& test, const std::tm& now) {
  const fs::path path = folder / test.at("template").get<std::string>();
  const auto chat = jinja::ChatTemplate::parse(format::read_file(path, kMaxBytes), path.string());
  const Json got = render(chat, test, now), expected = expected_of(test);
  if (got != expected) throw Mismatch(fmt::format("expected {}, got {}", ascii(expected.dump()), ascii(got.dump())));
}

}  // namespace

void run_chat_templates(Context& context, const fs::path& index, const std::string& prefix) {
  const fs::path folder = index.parent_path();
  const auto content = format::read_json(index);
  const std::tm now = read_time(content.at("now").get<std::string>());
  std::istringstream lines(format::read_file(folder / content.at("cases").get<std::string>(), kMaxBytes));
  std::vector<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    const Json test = format::parse_ordered_json(line, "cases.jsonl");
    context.recorder.run(prefix + "/" + case_name(test, seen), [&] { run_case(folder, test, now); });
  }
}

}  // namespace sightline::conform
