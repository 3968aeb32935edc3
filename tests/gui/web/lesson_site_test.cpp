#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "gui/web/lesson_data.h"
#include "gui/web/lesson_site.h"
#include "sessions/lessons/lesson.h"
#include "sessions/page/page_parts.h"

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

using Json = nlohmann::ordered_json;

class LessonData : public testing::Test {
 protected:
  // Each lesson is run once for all tests.
  static const Json& data_of(const std::string& lesson) {
    static std::map<std::string, Json> made;
    const auto [place, is_new] = made.try_emplace(lesson);
    if (is_new) place->second = lesson_data(shipped_lesson(lesson).value()).value();
    return place->second;
  }
};

// The step of the lesson's first run.
Json panels_of(const Json& data, std::size_t step) {
  return data["runs"][0]["steps"][step - 1]["panels"];
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_F(LessonData, HasEveryStepOfEachRunOnceAndPartsSayWhichIsTheirs) {
  const Json& data = data_of("graph_padding");
  ASSERT_EQ(data["parts"].size(), 4);
  EXPECT_EQ(data["parts"][0]["run"], 0);
  EXPECT_EQ(data["parts"][1]["run"], 0);
  EXPECT_EQ(data["parts"][2]["run"], 1);
  EXPECT_EQ(data["parts"][3]["run"], 2);
  ASSERT_EQ(data["runs"].size(), 3);
  EXPECT_EQ(data["runs"][0]["settings"], Json::array());
  EXPECT_EQ(data["runs"][1]["settings"], Json({"cudagraph_capture_sizes: [2,4,24]"}));
  EXPECT_EQ(data_of("why_padding_can_write")["runs"][1]["settings"],
            Json({"policies.null_rows: run"}));
  EXPECT_EQ(data["runs"][0]["steps"].size(), 6);
  EXPECT_EQ(data["runs"][0]["whole"], true);
  EXPECT_EQ(data["runs"][0]["steps"][5]["step"], 6);
}

TEST_F(LessonData, HasTheEnginesReplyToEachChoice) {
  const Json question = data_of("graph_padding")["parts"][0]["questions"][0];
  EXPECT_EQ(question["choices"], Json({"NONE", "PIECEWISE", "FULL"}));
  EXPECT_EQ(question["right"], "NONE");
  EXPECT_EQ(keys_of(question["replies"]), (std::vector<std::string>{"NONE", "PIECEWISE", "FULL"}));
  EXPECT_EQ(question["replies"]["FULL"],
            "Not FULL but NONE.\n18 tokens fit into no captured size, and prompts are no uniform "
            "decode batch: a full graph needs both.\n18 tokens are more than the largest captured "
            "size, 8, so no graph is replayed: NONE (vLLM v1/cudagraph_dispatcher.py dispatch).");
  EXPECT_THAT(question["replies"]["NONE"].get<std::string>(), StartsWith("Right: NONE. 18 "));
}

// Without choices; any other number that is no foreseen mistake has the general reply.
TEST_F(LessonData, HasTheEnginesReplyToNearMissesOfANumber) {
  const Json question = data_of("align_boundary")["parts"][0]["questions"][0];
  EXPECT_EQ(question["choices"], Json::array());
  EXPECT_EQ(question["expected"], "a whole number");
  EXPECT_EQ(keys_of(question["replies"]), (std::vector<std::string>{"3", "1", "2", "4", "5"}));
  EXPECT_THAT(question["replies"]["4"].get<std::string>(), StartsWith("Not 4 but 3. A gets "));
  EXPECT_THAT(question["other"].get<std::string>(),
              StartsWith("The engine's answer is 3. A gets 1 + K = 2 blocks"));
}

TEST_F(LessonData, HasTheEnginesReplyToEachForeseenMistake) {
  const Json question = data_of("graph_padding")["parts"][1]["questions"][2];
  EXPECT_EQ(keys_of(question["replies"]), (std::vector<std::string>{"0", "1", "2", "-1", "6"}));
  EXPECT_THAT(question["replies"]["6"].get<std::string>(),
              StartsWith("Not 6 but 0.\nBlock 6 is C's, in row 2. Row 3 has no request.\nThe null "
                         "block, 0. "));
}

TEST_F(LessonData, HasNoReplyToANumberBelowZeroWhereNobodyForeseesOne) {
  const Json question = data_of("graph_padding")["parts"][1]["questions"][3];
  EXPECT_EQ(question["right"], "0");
  EXPECT_EQ(keys_of(question["replies"]), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(LessonData, BlockTablesAreTheCellsOfTheWindow) {
  const Json tables = panels_of(data_of("align_boundary"), 2)["block_tables"];
  const Json& mamba = tables["grids"][1];
  EXPECT_EQ(mamba["name"], "group 1 (mamba2)");
  EXPECT_EQ(mamba["rows"][0]["request"], "A");
  EXPECT_EQ(mamba["rows"][0]["cells"][0],
            Json::parse(R"({"block": 2, "role": "running", "state": "written-not-checked",
                            "text": "2", "css": "role-running pattern-none",
                            "words": "block 2, running, written, not checked, the state is read here, then one is written",
                            "signs": "R rw"})"));
  EXPECT_EQ(mamba["rows"][0]["cells"][1]["role"], "speculative");
  EXPECT_FALSE(tables.contains("worker"));
}

// In step 3 the scheduler takes a block back that the worker's table still names.
TEST_F(LessonData, TheWorkersTablesComeWithItWhereTheyDiffer) {
  const Json& data = data_of("block_tables");
  EXPECT_FALSE(panels_of(data, 2)["block_tables"].contains("worker"));
  const Json tables = panels_of(data, 3)["block_tables"];
  EXPECT_EQ(tables["grids"][1]["rows"][0]["cells"][1]["block"], 0);
  EXPECT_EQ(tables["grids"][1]["rows"][0]["cells"][1]["text"], "null");
  EXPECT_EQ(tables["worker"][1]["rows"][0]["cells"][1]["block"], 3);
  EXPECT_EQ(tables["worker"][1]["rows"][0]["cells"][1]["role"], "stale");
}

TEST_F(LessonData, CopiesSayFromWhereToWhere) {
  const Json copies = panels_of(data_of("align_boundary"), 2)["state_copies"];
  const Json& drawing = copies["details"][0]["drawing"];
  EXPECT_EQ(copies["details"][0]["title"], "A, after sampling: within_block_shift");
  EXPECT_EQ(drawing["temporal"], 1);
  EXPECT_EQ(drawing["conv"], 0);
  EXPECT_EQ(drawing["destination"], 0);
  EXPECT_EQ(drawing["bias"], 1);
  EXPECT_EQ(drawing["cells"][0]["cell"]["label"], "2 R");
  EXPECT_EQ(drawing["key"][0], Json({"temporal", "solid, above: temporal state S(8)"}));
  EXPECT_EQ(drawing["key"][1], Json({"conv", "dashed, below: conv window, shifted by 1"}));
  EXPECT_EQ(drawing["conv_source"][3], Json::parse(R"({"sign": "a8", "copied": true})"));
  EXPECT_EQ(drawing["conv_words"],
            "Conv window: position 1 (token 6) to position 0; position 2 (token 7) to position 1; "
            "position 3 (accepted draft 8) to position 2");
  EXPECT_EQ(copies["tables"][0]["rows"].size(), 2);
}

// In step 3 the copies of two groups go before everything else.
TEST_F(LessonData, CopiesOfWholeBlocksHaveTheirPlaces) {
  const Json copies = panels_of(data_of("hits_inside_blocks"), 3)["state_copies"];
  bool found = false;
  for (const Json& detail : copies["details"])
    for (const Json& copy : detail.value("block_copies", Json::array())) {
      found = true;
      EXPECT_THAT(copy["words"].get<std::string>(), StartsWith("block "));
      EXPECT_NE(copy["source"]["block"], copy["destination"]["block"]);
    }
  EXPECT_TRUE(found);
}

TEST_F(LessonData, PaddingHasItsSizesItsGraphAndItsArrays) {
  const Json padding = panels_of(data_of("graph_padding"), 2)["graph_padding"];
  EXPECT_EQ(padding["notes"][0], "Runtime mode FULL");
  EXPECT_EQ(padding["tables"][0]["strips"][0], Json::parse(R"({"name": "tokens", "items": [
      {"tokens": 3, "css": "real", "text": "3 real 0..2", "words": "3 real: tokens 0..2"},
      {"tokens": 1, "css": "role-padding pattern-stripes", "text": "P +1 3",
       "words": "1 of 4 padding: tokens 3"}]})"));
  EXPECT_EQ(padding["tables"][1]["rows"][1], Json::parse(R"(["FULL: uniform decodes",
      [{"text": "2", "css": "", "words": ""}, {"text": "4", "css": "real", "words": ""}], 4])"));
  const Json batch = padding["tables"][3];
  EXPECT_EQ(batch["title"], "Batch");
  EXPECT_EQ(batch["rows"][1][1][3], Json::parse(R"({"text": "P 0",
      "css": "role-padding pattern-stripes", "words": "padding"})"));
  const Json rows = panels_of(data_of("graph_padding"), 2)["batch_rows"]["tables"][0];
  EXPECT_EQ(rows["note"], "3 tokens, padded to 4; divided as for group 1 (mamba2)");
  EXPECT_EQ(rows["strips"][0]["items"][3],
            Json::parse(R"({"tokens": 1, "css": "role-padding pattern-stripes", "text": "P 3",
                            "words": "padding: tokens 3"})"));
}

TEST_F(LessonData, AStepKnowsTheFindingsUpToItAndNoLaterOne) {
  const Json& data = data_of("reading_a_finding");
  EXPECT_EQ(data["runs"][0]["steps"][1]["found"], "");
  EXPECT_EQ(data["runs"][0]["steps"][1]["has_error"], false);
  EXPECT_EQ(panels_of(data, 2)["findings"]["notes"][0], "No finding in the steps so far.");
  EXPECT_EQ(data["runs"][0]["steps"][2]["found"], "2 errors, 1 warning");
  EXPECT_EQ(data["runs"][0]["steps"][2]["has_error"], true);
  EXPECT_EQ(panels_of(data, 3)["findings"]["tables"][0]["rows"][0][2], "first, 1 follows");
  EXPECT_EQ(panels_of(data, 3)["findings"]["tables"][0]["rows"][0][3], "running-state-wrong");
}

TEST_F(LessonData, ADigestChangesWithTheQuestionsOnly) {
  Lesson lesson = shipped_lesson("align_boundary").value();
  const Json digest = lesson_data(lesson).value()["digest"];
  lesson.parts[0].text.push_back("Another sentence.");
  EXPECT_EQ(lesson_data(lesson).value()["digest"], digest);
  lesson.parts[0].questions[0].ask += " Once more?";
  EXPECT_NE(lesson_data(lesson).value()["digest"], digest);
}

TEST_F(LessonData, APartThatTheRunDoesNotReachIsAnErrorThatNamesIt) {
  Lesson lesson = shipped_lesson("align_boundary").value();
  lesson.parts[1].step = 40;
  const auto data = lesson_data(lesson);
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(data.error().message, StartsWith("align_boundary, part 2: "));
}

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

}  // namespace hybridscope::lesson_site_test
