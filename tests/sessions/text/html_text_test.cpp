#include "sessions/text/html_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::html_text_test {
namespace {

TEST(HtmlText, SpellsControlCharactersAsTheTerminalDoes) {
  EXPECT_EQ(html_escaped("a\x1B\xC2\x9B\xE2\x80\xAE\xFF<b>"), "a\\x1B\\u009B\\u202E\\xFF&lt;b&gt;");
  EXPECT_EQ(html_escaped("two\nlines\t"), "two\nlines\t");
}

TEST(HtmlText, NoTextEndsItsElementOrItsAttribute) {
  EXPECT_EQ(html_escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; 'd'");
}

TEST(ScriptSafeJson, NoTextEndsTheScriptItStandsIn) {
  EXPECT_EQ(script_safe_json(nlohmann::json("</script><!-- & \u2028 \xff \"")),
            R"("\u003c/script\u003e\u003c!-- \u0026 \u2028 \ufffd \"")");
}

TEST(HtmlText, AMarkIsReplacedOnceAndTheTextThatComesInStaysAsItIs) {
  std::string page = "<p>@name@</p><b>@name@</b>";
  fill_mark(page, "@name@", "@name@!");
  EXPECT_EQ(page, "<p>@name@!</p><b>@name@</b>");
}

}  // namespace
}  // namespace hybridscope::html_text_test
