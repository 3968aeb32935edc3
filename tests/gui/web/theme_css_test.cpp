#include "gui/web/theme_css.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace hybridscope::theme_css_test {
namespace {

using testing::HasSubstr;

std::string between(const std::string& text, std::string_view first, std::string_view last) {
  const std::size_t from = text.find(first);
  EXPECT_NE(from, std::string::npos) << first;
  return text.substr(from, text.find(last, from) - from);
}

TEST(ThemeCss, HasTheWindowsLightColours) {
  const std::string light = between(theme_css(), ":root {", "}");
  EXPECT_THAT(light, HasSubstr("  color-scheme: light;\n  --background: #eceef1;\n"));
  EXPECT_THAT(light, HasSubstr("  --running-fill: #77d9fc;\n  --running-text: #000000;\n"));
  EXPECT_THAT(light, HasSubstr("  --null-block-fill: #7c8b95;\n"));
  EXPECT_THAT(light, HasSubstr("  --copy: #e23cb8;\n  --conv-copy: #0c8474;\n"));
}

TEST(ThemeCss, TheDarkOnesAreForWhoPrefersOrChoosesThem) {
  const std::string css = theme_css();
  const std::string preferred = between(css, ":root:not([data-theme=\"light\"]) {", "}");
  const std::string chosen = between(css, ":root[data-theme=\"dark\"] {", "}");
  EXPECT_THAT(preferred, HasSubstr("  --background: #16191d;\n"));
  EXPECT_EQ(preferred.substr(preferred.find('{')), chosen.substr(chosen.find('{')));
}

TEST(ThemeCss, EveryRoleAndMarkOfACellHasAClass) {
  const std::string css = theme_css();
  for (const char* word : {"running", "speculative", "cached", "shared", "held", "null-block",
                           "free", "stale", "padding"})
    EXPECT_THAT(css, HasSubstr(std::string("\n.role-") + word + " {"));
  EXPECT_THAT(css, HasSubstr("\n.mark-wrong { color: #ffffff; background-color: #8a0012; }\n"));
  EXPECT_EQ(std::ranges::count(css, '{'), std::ranges::count(css, '}'));
}

TEST(ThemeCss, NamesBecomeClasses) {
  EXPECT_EQ(css_word("null block"), "null-block");
  EXPECT_EQ(css_word("written, not checked"), "written-not-checked");
}

}  // namespace
}  // namespace hybridscope::theme_css_test
