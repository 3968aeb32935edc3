// What docs/scenarios.md and docs/debug.md show is what the program prints and what the files say.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::documents_test {
namespace {

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

// The text between the marks <!-- NAME --> and <!-- /NAME --> of a page.
std::string marked(const std::string& page, const std::string& name) {
  const std::string text = read_file(kRoot + "/" + page);
  const std::string begin = "<!-- " + name + " -->\n";
  const std::size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.find("<!-- /" + name + " -->") - at);
}

TEST(Documents, ThePageOfScenariosShowsWhatTheDemoPrints) {
  const ProgramResult run = run_program("run scenarios/align_boundary_by_decode.json --no-timings");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(marked("docs/scenarios.md", "demo"), "```\n" + run.out + "```\n");
}

TEST(Documents, TheFirstBreakExpressionOfThePageIsOne) {
  ASSERT_THAT(read_file(kRoot + "/docs/debug.md"),
              testing::HasSubstr("hybridscope run SCENARIO.json --break finding "));
  EXPECT_EQ(run_program("run -q scenarios/plain_decode.json --break finding").exit_code, 0);
}

TEST(Documents, TheScenarioTableHasARowForEachFileAndSaysWhatItTeaches) {
  std::set<std::string> rows;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    const nlohmann::json scenario = nlohmann::json::parse(read_file(entry.path().string()));
    rows.insert("| [" + name + "](../scenarios/" + name + ".json) | " +
                scenario.at("teaches").get<std::string>() + " |\n");
  }
  ASSERT_GT(rows.size(), 20U);
  std::string table = "| scenario | what it shows |\n|---|---|\n";
  for (const std::string& row : rows) table += row;
  EXPECT_EQ(marked("docs/scenarios.md", "scenarios"), table);
}

}  // namespace
}  // namespace hybridscope::test::documents_test
