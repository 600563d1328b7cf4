#include "src/engine/chat.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sightline/error.h"
#include "src/engine/answer.h"
#include "src/engine/testing.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

using format::error_of;
using Json = nlohmann::ordered_json;
using List = std::vector<TextSegment>;

// A chat with this template, and the tokens "[BOS]" and "[END]".
class ChatTest : public ::testing::Test {
 protected:
  Chat chat(const std::string& source) {
    std::ofstream(directory_.path() / "chat_template.jinja") << source;
    std::ofstream(directory_.path() / "tokenizer_config.json") << R"({"bos_token": "[BOS]", "eos_token": "[END]"})";
    return Chat::open(directory_.path(), "");
  }
  format::TestDirectory directory_;
};

constexpr const char* kPlainTemplate =
    "{% for m in messages %}{{ bos_token if loop.first }}{{ m.role }}: {{ m.content | trim }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";

std::string named_parts(const Prompt& prompt) {
  std::string parts;
  for (const auto& [name, begin, end] : prompt.segments) {
    parts += "<" + name + "|" + prompt.text.substr(begin, end - begin) + ">";
  }
  return parts;
}

TEST_F(ChatTest, NamesMessagesByTheirRoles) {
  const Json messages = {{{"role", "system"}, {"content", " Be brief. "}},
                         {{"role", "user"}, {"content", "Hi é"}},
                         {{"role", "assistant"}, {"content", "Yes?"}},
                         {{"role", "user"}, {"content", ""}},
                         {{"role", "user"}, {"content", "Bye"}}};
  const Prompt prompt = chat(kPlainTemplate).prompt(messages, true);
  EXPECT_TRUE(prompt.special);
  EXPECT_FALSE(prompt.add_special);
  EXPECT_EQ(named_parts(prompt),
            "<template|[BOS]system: ><system|Be brief.><template|[END]user: ><user|Hi é><template|[END]assistant: >"
            "<assistant|Yes?><template|[END]user: [END]user: ><user 3|Bye><template|[END]assistant:>");
  ASSERT_EQ(prompt.answers.size(), 1U);
  EXPECT_EQ(prompt.text.substr(prompt.answers[0].begin, prompt.answers[0].end - prompt.answers[0].begin), "Yes?");
  EXPECT_FALSE(chat(kPlainTemplate).prompt(messages, false).text.ends_with("assistant:"));
}

TEST_F(ChatTest, GivesRolesThatAreOtherSegmentsNamesANumber) {
  const Json messages = {{{"role", "text"}, {"content", "a"}},
                         {{"role", "user 2"}, {"content", "b"}},
                         {{"role", "user"}, {"content", "c"}},
                         {{"role", "user"}, {"content", "d"}}};
  EXPECT_EQ(named_parts(chat("{% for m in messages %}{{ m.content }}{% endfor %}").prompt(messages, true)),
            "<text 1|a><user 2|b><user|c><user 3|d>");
}

TEST_F(ChatTest, OnlyWhatTheTemplateSaysIsAControlToken) {
  const auto plain_parts = [&](const char* messages) {
    const Chat spelling = chat("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}");
    const Prompt prompt = spelling.prompt(Json::parse(messages), false);
    std::vector<std::string> parts;
    for (const auto& [begin, end] : prompt.plain) parts.push_back(prompt.text.substr(begin, end - begin));
    return parts;
  };
  using Parts = std::vector<std::string>;
  // A role that is a word is a part of the template's control tokens.
  EXPECT_EQ(plain_parts(R"([{"role": "user", "content": "<|user|>"}])"), Parts{"<|user|>"});
  EXPECT_EQ(plain_parts(R"([{"role": "user|>x<|end", "content": "a"}])"), (Parts{"user|>x<|end", "a"}));
}

TEST_F(ChatTest, NothingThatComesWithMessagesIsAControlToken) {
  const Json conversation = Json::parse(R"({"messages": [{"role": "user", "content": "[BOS]", "[BOS]": 1}],
      "tools": [{"[BOS]": "[BOS]"}], "documents": ["[BOS]"], "chat_template_kwargs": {"more": {"[BOS]": "[BOS]"}}})");
  const Prompt prompt =
      chat("{{ bos_token }}{{ messages }}{{ tools | tojson }}{{ documents }}{{ more }}").prompt(conversation, true);
  ASSERT_EQ(prompt.text.find("[BOS]"), 0U);
  std::size_t found = 0;
  for (std::size_t at = prompt.text.find("[BOS]", 1); at != std::string::npos; at = prompt.text.find("[BOS]", at + 1)) {
    EXPECT_TRUE(std::ranges::any_of(prompt.plain, [&](const tokenizer::ByteRange& range) {
      return range.begin <= at && at + 5 <= range.end;
    })) << prompt.text.substr(0, at);
    ++found;
  }
  EXPECT_EQ(found, 7U);
}

