#include "src/template/chat_template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "src/template/find_chat_template.h"

namespace sightline::jinja {
namespace {

using Json = nlohmann::ordered_json;

const Json kMessages = {{{"role", "system"}, {"content", " Be brief. "}}, {{"role", "user"}, {"content", "Hi \"é\""}}};

std::string render(std::string_view source, const Json& extra = Json::object()) {
  ChatOptions options;
  options.extra = extra;
  return ChatTemplate::parse(source, "t").render(kMessages, options);
}

template <class Exception>
std::string error_of(std::string_view source) {
  try {
    render(source);
  } catch (const Exception& error) {
    return error.what();
  }
  return "no such error";
}

// Each expected text is what jinja2 3.1.6 gives with trim_blocks and lstrip_blocks.
TEST(ChatTemplate, GivesTheTextOfJinja) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
      {"x {{- 1 -}} y{#- c -#} z", "x1yz"},
      {"{{ 2**3**2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 1e16 }} {{ 1e-5 }}", "64 -4 2 3.5 1e+16 1e-05"},
      {"{{ [1, 'a', none, true, 2.0, {'k': \"it's\"}] }}", "[1, 'a', None, True, 2.0, {'k': \"it's\"}]"},
      {"{% set n = namespace(c=0) %}{% for i in range(4) if i % 2 %}{% set n.c = n.c + i %}{{ loop.index }}"
       "{{ loop.last }}{% endfor %}{{ n.c }}",
       "1False2True4"},
      {"{% for k, v in {'b': 1, 'a': 2} | dictsort %}{{ k }}{{ v }}{% if loop.first %}{% continue %}{% endif %};"
       "{% endfor %}",
       "a2b1;"},
      {"{% macro m(a, b='z') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}", "[1z][32]"},
      {"{% set x %} t {% endset %}{{ x | trim }}{% raw %}{{ x }}{% endraw %}", "t{{ x }}"},
      {"{{ 'a,b,,c'.split(',') | reject('equalto', '') | map('upper') | join('+') }}", "A+B+C"},
      {"{{ 'Straße ΑΣ'.upper() }} {{ 'ΑΣ' | lower }} {{ 'x-y (z' | title }}", "STRASSE ΑΣ ας X-Y (Z"},
      {"{{ messages[::-1][0].content[:2] }}{{ messages[0]['nothing'] }}{{ 'x' if false }}", "Hi"},
      {"{{ {'b': [1, {}], 'a': 'é\\n'} | tojson(indent=1) }}", "{\n \"b\": [\n  1,\n  {}\n ],\n \"a\": \"é\\n\"\n}"},
      {"{{ none | selectattr('a') | list }}{{ ' a b '.split(none, 1) }}{{ ' a b '.rsplit(none, 1) }}",
       "[]['a', 'b '][' a', 'b']"},
      {"{{ [{'a': 2}, {'a': 1, 'b': 3}, {'a': 1}] | sort(attribute='a') }}", "[{'a': 1, 'b': 3}, {'a': 1}, {'a': 2}]"},
      {"{% for i in [1, 2] %}{{ i }}{% continue %}{% else %}e{% endfor %}", "12e"},
      {"{% generation %}g{% endgeneration %}{{ 'aXb' | replace('X', '-') | indent(2, true) }}", "g  a-b"},
  };
  for (const auto& [source, expected] : cases) {
    EXPECT_EQ(render(source), expected) << source;
  }
}

TEST(ChatTemplate, KeepsTheOrderOfKeysAndTheTime) {
  EXPECT_EQ(render("{{ d | tojson }}", {{"d", {{"z", 1}, {"a", nullptr}}}}), R"({"z": 1, "a": null})");
  ChatOptions options;
  options.now = std::tm{};
  options.now->tm_year = 125;
  options.now->tm_mday = 9;
  const auto chat = ChatTemplate::parse("{{ strftime_now('%d %b %Y, %-d') }}", "t");
  EXPECT_EQ(chat.render(kMessages, options), "09 Jan 2025, 9");
}

TEST(ChatTemplate, SaysWhereItsTextsComeFrom) {
  const auto chat = ChatTemplate::parse(
      "{% for m in messages %}<{{ m.role }}>{{ m.content | trim | upper }}{{ m.content | tojson }}|{% endfor %}", "t");
  const RenderedChat result = chat.render_spans(kMessages);
  EXPECT_EQ(result.text, "<system>BE BRIEF.\" Be brief. \"|<user>HI \"É\"\"Hi \\\"é\\\"\"|");
  std::vector<std::string> contents;
  for (const ChatSpan& span : result.spans) {
    contents.push_back(std::to_string(*span.message) + span.field + "=" +
                       result.text.substr(span.begin, span.end - span.begin));
  }
  const std::vector<std::string> expected = {"0role=system", "0content=BE BRIEF.", "0content= Be brief. ",
                                             "1role=user",   "1content=HI \"É\"",  "1content=Hi \\\"é\\\""};
  EXPECT_EQ(contents, expected);
}

