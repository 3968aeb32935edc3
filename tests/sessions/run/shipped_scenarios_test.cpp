// The files under scenarios/ and the examples of the format's document.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/policy_set.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/text/json_reader.h"

namespace hybridscope::shipped_scenarios_test {
namespace {

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios"))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Fenced JSON blocks of docs/scenario-format.md that hold a scenario.
std::vector<std::string> document_examples() {
  const std::string text = read_text_file(kRoot + "/docs/scenario-format.md").value();
  std::vector<std::string> examples;
  const std::string fence = "```json\n";
  for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const std::size_t first = at + fence.size();
    const std::string block = text.substr(first, text.find("```", first) - first);
    if (block.find("\"version\"") != std::string::npos) examples.push_back(block);
  }
  return examples;
}

TEST(ShippedScenarios, AreAtLeastTwelve) { EXPECT_GE(scenario_files().size(), 12U); }

TEST(ShippedScenarios, TeachOneSentenceAndExpectNoErrors) {
  for (const std::string& file : scenario_files()) {
    const auto scenario = read_scenario_file(file);
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const Scenario& s = scenario.value();
    EXPECT_GT(s.teaches.size(), 40U) << file;
    EXPECT_TRUE(s.teaches.ends_with('.')) << file;
    std::string name = s.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    EXPECT_EQ(name, std::filesystem::path(file).stem()) << file;
    ASSERT_TRUE(s.expect.findings) << file;
    for (const ExpectedFinding& finding : *s.expect.findings)
      EXPECT_EQ(finding.rule, "drafts-cut") << file;  // a warning
    // They show what the reference or a release does: the state that the first leaves is never
    // read, and profile safe has no layers that store a state inside a prefill.
    if (s.name != "padded one token prompt" && s.name != "state inside a prefill") {
      EXPECT_EQ(resolve_policies(s.settings), safe_policies()) << file;
    }
    EXPECT_TRUE(resolve_requests(s).ok()) << file;
  }
}

TEST(ShippedScenarios, ReadBackEqualAfterWriting) {
  for (const std::string& file : scenario_files()) {
    const Scenario scenario = read_scenario_file(file).value();
    EXPECT_EQ(parse_scenario({.text = write_scenario(scenario), .file = file}).value(), scenario);
  }
}

TEST(ScenarioDocument, ExamplesAreScenariosAndTheFirstHas15Lines) {
  const std::vector<std::string> examples = document_examples();
  ASSERT_FALSE(examples.empty());
  for (const std::string& example : examples) {
    const auto scenario = parse_scenario({.text = example, .file = "docs/scenario-format.md"});
    EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  }
  EXPECT_LE(std::count(examples[0].begin(), examples[0].end(), '\n'), 15);
}

}  // namespace
}  // namespace hybridscope::shipped_scenarios_test