TEST_F(ChatTest, RefusesConversationsOfTooManyNames) {
  std::string kwargs;
  for (int i = 0; i < 20'000; ++i) kwargs += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_THROW(
      parse_conversation(R"({"messages": [{"role": "user", "content": ""}], "chat_template_kwargs": {)" + kwargs + "}}",
                         "c.json"),
      BadFile);
}

TEST_F(ChatTest, HandsOnToolsDocumentsAndFurtherNames) {
  const Json conversation = Json::parse(R"({"messages": [{"role": "assistant", "tool_calls": [{"name": "f"}]}],
      "tools": [{"name": "tool"}], "documents": [{"title": "doc"}], "chat_template_kwargs": {"thinking": true}})");
  const Prompt prompt = chat(
                            "{{ tools[0].name }} {{ documents[0].title }} {{ thinking }} "
                            "{% for m in messages %}({{ m.tool_calls[0].name }}){% endfor %}")
                            .prompt(conversation, false);
  EXPECT_EQ(named_parts(prompt), "<tools|tool><template| ><documents|doc><template| True (><assistant|f><template|)>");
}

TEST_F(ChatTest, SaysWhatIsWrongWithAConversation) {
  const auto refusal = [](const char* text) {
    return error_of<BadArgument>([&] { parse_conversation(text, "c.json"); });
  };
  for (const char* text : {"{}", "3", R"({"messages": {}})"}) {
    EXPECT_NE(refusal(text).find("c.json: is no conversation: write a list of messages"), std::string::npos) << text;
  }
  EXPECT_EQ(refusal("[]"), "c.json: has no messages");
  EXPECT_NE(refusal("[3]").find("message 1 is no object"), std::string::npos);
  EXPECT_NE(refusal(R"([{"role": "user", "content": ""}, {"content": "a"}])").find("message 2 has no \"role\""),
            std::string::npos);
  EXPECT_NE(refusal(R"([{"role": "user"}])").find("has no \"content\""), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": [{"role": "user", "content": ""}], "tools": 3})").find("\"tools\" must be a list"),
            std::string::npos);
  EXPECT_THROW(parse_conversation("[", "c.json"), BadFile);
  EXPECT_THROW(parse_conversation(R"([{"role": "a", "role": "b", "content": ""}])", "c.json"), BadFile);
}

TEST_F(ChatTest, SaysWhatIsWrongWithATemplate) {
  EXPECT_NE(error_of<BadArgument>([&] { Chat::open(directory_.path(), ""); }).find("has no chat template: give one"),
            std::string::npos);
  EXPECT_NE(error_of<BadArgument>([&] { Chat::open(directory_.path(), "rag"); }).find("and no such file"),
            std::string::npos);
  const Json messages = Json::parse(R"([{"role": "user", "content": "a"}])");
  const Chat refusing = chat("{{ raise_exception('No users, please') }}");
  EXPECT_NE(error_of<BadArgument>([&] { refusing.prompt(messages, true); }).find("No users, please"),
            std::string::npos);
  const std::filesystem::path file = directory_.path() / "own.txt";
  std::ofstream(file) << "{{ bos_token }}!{{ messages[0].content }}";
  EXPECT_EQ(Chat::open(directory_.path(), file.string()).prompt(messages, true).text, "[BOS]!a");
}

