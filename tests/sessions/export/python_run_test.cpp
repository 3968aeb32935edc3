#include "sessions/export/python_run.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "sessions/export/pytest_text.h"
#include "sessions/export/step_actions.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::python_run_test {
namespace {

TEST(PythonText, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(python_string("A"), R"("A")");
  EXPECT_EQ(python_string("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(python_string("\x01"), R"("\u0001")");
  EXPECT_EQ(python_string("ü"), "\"ü\"");
}

TEST(PythonText, WhatIsNoUtf8IsReplaced) { EXPECT_EQ(python_string("\xFF"), "\"\xEF\xBF\xBD\""); }

TEST(PythonText, ACommentStaysOnItsLine) {
  EXPECT_EQ(python_comment("two\nlines"), R"(two\nlines)");
}

TEST(PythonText, WhatIsExportedOfAShippedScenarioCompiles) {
  const test::TemporaryFolder folder;
  std::string files;
  const auto write = [&](const std::string& text) {
    const std::string file = folder / (std::to_string(files.size()) + ".py");
    std::ofstream(file) << text;
    files += " " + file;
  };
  for (const std::string& path : test::shipped_scenarios()) {
    Scenario scenario = read_scenario_file(path).value();
    scenario.settings.async_scheduling = false;
    scenario.settings.engine = EngineProfile::reference;
    const ExportedRun run = make_exported_run(scenario, path).value();
    std::vector<std::string> requests;
    for (const ExportedRequest& request : run.requests) requests.push_back(request.id);
    write(step_actions_text(run, requests));
    write(pytest_text(run).value());
  }
  EXPECT_EQ(std::system(("PYTHONDONTWRITEBYTECODE=1 python3 -c 'import ast, sys; "
                         "[ast.parse(open(f).read(), f) for f in sys.argv[1:]]'" +
                         files)
                            .c_str()),
            0);
}

}  // namespace

}  // namespace hybridscope::python_run_test
