#include "cli/chat_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <utility>

#include "cli/generation_run.h"
#include "cli/interrupt.h"
#include "cli/message_reader.h"
#include "cli/prompt_input.h"
#include "cli/view.h"
#include "src/format/file.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHelp =
    "/reset      begin the conversation anew\n"
    "/save FILE  write it as JSON, as --messages reads it\n"
    "/quit       end, as does Ctrl-D\n"
    "Ctrl-C ends an answer. A backslash at a line's end goes on with the next line;\n"
    "a message that begins with a slash is typed with two.\n";

void require_chat_options(const Options& options) {
  const auto refuse = [](bool given, const char* what) {
    if (given) throw UsageError(fmt::format("{} is of one text, and a conversation has many: leave it out", what));
  };
  refuse(!options.output.empty(), "--output");
  refuse(!options.save_state.empty(), "--save-state (/save FILE keeps the messages)");
  refuse(!options.load_state.empty(), "--load-state");
  if (options.special) throw UsageError("in a conversation nothing spells a special token: leave --special out");
  if (options.text == "-" || options.file == "-" || options.messages == "-") {
    throw UsageError("with --chat standard input holds the messages: name a file, or leave the - out");
  }
}

Json message_of(const char* role, std::string content) {
  Json message;
  message["role"] = role;
  message["content"] = std::move(content);
  return message;
}

// What is there before anything is said: --messages, or nothing, and before it --system.
Json conversation_of(const Options& options) {
  Json conversation = Json::array();
  if (!options.messages.empty()) conversation = read_conversation(options);
  if (!options.system) return conversation;
  Json& messages = conversation.is_object() ? conversation["messages"] : conversation;
  if (!messages.empty() && messages.front().at("role") == "system") {
    throw UsageError(fmt::format("{} has a system message: leave --system out", options.messages));
  }
  messages.insert(messages.begin(), message_of("system", *options.system));
  return conversation;
}

// A conversation as it goes on.
class ChatLoop {
 public:
  ChatLoop(const Options& options, const engine::Session& session)
      : options_(options),
        session_(session),
        chat_(session.chat(options.chat_template)),
        begun_(conversation_of(options)),
        segments_(read_segments(options)),
        conversation_(begun_),
        how_(generation_options(options, progress_.emplace())) {
    progress_.reset();
    if (options.temperature > 0) write_note(fmt::format("seed {}", how_.sampling.seed));
  }

  void run() {
    if (reader_.is_terminal()) std::fputs("/help lists what can be typed beside messages.\n", stderr);
    if (!messages().empty() && messages().back().at("role") == "user") attempt([this] { respond(); });
    if (options_.text || !options_.file.empty()) attempt([this] { say(read_text(options_)); });
    while (!quit_ && attempt([this] { take_line(); })) {
    }
    if (failed_ > 0 && !reader_.is_terminal()) {
      throw BadArgument(fmt::format("messages without an answer: {}; the lines above say why", failed_));
    }
  }

 private:
  Json& messages() { return conversation_.is_object() ? conversation_["messages"] : conversation_; }

  // Errors are said, and the conversation goes on. False at the end of the input.
  template <class Do>
  bool attempt(const Do& act) {
    try {
      act();
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (interrupting_signal()) throw;
      ++failed_;
      write_note(error.what());
    }
    return !ended_;
  }

  void take_line() {
    std::optional<std::string> line;
    try {
      line = reader_.next();
    } catch (const Interrupted&) {
      if (reader_.is_terminal()) std::fputs("\n", stderr);  // after the prompt
      throw;
    } catch (const BadFile&) {
      ended_ = true;
      throw;
    }
    if (!line) {
      ended_ = true;
      if (reader_.is_terminal()) std::fputs("\n", stderr);
      return;
    }
    if (line->starts_with("//")) return say(line->substr(1));
    if (line->starts_with('/')) return obey(*line);
    if (line->find_first_not_of(" \t\n") != std::string::npos) say(std::move(*line));
  }

  void obey(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string command = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(line.find_last_of(' ', space) + 1);
    if (command == "/quit" && rest.empty()) {
      quit_ = true;
    } else if (command == "/reset" && rest.empty()) {
      conversation_ = begun_;
    } else if (command == "/help") {
      std::fwrite(kHelp.data(), 1, kHelp.size(), stderr);
    } else if (command == "/save" && !rest.empty()) {
      save(rest);
    } else {
      throw BadArgument(
          fmt::format("there is no {}: /help lists what there is; a message with a slash first has two", line));
    }
  }

  void save(const std::string& path) {
    format::AtomicFile file(path);
    file.write(conversation_.dump(2) + "\n");
    file.commit();
    write_note(fmt::format("{} messages are in {}", messages().size(), path));
  }

  // A message that ends in an error is taken back.
  void say(std::string message) {
    if (!tokenizer::is_utf8(message)) throw BadArgument("the message is not UTF-8: it was passed over");
    const Json before = conversation_;
    messages().push_back(message_of("user", std::move(message)));
    try {
      respond();
    } catch (const Error&) {
      conversation_ = before;
      throw;
    }
  }

  engine::PromptedGeneration begin_answer() {
    engine::Prompt prompt = chat_.prompt(conversation_, /*add_generation_prompt=*/true);
    name_parts(prompt, segments_, options_);
    if (!state_) return session_.generate(prompt, how_, options_.knock_outs);
    model::GenerationState state = std::move(*state_);
    state_.reset();  // whatever becomes of it
    return session_.generate(prompt, how_, std::move(state));
  }

  void respond() {
    progress_.emplace();
    how_.progress = &*progress_;
    engine::PromptedGeneration prompted = begin_answer();
    RunRecord record(options_, session_.model(), prompted, how_);
    const auto output = make_generation_output(options_, session_.model(), prompted, record);
    progress_->show_on(*output);
    try {
      stream(prompted.generation, *output, record, *progress_, /*wants_state=*/false);
    } catch (const Interrupted& stop) {
      if (stop.signal != SIGINT) throw;
      take_interrupt();  // it has ended the answer
    } catch (const Error&) {
      keep(prompted.generation);
      throw;
    }
    if (!options_.json && !options_.watch && !isatty(STDOUT_FILENO)) write_output("\n");
    messages().push_back(message_of("assistant", prompted.generation.text()));
    keep(prompted.generation);
  }

  // What the next answer goes on from: nothing where keys were dropped or edges knocked out, which has no state.
  void keep(model::Generation& generation) {
    if (options_.drop.empty() && options_.knock_outs.empty()) state_ = generation.take_state();
  }

  const Options& options_;
  const engine::Session& session_;
  const engine::Chat chat_;
  const Json begun_;
  const std::vector<engine::NamedText> segments_;
  Json conversation_;
  std::optional<PromptProgress> progress_;
  model::GenerationOptions how_;
  std::optional<model::GenerationState> state_;
  MessageReader reader_;
  bool quit_ = false, ended_ = false;
  int failed_ = 0;
};

}  // namespace

void run_chat(const Options& options) {
  require_chat_options(options);
  const engine::Session session = open_session(options);
  engine::require_maps(session.model(), {options.layer, options.head});
  const WritingScope until_asked;  // Ctrl-C ends an answer, and between answers the program
  ChatLoop(options, session).run();
}

}  // namespace sightline::cli