// Whatever a template does with a string of a message, no character of it is taken for the template's own.
TEST(ChatTemplate, KnowsTextsOfMessagesThroughEverythingThatMakesTexts) {
  const std::string mark = "\u07CA";  // a letter without case that no template here writes
  const Json messages = {{{"role", mark},
                          {"content", " " + mark + "a b," + mark + "\n" + mark},
                          {"d", {{mark, mark}, {"k", {mark, 1}}}},
                          {mark, 1}}};
  const auto is_told = [&](const std::string& expression) {
    ChatOptions options;
    options.tools = {{{"name", mark}}};
    options.documents = {mark};
    options.extra = {{"given", {{mark, mark}}}};
    options.now = std::tm{};
    options.now->tm_mday = 1;
    const RenderedChat chat =
        ChatTemplate::parse("{% set m = messages[0] %}{% set c = m.content %}{% macro f(x) %}({{ x }}){% endmacro %}" +
                                expression + "|",
                            "t")
            .render_spans(messages, options);
    std::size_t found = 0;
    for (std::size_t at = chat.text.find(mark); at != std::string::npos; at = chat.text.find(mark, at + 1), ++found) {
      const bool inside = std::ranges::any_of(
          chat.spans, [&](const ChatSpan& span) { return span.begin <= at && at + mark.size() <= span.end; });
      if (!inside) return false;
    }
    return found > 0;
  };
  const char* expressions[] = {
      "{{ m }}",
      "{{ m.keys() }}",
      "{{ m | tojson }}",
      "{{ m | tojson(indent=c) }}",
      "{{ [1, 2] | tojson(separators=[c, c]) }}",
      "{{ {1: 2} | tojson(separators=[c, c]) }}",
      "{{ m | items | list }}",
      "{{ m | dictsort }}",
      "{% for k, v in m.items() %}{{ k ~ v }}{% endfor %}",
      "{% for k in m %}{{ k }}{% endfor %}",
      "{{ dict(**m.d) }}",
      "{{ dict(m.d) }}",
      "{{ dict([[c, c]]) }}",
      "{{ {c: c} }}",
      "{% set n = namespace(x=c) %}{% set n.x = n.x + 'y' %}{{ n.x }}",
      "{{ f(c) }}",
      "{{ f(*[c]) }}",
      "{{ f(**{'x': c}) }}",
      "{% call f(c) %}{% endcall %}",
      "{% filter upper %}{{ c }}{% endfilter %}",
      "{% set b %}{{ c }}{% endset %}{{ b[::-1] }}",
      "{% set b | trim %}{{ c }}{% endset %}{{ b }}",
      "{{ c + '<' ~ c * 2 }}",
      "{{ c[1] }}{{ c[1:] }}{{ c[::2] }}{{ c | first }}{{ c | last }}",
      "{{ c | list }}{{ c | reverse }}{{ c | batch(2) | list }}",
      "{% for x in c %}{{ loop.cycle(x, x) }}{{ loop.nextitem }}{{ loop.previtem }}{% endfor %}",
      "{{ c | upper }}{{ c | lower }}{{ c | title }}{{ c | capitalize }}{{ c.swapcase() }}{{ c.title() }}",
      "{{ c | trim }}{{ c | indent(2, true) }}{{ c | indent(c, true) }}{{ 'x' | indent(c, true) }}",
      "{{ c | center(40) }}{{ 'x'.center(9, c[1]) }}{{ 'x'.ljust(9, c[1]) }}{{ 'x'.rjust(9, c[1]) }}",
      "{{ c | replace('a', c) }}{{ 'a' | replace('a', c) }}{{ 'a'.replace('', c) }}",
      "{{ c.split() }}{{ c.rsplit(',') }}{{ c.splitlines() }}{{ c.partition(',') }}{{ c.rpartition(',') }}",
      "{{ c.strip() }}{{ c.lstrip() }}{{ c.rstrip() }}{{ c.removeprefix(' ') }}{{ c.removesuffix('x') }}",
      "{{ [1, 2] | join(c) }}{{ c.join(['', '']) }}{{ [c, 'a'] | join }}{{ [m] | join(attribute='content') }}",
      "{{ none | d(c, true) }}{{ nothing or c }}{{ c if true }}{{ c | string }}{{ c | safe }}",
      "{{ [c, 'a'] | sort }}{{ [c] | unique | list }}{{ [c, 'a'] | max }}{{ ['\uFFFD', c] | min }}",
      "{{ [m] | map(attribute='content') | list }}{{ [m] | map(attribute='no', default=c) | list }}",
      "{{ [c] | map('upper') | list }}{{ [c] | select | list }}{{ [m] | selectattr('content') | list }}",
      "{{ [[c]] | sum(start=[]) }}{{ (c,) + (1,) }}",
      "{{ strftime_now(c) }}",
      "{{ tools }}{{ documents }}{{ given }}{{ given | tojson }}",
  };
  for (const char* expression : expressions) EXPECT_TRUE(is_told(expression)) << expression;
}

