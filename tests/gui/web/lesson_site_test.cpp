#include "gui/web/lesson_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/lessons/lesson_reader.h"

namespace hybridscope::lesson_site_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LessonSiteInput input_of(std::vector<std::string> names) {
  LessonSiteInput input{.lessons = {}, .program = "hybridscope test"};
  for (const std::string& name : names) input.lessons.push_back(shipped_lesson(name).value());
  return input;
}

TEST(LessonSite, IsAnIndexAScriptAStyleSheetAndAPageForEachLesson) {
  const auto site = make_lesson_site(input_of({"align_boundary", "gdn_rows"})).value();
  std::vector<std::string> names;
  for (const SiteFile& file : site) {
    names.push_back(file.name);
    EXPECT_NE(file.text.substr(0, 200).find(kLessonSiteMark), std::string::npos) << file.name;
  }
  EXPECT_THAT(names, ElementsAre("index.html", "lesson.css", "lesson.js", "align_boundary.html",
                                 "gdn_rows.html"));
}

TEST(LessonSite, LoadsNothingFromElsewhere) {
  const auto site = make_lesson_site(input_of({"align_boundary"})).value();
  for (const SiteFile& file : site) {
    for (const char* load : {"https:", "@import", "url(", "fetch(", "XMLHttp", "import("})
      EXPECT_THAT(file.text, Not(HasSubstr(load))) << file.name;
    if (file.name.ends_with(".html")) {
      EXPECT_THAT(file.text, HasSubstr("default-src 'none'"));
      EXPECT_THAT(file.text, Not(HasSubstr("unsafe-inline")));
    }
  }
}

TEST(LessonSite, PagesLeadToTheirNeighbours) {
  const auto site = make_lesson_site(input_of({"align_boundary", "gdn_rows"})).value();
  EXPECT_THAT(site[3].text, HasSubstr("<a rel=\"next\" href=\"gdn_rows.html\">Next lesson: Spec "));
  EXPECT_THAT(site[3].text, Not(HasSubstr("rel=\"prev\"")));
  EXPECT_THAT(site[4].text, HasSubstr("<a rel=\"prev\" href=\"align_boundary.html\">"));
}

TEST(LessonSite, TextsAreEscapedAndAddressesToo) {
  LessonSiteInput input = input_of({"align_boundary"});
  input.lessons[0].name = "a b&c\"é";
  input.lessons[0].title = "<i>@data@</i>";
  const auto site = make_lesson_site(input).value();
  EXPECT_EQ(site[3].name, "a b&c\"é.html");
  EXPECT_THAT(site[0].text,
              HasSubstr("<a href=\"a%20b%26c%22%C3%A9.html\">&lt;i&gt;@data@&lt;/i&gt;</a>"));
  EXPECT_THAT(site[3].text, HasSubstr("<h1>&lt;i&gt;@data@&lt;/i&gt;</h1>"));
  EXPECT_THAT(site[3].text, Not(HasSubstr("<i>@data@")));
}

TEST(LessonSite, TheIndexCountsPartsAndQuestions) {
  LessonSiteInput input = input_of({"align_boundary", "gdn_rows"});
  input.lessons[1].parts.resize(1);
  input.lessons[1].parts[0].questions.resize(1);
  const auto site = make_lesson_site(input).value();
  EXPECT_THAT(site[0].text, HasSubstr("<p class=\"dim\">3 parts, 9 questions<span "));
  EXPECT_THAT(site[0].text, HasSubstr("<p class=\"dim\">1 part, 1 question<span "));
}

TEST(LessonSite, SaysWhichLessonItRuns) {
  LessonSiteInput input = input_of({"align_boundary", "gdn_rows"});
  std::vector<std::string> seen;
  input.on_lesson = [&](const Lesson& lesson) {
    seen.push_back(lesson.name);
    return true;
  };
  ASSERT_TRUE(make_lesson_site(input).ok());
  EXPECT_THAT(seen, ElementsAre("align_boundary", "gdn_rows"));
}

TEST(LessonSite, ALessonThatCannotBeRunIsAnErrorAndNoSite) {
  LessonSiteInput input = input_of({"align_boundary", "gdn_rows"});
  input.lessons[1].parts[0].step = 4000;
  const auto site = make_lesson_site(input);
  ASSERT_FALSE(site.ok());
  EXPECT_THAT(site.error().message, StartsWith("gdn_rows, part 1: "));
}

}  // namespace
}  // namespace hybridscope::lesson_site_test
