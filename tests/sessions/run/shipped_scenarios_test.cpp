// The files under scenarios/, the examples of the format's document, and the schema.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/scenario/settings_table.h"
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
    // Its lesson is what the reference does; nobody reads the state that it leaves.
    if (s.name != "padded one token prompt") {
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

TEST(ScenarioDocument, NamesEverySettingWithItsDefault) {
  const std::string text = read_text_file(kRoot + "/docs/scenario-format.md").value();
  for (const Setting& setting : settings_table()) {
    const std::string row = "| `" + std::string(setting.name) + "` |";
    EXPECT_NE(text.find(row), std::string::npos) << setting_path(setting);
  }
}

// The schema of one setting, or null.
nlohmann::json schema_of(const nlohmann::json& schema, const Setting& setting) {
  nlohmann::json at = schema["$defs"]["settings"]["properties"];
  if (!setting.section.empty()) at = at[std::string(setting.section)]["properties"];
  return at[std::string(setting.name)];
}

TEST(ScenarioSchema, HasEverySettingWithItsRange) {
  const std::string path = kRoot + "/docs/scenario.schema.json";
  const std::string text = read_text_file(path).value();
  const nlohmann::json schema = parse_json({.text = text, .file = path}).value();
  std::size_t properties = 0;
  for (const auto& property : schema["$defs"]["settings"]["properties"])
    properties += property.contains("properties") ? property["properties"].size() : 1;
  EXPECT_EQ(properties, settings_table().size());

  for (const Setting& setting : settings_table()) {
    const nlohmann::json found = schema_of(schema, setting);
    ASSERT_TRUE(found.is_object()) << setting_path(setting);
    if (setting.kind == SettingKind::choice) {
      EXPECT_EQ(found["enum"].get<std::vector<std::string>>(),
                std::vector<std::string>(setting.choices.begin(), setting.choices.end()));
      continue;
    }
    if (setting.kind == SettingKind::boolean) {
      EXPECT_EQ(found["type"], "boolean") << setting_path(setting);
      continue;
    }
    if (setting.kind == SettingKind::engine_profile) {
      EXPECT_EQ(found["pattern"], "^(safe|pages|vllm@20[0-9]{2}-[0-9]{2}-[0-9]{2})$");
      continue;
    }
    const nlohmann::json& range = setting.kind == SettingKind::byte_size      ? found["anyOf"][0]
                                  : setting.kind == SettingKind::integer_list ? found["items"]
                                                                              : found;
    const bool fraction = setting.kind == SettingKind::fraction;
    EXPECT_EQ(range["type"], fraction ? "number" : "integer") << setting_path(setting);
    EXPECT_EQ(range["minimum"], fraction ? 0 : setting.min) << setting_path(setting);
    EXPECT_EQ(range["maximum"], fraction ? 1 : setting.max) << setting_path(setting);
  }
}

}  // namespace
}  // namespace hybridscope::shipped_scenarios_test
