// Templates by construct. Expected texts are those of Jinja 3.1 with trim_blocks and lstrip_blocks, which is
// how published chat templates are rendered.
#include "model/chat_template.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"

namespace lynxkv::model {
namespace {

using testing::error_of;
using testing::has;

const std::vector<ChatMessage> conversation = {
    {"system", " Be brief. "}, {"user", "Hi\n"}, {"assistant", "<t>x</t>Yes"}};

std::string rendered(const std::string& source, const std::vector<ChatMessage>& messages = conversation,
                     bool prompt = true) {
  return ChatTemplate(source, "<s>", "</s>").render(messages, prompt);
}
std::string refusal(const std::string& source) {
  return error_of([&] { rendered(source); });
}

TEST(ChatTemplate, PrintsTextAndValues) {
  EXPECT_EQ(rendered(""), "");
  EXPECT_EQ(rendered("plain"), "plain");
  EXPECT_EQ(rendered("{{ bos_token }}a{{ eos_token }}"), "<s>a</s>");
  EXPECT_EQ(rendered("{{ messages[0].role }} {{ messages[-1]['content'] }}"), "system <t>x</t>Yes");
  EXPECT_EQ(
      rendered("{{ 1 }} {{ 1.5 }} {{ true }} {{ none }} {{ nothing }} {{ [1, 'a', none] }} {{ {'k': 2} }}"),
      "1 1.5 True None  [1, 'a', None] {'k': 2}");
  EXPECT_EQ(rendered("{{ '\\x41\\u00e9\\n\\q' }}"), "A\xc3\xa9\n\\q");
}

TEST(ChatTemplate, LoopsOverMessages) {
  EXPECT_EQ(rendered("{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ m.role }}{% if not "
                     "loop.last %},{% endif %}{% endfor %}"),
            "10system,21user,32assistant");
  EXPECT_EQ(rendered("{% for m in messages if m.role != 'user' %}{{ loop.length }}{{ m.role }}{% else "
                     "%}none{% endfor %}"),
            "2system2assistant");
  EXPECT_EQ(rendered("{% for m in [] %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(rendered("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 4 %}{% break %}{% "
                     "endif %}{{ i }}{% endfor %}"),
            "023");
  EXPECT_EQ(rendered("{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}"), "a1b2");
  EXPECT_EQ(rendered("{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else '-' "
                     "}};{% endfor %}"),
            "-;system;user;");
}

TEST(ChatTemplate, KeepsAssignmentsInsideLoops) {
  EXPECT_EQ(rendered("{% set x = 1 %}{% for i in range(3) %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}"),
            "1231");
  EXPECT_EQ(
      rendered(
          "{% set n = namespace(x=0) %}{% for i in range(4) %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}"),
      "6");
  EXPECT_EQ(rendered("{% if true %}{% set x = 9 %}{% endif %}{{ x }}"), "9");
  EXPECT_EQ(rendered("{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set t %}in{{ a }}{% endset %}{{ t }}"), "12in1");
}

TEST(ChatTemplate, ControlsWhiteSpaceAsPublishedTemplatesExpect) {
  EXPECT_EQ(rendered("{% if true %}\na\n{% endif %}\nb\n"), "a\nb");
  EXPECT_EQ(rendered("a\n   {% if true %}\n b\n   {% endif %}\nc"), "a\n b\nc");
  EXPECT_EQ(rendered("a  {%- if true -%}  b  {%- endif -%}  c"), "abc");
  EXPECT_EQ(rendered("a\n  {%+ if true %}b{% endif +%}\nc"), "a\n  b\nc");
  EXPECT_EQ(rendered("  {{- 'x' -}}  \n y"), "xy");
  EXPECT_EQ(rendered("a\n  {# gone #}\nb {#- gone -#} c"), "a\nbc");
  EXPECT_EQ(rendered("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
  EXPECT_EQ(rendered("a\r\nb\r\n"), "a\nb");
}

TEST(ChatTemplate, HasTheOperatorsOfTheLanguage) {
  EXPECT_EQ(
      rendered(
          "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 5 }} {{ 1 + 2 * 3 }} {{ 'ab' * 2 }}"),
      "3 -4 2 3.5 32 7 abab");
  EXPECT_EQ(rendered("{{ 'a' ~ 1 ~ none }} {{ 'x' + 'y' }} {{ [1] + [2] }}"), "a1None xy [1, 2]");
  EXPECT_EQ(rendered("{{ 1 < 2 < 3 }} {{ 'a' in 'cat' }} {{ 2 not in [1] }} {{ 'role' in messages[0] }} {{ "
                     "not 1 in [1] }}"),
            "True True True True False");
  EXPECT_EQ(rendered("{{ '' or 'd' }} {{ 1 and 0 }} {{ 'a' if false else 'b' }}{{ 'a' if false }}"), "d 0 b");
  EXPECT_EQ(
      rendered("{{ 'abcdef'[1:4] }} {{ 'abc'[::-1] }} {{ [1, 2, 3][-2:] }} {{ messages[1:] | length }}"),
      "bcd cba [2, 3] 2");
  EXPECT_EQ(rendered("{{ '\xc3\xa9\xe6\x97\xa5'[1] }}"), "\xe6\x97\xa5");
}

TEST(ChatTemplate, HasTheFiltersThatTemplatesUse) {
  EXPECT_EQ(
      rendered("{{ messages[0].content | trim }}|{{ 'aB' | upper }}{{ 'aB' | lower }}{{ 'ab cd' | title }}"),
      "Be brief.|ABabAb Cd");
  EXPECT_EQ(
      rendered(
          "{{ x | default('d') }}{{ '' | default('e', true) }}{{ [1, 2] | join('-') }}{{ 'abc' | length }}"),
      "de1-23");
  EXPECT_EQ(rendered("{{ messages | map(attribute='role') | join(' ') }}"), "system user assistant");
  EXPECT_EQ(rendered("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ messages | "
                     "rejectattr('role', '==', 'user') | list | length }}"),
            "12");
  EXPECT_EQ(rendered("{{ {'a': [1, 2.5, true, none, 'x\"\\n'], 'b': {}} | tojson }}"),
            R"({"a": [1, 2.5, true, null, "x\"\n"], "b": {}})");
  EXPECT_EQ(rendered("{{ [1, {'a': 2}] | tojson(indent=2) }}"), "[\n  1,\n  {\n    \"a\": 2\n  }\n]");
  EXPECT_EQ(rendered("{{ [3, 1, 2] | sort | first }}{{ [1, 1] | unique | list | length }}{{ '12' | int + 1 "
                     "}}{{ 'a-b' | replace('-', '+') }}"),
            "1113a+b");
  EXPECT_EQ(rendered("{% filter upper %}a{{ 'b' }}{% endfilter %}"), "AB");
}

TEST(ChatTemplate, HasTheTestsAndMethodsThatTemplatesUse) {
  EXPECT_EQ(rendered("{{ x is defined }}{{ tools is none }}{{ 'a' is string }}{{ {} is mapping }}{{ 1 is not "
                     "none }}{{ 2 is even }}{{ 4 is divisibleby 2 }}"),
            "FalseTrueTrueTrueTrueTrueTrue");
  EXPECT_EQ(rendered("{{ messages[2].content.split('</t>')[-1] }}{{ ' x '.strip() }}{{ 'xxa'.lstrip('x') "
                     "}}{{ 'abc'.startswith('a') }}{{ 'abc'.endswith(('b', 'c')) }}"),
            "YesxaTrueTrue");
  EXPECT_EQ(rendered("{{ messages[0].get('role') }}{{ messages[0].get('no', 'd') }}{{ 'a b  c'.split() }}{{ "
                     "'a,b,c'.rsplit(',', 1) }}"),
            "systemd['a', 'b', 'c']['a,b', 'c']");
}

TEST(ChatTemplate, CallsMacros) {
  EXPECT_EQ(
      rendered(
          "{% macro f(a, b='B') %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(1, 2) }}{{ f(b=3, a=4) }}"),
      "[1B][12][43]");
  EXPECT_EQ(rendered("{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}"),
            "321");
}

TEST(ChatTemplate, TakesNoBosOrEosWhereTheModelHasNone) {
  EXPECT_EQ(ChatTemplate("{{ bos_token is defined }}{{ bos_token }}", "", "").render({}, false), "False");
}

TEST(ChatTemplate, LetsTheTemplateRefuse) {
  EXPECT_TRUE(has(refusal("a\n{{ raise_exception('roles must alternate') }}"),
                  "line 2: the template refuses the conversation: roles must alternate"));
}

TEST(ChatTemplate, NamesLineAndConstructThatItDoesNotUnderstand) {
  EXPECT_TRUE(has(refusal("a\nb {% include 'x' %}"), "line 2: the statement 'include' is not supported"));
  EXPECT_TRUE(has(refusal("{{ 'a' | nosuch }}"), "line 1: the filter 'nosuch'"));
  EXPECT_TRUE(has(refusal("\n\n{{ 'a' is nosuch }}"), "line 3: the test 'nosuch'"));
  EXPECT_TRUE(has(refusal("{{ nosuch() }}"), "the function 'nosuch'"));
  EXPECT_TRUE(has(refusal("{{ 'a'.nosuch() }}"), "a string has no method 'nosuch'"));
  EXPECT_TRUE(has(refusal("{{ nosuch.field }}"), "'nosuch' is undefined"));
  EXPECT_TRUE(has(refusal("{{ 'a' + 1 }}"), "'+': cannot be applied to a string and an integer"));
  EXPECT_TRUE(has(refusal("{% if x %}\n\nopen"), "expected 'endif' for the block that begins on line 1"));
  EXPECT_TRUE(has(refusal("{{ 1 + }}"), "expected an expression, found '}}'"));
  EXPECT_TRUE(has(refusal("{{ 'x }}"), "string that begins here does not end"));
  EXPECT_TRUE(has(refusal("{% for x in y recursive %}{% endfor %}"), "recursive"));
  EXPECT_TRUE(has(refusal("{% break %}"), "'break' outside a loop"));
  EXPECT_TRUE(has(refusal("{{ 1 // 0 }}"), "division by zero"));
  EXPECT_TRUE(has(refusal("\xff"), "UTF-8"));
}

TEST(ChatTemplate, BoundsWhatAHostileTemplateCanDo) {
  const std::string deep(50000, '(');
  EXPECT_FALSE(refusal("{{ " + deep + " }}").empty());
  EXPECT_FALSE(refusal("{{ " + std::string(50000, '-') + "1 }}").empty());
  std::string nots;
  for (int i = 0; i < 50000; ++i) nots += "not ";
  EXPECT_FALSE(refusal("{{ " + nots + "1 }}").empty());
  std::string ifs;
  for (int i = 0; i < 5000; ++i) ifs += "{% if 1 %}";
  EXPECT_FALSE(refusal(ifs).empty());
  std::string sum = "1";
  for (int i = 0; i < 50000; ++i) sum += "+1";
  EXPECT_FALSE(refusal("{{ " + sum + " }}").empty());
  EXPECT_FALSE(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").empty());
  EXPECT_FALSE(
      refusal("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}").empty());
  EXPECT_FALSE(refusal("{% for a in range(9999999999) %}{% endfor %}").empty());
  EXPECT_FALSE(refusal("{{ 'aaaaaaaaaa' * 999999999999 }}").empty());
  EXPECT_FALSE(
      refusal(
          "{% set n = namespace(s='aaaa') %}{% for a in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}")
          .empty());
  // Lists that share their parts are small in memory and endless when compared or printed.
  EXPECT_FALSE(refusal("{% set n = namespace(s=[1]) %}{% for a in range(45) %}{% set n.s = [n.s, n.s] %}{% "
                       "endfor %}{{ n.s }}")
                   .empty());
  EXPECT_FALSE(
      refusal("{% set n = namespace(s=[]) %}{% for a in range(9999) %}{% set n.s = [n.s] %}{% endfor %}")
          .empty());
  EXPECT_FALSE(refusal("{% set n = namespace() %}{% set n.self = n %}").empty());
  EXPECT_FALSE(refusal("{% for a in range(99999) %}" + std::string(5000, 'x') + "{% endfor %}").empty());
  EXPECT_FALSE(refusal(std::string(2u << 20, 'x')).empty());
}

TEST(ChatTemplate, HasAHashOfAllThatDecidesItsOutput) {
  EXPECT_EQ(ChatTemplate("a", "b", "c").hash(), ChatTemplate("a", "b", "c").hash());
  EXPECT_NE(ChatTemplate("a", "b", "c").hash(), ChatTemplate("ab", "", "c").hash());
  EXPECT_NE(ChatTemplate("a", "b", "c").hash(), ChatTemplate("a", "b", "d").hash());
}

}  // namespace
}  // namespace lynxkv::model
