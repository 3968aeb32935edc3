// hybridscope lessons export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sessions/lessons/lesson.h"
#include "tests/cli/program.h"

namespace hybridscope::test::lessons_export_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

// The lesson align_boundary, whose first answer is 3, with this answer and its scenario inside.
std::string own_lesson(int answer) {
  const std::string scenarios = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/";
  json lesson = json::parse(read_file(scenarios + "lessons/align_boundary.json"));
  lesson["parts"][0]["questions"][0]["answer"] = answer;
  lesson["scenario"] = json::parse(read_file(scenarios + "align_boundary_by_accepted_drafts.json"));
  return lesson.dump();
}

TEST(LessonsExport, MakesAFolderWithAPageForEachLessonThatIsNamed) {
  const std::string folder = temporary_folder("site", {}) + "/new/folder";
  const ProgramResult done = run_program("lessons export --html " + folder + " gdn_rows");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.out, "1 lesson in " + folder + "; open " + folder + "/index.html in a browser\n");
  EXPECT_THAT(names_in(folder),
              ElementsAre("gdn_rows.html", "index.html", "lesson.css", "lesson.js"));
}

TEST(LessonsExport, ReplacesWhatAnEarlierExportWroteAndLeavesTheRest) {
  const std::string folder = temporary_folder(
      "again", {{"gdn_rows.html", std::string("<!-- ") + std::string(kLessonSiteMark) + " -->"},
                {"notes.txt", "mine"}});
  EXPECT_EQ(run_program("lessons export --html " + folder + " gdn_rows").exit_code, 0);
  EXPECT_THAT(read_file(folder + "/gdn_rows.html"), HasSubstr("id=\"lesson-data\""));
  EXPECT_EQ(read_file(folder + "/notes.txt"), "mine");
}

TEST(LessonsExport, WritesNothingWhereAForeignFileIsInTheWay) {
  const std::string folder = temporary_folder("foreign", {{"lesson.js", "mine"}});
  const ProgramResult done = run_program("lessons export --html " + folder + " gdn_rows");
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_EQ(done.err,
            "hybridscope lessons export: " + folder +
                "/lesson.js: there is a file of that name which no export of lessons wrote; "
                "nothing was written, expected an empty folder or an earlier export\n");
  EXPECT_THAT(names_in(folder), ElementsAre("lesson.js"));
  EXPECT_EQ(read_file(folder + "/lesson.js"), "mine");
}

TEST(LessonsExport, APlaceThatIsNoFolderIsExitCode4) {
  const std::string file = temporary_file("a_file", "text");
  const ProgramResult done = run_program("lessons export --html " + file + " gdn_rows");
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err,
              StartsWith("hybridscope lessons export: " + file + ": cannot be made a folder: "));
  EXPECT_EQ(read_file(file), "text");
}

// Pages show the engine's answers only.
TEST(LessonsExport, AnAnswerThatIsNotTheEnginesIsExitCode1AndNoSite) {
  const std::string folder = temporary_folder("wrong", {});
  const ProgramResult done = run_program("lessons export --html " + folder + " " +
                                         temporary_file("own.json", own_lesson(4)));
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, EndsWith("part 1, question 1: the lesson says 4, the engine 3\n"));
  EXPECT_EQ(done.out, "");
  EXPECT_TRUE(names_in(folder).empty());
}

TEST(LessonsExport, TwoLessonsOfOneNameOrOneCalledIndexHaveNoPlace) {
  const std::string folder = temporary_folder("names", {});
  const ProgramResult twice = run_program("lessons export --html " + folder + " gdn_rows gdn_rows");
  EXPECT_EQ(twice.exit_code, 3);
  EXPECT_THAT(twice.err, HasSubstr("two pages would be gdn_rows.html"));
  const ProgramResult index =
      run_program("lessons export --html " + folder + " " +
                  temporary_folder("lessons", {{"index.json", own_lesson(3)}}) + "/index.json");
  EXPECT_EQ(index.exit_code, 3);
  EXPECT_THAT(index.err, HasSubstr("two pages would be index.html"));
  EXPECT_TRUE(names_in(folder).empty());
}

TEST(LessonsExport, WhatIsMissingOrUnknownIsSaid) {
  const ProgramResult missing = run_program("lessons export");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--html"));
  const ProgramResult unknown = run_program("lessons export --html /tmp/never gdn_row");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, StartsWith("hybridscope lessons export: there is no lesson \"gdn_row\", "
                                      "did you mean \"gdn_rows\"?"));
}

}  // namespace
}  // namespace hybridscope::test::lessons_export_test
