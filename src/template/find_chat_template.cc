#include "src/template/find_chat_template.h"

#include <map>

#include "src/format/file.h"
#include "src/format/gguf.h"
#include "src/format/json.h"

namespace sightline::jinja {
namespace {

namespace fs = std::filesystem;
using format::JsonObject;

constexpr std::size_t kMaxTemplate = std::size_t{1} << 20;
constexpr std::string_view kDefault = "default", kGgufKey = "tokenizer.chat_template";

struct Source {
  std::string text, where;
};
using Sources = std::map<std::string, Source>;  // by name

// A token of tokenizer_config.json: its text, or an object with it.
std::optional<std::string> token_of(const JsonObject& config, std::string_view key) {
  if (!config.has(key)) return std::nullopt;
  const auto& value = config.value().at(std::string(key));
  if (value.is_object()) return config.require_object(key).require_string("content");
  return config.require_string(key);
}

// `chat_template` of a JSON file: one text, or a list of {"name", "template"}.
void add_from_json(const JsonObject& config, Sources& sources) {
  if (!config.has("chat_template")) return;
  const auto& value = config.value().at("chat_template");
  if (!value.is_array()) {
    sources[std::string(kDefault)] = {config.require_string("chat_template"), config.name()};
    return;
  }
  for (const auto& entry : value) {
    const JsonObject named(entry, config.name(), "chat_template");
    const std::string& name = named.require_string("name");
    sources[name] = {named.require_string("template"), config.name() + "[" + format::quote(name) + "]"};
  }
}

void add_from_files(const fs::path& directory, Sources& sources) {
  const fs::path main = directory / "chat_template.jinja";
  if (format::is_present(main)) {
    sources[std::string(kDefault)] = {format::read_regular_file(main, kMaxTemplate), main.string()};
  }
  const fs::path more = directory / "additional_chat_templates";
  if (!format::is_directory(more)) return;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(more, error)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".jinja") continue;
    sources[path.stem().string()] = {format::read_regular_file(path, kMaxTemplate), path.string()};
  }
  if (error) throw BadFile(more.string() + ": " + error.message());
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + format::quote(name);
  return text;
}

// What a model brings along.
struct Found {
  Sources sources;
  std::optional<std::string> bos_token, eos_token;
};

[[noreturn]] void refuse_name(const Found& found, std::string_view name, const fs::path& model) {
  std::vector<std::string> names;
  for (const auto& [known, source] : found.sources) names.push_back(known);
  std::string message = model.string() + ": ";
  if (name.empty()) {
    message += "several chat templates, and none is the default";
  } else {
    message += "no chat template named " + format::quote(name) + ", and no such file";
  }
  if (!names.empty()) message.append("; there are ").append(list_of(names));
  throw BadArgument(message);
}

std::optional<ModelChat> choose(const Found& found, std::string_view name, const fs::path& model) {
  const Sources& sources = found.sources;
  if (sources.empty() && name.empty()) return std::nullopt;
  ModelChat chat;
  chat.bos_token = found.bos_token;
  chat.eos_token = found.eos_token;
  for (const auto& [known, source] : sources) chat.names.push_back(known);
  const auto wanted = sources.find(std::string(name.empty() ? kDefault : name));
  if (wanted != sources.end() || (name.empty() && sources.size() == 1)) {
    const auto& [known, source] = wanted != sources.end() ? *wanted : *sources.begin();
    chat.name = known;
    chat.chat_template = ChatTemplate::parse(source.text, source.where);
    return chat;
  }
  const fs::path file(name);
  if (name.empty() || !format::is_present(file)) refuse_name(found, name, model);
  chat.name = name;
  chat.chat_template = ChatTemplate::parse(format::read_file(file, kMaxTemplate), file.string());
  return chat;
}

std::optional<std::string> gguf_token(const format::GgufMetadata& metadata, std::string_view key) {
  const auto tokens = metadata.find_strings("tokenizer.ggml.tokens");
  if (!tokens || tokens->empty()) return std::nullopt;
  const auto id = metadata.find_int(key, 0, static_cast<std::int64_t>(tokens->size()) - 1);
  return id ? std::optional<std::string>((*tokens)[*id]) : std::nullopt;
}

Found find_in_gguf(const fs::path& path) {
  const format::GgufFile file = format::GgufFile::open(path);
  const format::GgufMetadata& metadata = file.metadata();
  Found found;
  for (const std::string& key : metadata.keys()) {
    if (!key.starts_with(kGgufKey)) continue;
    const std::string rest = key.substr(kGgufKey.size());
    if (!rest.empty() && (rest[0] != '.' || rest.size() == 1)) continue;  // tokenizer.chat_templates lists names
    const std::string known = rest.empty() ? std::string(kDefault) : rest.substr(1);
    const std::string where = metadata.name() + " (" + format::quote(key) + ")";
    found.sources[known] = {std::string(metadata.require_string(key)), where};
  }
  found.bos_token = gguf_token(metadata, "tokenizer.ggml.bos_token_id");
  found.eos_token = gguf_token(metadata, "tokenizer.ggml.eos_token_id");
  return found;
}

Found find_in_directory(const fs::path& directory) {
  Found found;
  add_from_files(directory, found.sources);
  const fs::path config_path = directory / "tokenizer_config.json";
  if (format::is_present(config_path)) {
    const auto json = format::read_json(config_path);
    const JsonObject config(json, config_path.string());
    found.bos_token = token_of(config, "bos_token");
    found.eos_token = token_of(config, "eos_token");
    if (found.sources.empty()) add_from_json(config, found.sources);
  }
  const fs::path processor_path = directory / "chat_template.json";
  if (found.sources.empty() && format::is_present(processor_path)) {
    const auto json = format::read_json(processor_path);
    add_from_json(JsonObject(json, processor_path.string()), found.sources);
  }
  return found;
}

}  // namespace

std::optional<ModelChat> find_chat_template(const fs::path& model, std::string_view name) {
  return choose(format::is_gguf(model) ? find_in_gguf(model) : find_in_directory(model), name, model);
}

}  // namespace sightline::jinja