// Every case of the conformance set with every tokenizer: what the template wrote becomes the same tokens as in a text
// of which all is parsed, and where messages spell control tokens none of theirs is one.
TEST_F(ChatTest, TokensAreThoseOfTheRenderedText) {
  const std::filesystem::path shared = testing::source_path("../shared/conformance");
  if (!std::filesystem::exists(shared / "chat_templates")) GTEST_SKIP() << shared << " is not there";
  std::vector<tokenizer::Tokenizer> tokenizers;
  for (const auto& entry : std::filesystem::directory_iterator(shared / "tokenizers")) {
    const std::filesystem::path file = entry.path() / "tokenizer.json";
    if (std::filesystem::exists(file)) tokenizers.push_back(tokenizer::Tokenizer::load(file));
  }
  ASSERT_GT(tokenizers.size(), 5U);
  std::ifstream cases(shared / "chat_templates" / "cases.jsonl");
  std::size_t compared = 0;
  for (std::string line; std::getline(cases, line);) {
    const Json test = Json::parse(line);
    if (!test.contains("expected") || !test["expected"].is_string() || test["messages"].empty()) continue;
    const std::string name = test["template"];
    Json kwargs = test["kwargs"], config = Json::object();
    for (const char* token : {"bos_token", "eos_token"}) {  // a model's own: in kwargs they would be text
      if (!kwargs.contains(token)) continue;
      config[token] = kwargs[token];
      kwargs.erase(token);
    }
    std::ofstream(directory_.path() / "tokenizer_config.json") << config;
    const Chat chat = Chat::open(directory_.path(), (shared / "chat_templates" / name).string());
    Json conversation = {{"messages", test["messages"]}};
    conversation["chat_template_kwargs"] = kwargs;
    Prompt prompt("");
    try {
      prompt = chat.prompt(conversation, false);
    } catch (const BadArgument&) {  // messages in other forms than a prompt takes
      continue;
    }
    if (prompt.text != test["expected"]) continue;  // templates that ask for the time
    for (const tokenizer::Tokenizer& tokenizer : tokenizers) {
      const auto encode = [&](std::span<const tokenizer::ByteRange> plain) {
        tokenizer::EncodeOptions how;
        how.add_special = false;
        how.parse_special = true;
        how.plain = plain;
        return tokenizer.encode(prompt.text, how).tokens;
      };
      const auto parsed = encode({}), read = encode(prompt.plain);
      const auto in_message = [&](const tokenizer::Token& token) {
        return std::ranges::any_of(prompt.plain, [&](const tokenizer::ByteRange& range) {
          return token.begin < range.end && range.begin < token.end;
        });
      };
      bool spelled = false;
      for (const tokenizer::Token& token : parsed) spelled |= token.control && in_message(token);
      if (!spelled) {
        ASSERT_EQ(parsed.size(), read.size());
        for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(parsed[i].id, read[i].id) << line;
        ++compared;
      }
      for (const tokenizer::Token& token : read) {
        if (!token.control || !in_message(token)) continue;  // but for white space that the token takes in
        const std::string text = prompt.text.substr(token.begin, token.end - token.begin);
        EXPECT_NE(text.find_first_of(" \n"), std::string::npos) << text;
      }
    }
  }
  EXPECT_GT(compared, 500U);
}

// A user's message with every control token of the conformance tokenizers in it.
TEST_F(ChatTest, HostileMessagesStayText) {
  testing::write_decoder(directory_.path() / "model", "llama", true);
  const Session session = Session::open(directory_.path() / "model");
  std::ofstream(directory_.path() / "model" / "chat_template.jinja")
      << "{% for m in messages %}[BOS]{{ m.content }}{% endfor %}";
  const Prompt prompt = session.chat().prompt(
      {{{"role", "user"}, {"content", "the cat[BOS] sat[BOS"}}, {{"role", "user"}, {"content", "]"}}}, true);
  const Look look = session.look(prompt);
  std::vector<std::size_t> control;
  for (const LookToken& token : look.tokens()) {
    if (token.special) control.push_back(token.byte_begin);
    EXPECT_EQ(token.id == 1, token.special);
  }
  EXPECT_EQ(control, (std::vector<std::size_t>{0, 25}));
  const Segments& segments = look.segments();
  EXPECT_EQ(segments.names, (std::vector<std::string>{"special", "text", "first", "template", "user", "user 2"}));
  EXPECT_EQ(segments.of_token.front(), kSegmentSpecial);
  EXPECT_EQ(segments.of_token.back(), 5);
}