TEST(ChatTemplate, GivesWhatATemplateRaises) {
  try {
    render("a\n{{ raise_exception('No\nturn') }}");
    FAIL();
  } catch (const TemplateRefusal& refusal) {
    EXPECT_EQ(refusal.text(), "No\nturn");
    EXPECT_EQ(std::string(refusal.what()).find("t:2: "), 0u);
    EXPECT_EQ(std::string(refusal.what()).find('\n'), std::string::npos);
  }
}

TEST(ChatTemplate, NamesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> cases[] = {
      {"\n{% include 'x' %}", "t:2: not supported in chat templates: the tag 'include'"},
      {"{{ 1 | urlize }}", "t:1: not supported in chat templates: the filter 'urlize'"},
      {"{{ 1 is escaped }}", "t:1: not supported in chat templates: the test 'escaped'"},
      {"{{ foo() }}", "t:1: not supported in chat templates: the function 'foo'"},
      {"\n\n{{ 'a'.zfill(3) }}", "t:3: not supported in chat templates: the method 'zfill' of a string"}};
  for (const auto& [source, expected] : cases) EXPECT_EQ(error_of<UnsupportedModel>(source), expected);
}

TEST(ChatTemplate, RefusesWhatIsNotJinja) {
  for (const char* source : {"{{ 1 +", "{% if x %}", "{% endif %}", "{{ (1] }}", "{{ 'a }}", "{# ",
                             "{% for in x %}{% endfor %}", "{{ x y }}", "{% break %}", "\xFF"}) {
    EXPECT_NE(error_of<BadFile>(source), "no such error") << source;
  }
}

TEST(ChatTemplate, RefusesWhatPythonRefuses) {
  for (const char* source :
       {"{{ 'a' + 1 }}", "{{ nothing.at.all }}", "{{ none | length }}", "{{ 1 / 0 }}", "{{ [1] < ['a'] }}",
        "{{ messages.append(1) }}", "{{ range(200000) }}", "{{ {[1]: 2} }}", "{{ nothing | tojson }}"}) {
    EXPECT_NE(error_of<BadArgument>(source), "no such error") << source;
  }
}

TEST(ChatTemplate, EndsATemplateThatRunsAway) {
  const std::string deep(100'000, '('), chain = "{{ 1" + [] {
    std::string more;
    for (int i = 0; i < 100'000; ++i) more += "+1";
    return more;
  }() + " }}";
  const std::string loops =
      "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
      "{% endfor %}{% endfor %}{% endfor %}";
  const std::string cases[] = {
      "{{ " + deep,
      chain,
      loops,
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{{ 'a' * 999999999999 }}",
      "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
      "{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor %}",
      "{% set n = namespace(x=['a']) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
      "{% for i in range(99999) %}{{ 'x'.center(99999) }}{% endfor %}",
  };
  for (const std::string& source : cases) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(error_of<BadFile>(source), "no such error") << source.substr(0, 80);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60)) << source.substr(0, 80);
  }
}

class FindChatTemplate : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FindChatTemplate, FindsNothing) { EXPECT_FALSE(find_chat_template(directory_).has_value()); }

TEST_F(FindChatTemplate, ReadsTokenizerConfig) {
  write("tokenizer_config.json",
        R"({"chat_template": "{{ bos_token }}x", "bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  const auto found = find_chat_template(directory_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->bos_token, "<s>");
  EXPECT_EQ(found->eos_token, "</s>");
  ChatOptions options;
  options.bos_token = found->bos_token;
  EXPECT_EQ(found->chat_template.render(kMessages, options), "<s>x");
}

TEST_F(FindChatTemplate, ChoosesByName) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(find_chat_template(directory_)->chat_template.render(kMessages), "d");
  EXPECT_EQ(find_chat_template(directory_, "tool_use")->chat_template.render(kMessages), "t");
  EXPECT_THROW(find_chat_template(directory_, "rag"), BadArgument);
}

TEST_F(FindChatTemplate, PrefersTheFileBesideIt) {
  write("tokenizer_config.json", R"({"chat_template": "config"})");
  write("chat_template.json", R"({"chat_template": "processor"})");
  EXPECT_EQ(find_chat_template(directory_)->chat_template.render(kMessages), "config");
  write("chat_template.jinja", "file\n");
  write("additional_chat_templates/rag.jinja", "more");
  EXPECT_EQ(find_chat_template(directory_)->chat_template.render(kMessages), "file");
  EXPECT_EQ(find_chat_template(directory_, "rag")->chat_template.render(kMessages), "more");
}

}  // namespace
}  // namespace sightline::jinja