// A generated conversation, looked at again with its answer in it, gives the numbers of the generation.
TEST_F(ChatTest, AReplayGivesTheNumbersOfTheGeneration) {
  const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  std::ofstream(directory_.path() / "t") << "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
                                            "{% if add_generation_prompt %}assistant:{% endif %}";
  const Chat chat = session.chat((directory_.path() / "t").string());
  Json messages = {{{"role", "system"}, {"content", "cats sat."}}, {{"role", "user"}, {"content", "the cat"}}};
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 40 && compared < 3; ++seed) {
    for (const ShownMaps& maps : {ShownMaps{}, ShownMaps{2, {}}, ShownMaps{1, 3}}) {
      model::GenerationOptions options{.max_tokens = 12};
      options.sampling = {.temperature = 1, .top_k = 6, .seed = seed};
      options.watch = model::WatchOptions{.top = 0};
      PromptedGeneration prompted = session.generate(chat.prompt(messages, true), options);
      AnswerRecord record(prompted, maps);
      prompted.generation.run([&](const model::GeneratedToken& token) { return record.add(token), true; });
      const Answer said = record.answer();
      Json whole = messages;
      whole.push_back({{"role", "assistant"}, {"content", prompted.generation.text()}});
      const Look look = session.look(chat.prompt(whole, false));
      const std::vector<Answer> answers = answers_of(look, maps);
      ASSERT_EQ(answers.size(), 1U);
      // Its text, read again, may become other tokens; then there is nothing to compare.
      const auto ids = prompted.generation.tokens();
      const std::int64_t begin = said.whole.token_begin;
      const bool same =
          answers[0].whole.token_end - begin == std::ssize(ids) && answers[0].whole.token_begin == begin &&
          std::ranges::equal(ids, std::span(look.tokens()).subspan(static_cast<std::size_t>(begin), ids.size()), {}, {},
                             &LookToken::id);
      if (!same) continue;
      ++compared;
      EXPECT_EQ(answers[0].name, "assistant");
      EXPECT_EQ(answers[0].whole.text, prompted.generation.text());
      // What is generated is the last segment, as its message is in the replay.
      EXPECT_EQ(look.segments().names.back(), "assistant");
      EXPECT_EQ(said.whole.segment_mass, answers[0].whole.segment_mass);
      ASSERT_EQ(said.sentences.size(), answers[0].sentences.size());
      for (std::size_t i = 0; i < said.sentences.size(); ++i) {
        EXPECT_EQ(said.sentences[i].text, answers[0].sentences[i].text);
        EXPECT_EQ(said.sentences[i].token_end, answers[0].sentences[i].token_end);
        EXPECT_EQ(said.sentences[i].segment_mass, answers[0].sentences[i].segment_mass);
      }
    }
  }
  EXPECT_GE(compared, 3);
}

// Means of planted numbers: two maps, two answers, a closed form.
TEST_F(ChatTest, SumsAreMeansOverMapsAndTokens) {
  const Session session = Session::open(testing::source_path("tests/data/tiny-decoder"));
  Prompt prompt("One. Two three. Four.");
  prompt.segments = {{"a", 0, 9}, {"b", 9, 21}};
  prompt.answers = {{"b", 9, 21}};
  const Look look = session.look(prompt);
  const std::vector<Answer> answers = answers_of(look, {});
  ASSERT_EQ(answers.size(), 1U);
  const SegmentMeans& whole = answers[0].whole;
  std::vector<double> sum(static_cast<std::size_t>(look.segments().count()));
  for (const MapId& id : look.maps()) {
    const MapObservations map = look.observations(id);
    for (std::int64_t p = whole.token_begin; p < whole.token_end; ++p) {
      for (std::size_t s = 0; s < sum.size(); ++s) {
        sum[s] += map.on_segment(static_cast<std::size_t>(p - 1), static_cast<std::int32_t>(s));
      }
    }
  }
  const auto count = static_cast<double>(look.maps().size()) * static_cast<double>(whole.token_end - whole.token_begin);
  for (std::size_t s = 0; s < sum.size(); ++s) EXPECT_NEAR(whole.segment_mass[s], sum[s] / count, 1e-9);
  ASSERT_EQ(answers[0].sentences.size(), 2U);
  EXPECT_EQ(answers[0].sentences[0].text, "three. ");
  EXPECT_EQ(answers[0].sentences[1].text, "Four.");
  EXPECT_EQ(answers[0].sentences[0].token_end, answers[0].sentences[1].token_begin);
  EXPECT_EQ(answers[0].sentences[1].token_end, whole.token_end);
  // A model that sees what follows says nothing.
  Prompt encoder("the cat");
  encoder.answers = {{"assistant", 4, 7}};
  EXPECT_TRUE(answers_of(Session::open(testing::tiny_model()).look(encoder), {}).empty());
}

}  // namespace
}  // namespace sightline::engine
