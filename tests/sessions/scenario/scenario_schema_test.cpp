// docs/scenario.schema.json and docs/scenario-format.md against the tables of settings and
// policies. HYBRIDSCOPE_UPDATE_GOLDEN=1 in the environment rewrites the schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/engine/policy_table.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_reader.h"

namespace hybridscope::scenario_schema_test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;
const std::string kSchema = kRoot + "/docs/scenario.schema.json";
constexpr std::size_t kColumns = 100;

// On one line: {"type": "integer", "minimum": 1}.
std::string one_line(const Json& json) {
  if (!json.is_structured()) return json.dump();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += one_line(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

// What fits on a line from `column` on is written on one line.
std::string pretty(const Json& json, std::size_t indent, std::size_t column) {
  std::string text = one_line(json);
  if (!json.is_structured() || column + text.size() < kColumns) return text;
  const std::string margin(indent + 2, ' ');
  text = json.is_object() ? "{" : "[";
  for (const auto& [key, value] : json.items()) {
    const std::string name = json.is_object() ? Json(key).dump() + ": " : "";
    text += (text.size() > 1 ? ",\n" : "\n") + margin + name;
    text += pretty(value, indent + 2, margin.size() + name.size());
  }
  return text + "\n" + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

Json integers(const Setting& setting) {
  return {{"type", "integer"}, {"minimum", setting.min}, {"maximum", setting.max}};
}

// Type and range of a setting; words about it and patterns of text are the schema's own.
void set_range(const Setting& setting, Json& schema) {
  switch (setting.kind) {
    case SettingKind::boolean:
      schema["type"] = "boolean";
      break;
    case SettingKind::integer:
      schema.update(integers(setting));
      break;
    case SettingKind::byte_size:
      schema["anyOf"][0] = integers(setting);
      break;
    case SettingKind::fraction:
      schema.update(Json{{"type", "number"}, {"minimum", 0}, {"maximum", 1}});
      break;
    case SettingKind::choice:
      schema["enum"] = setting.choices;
      break;
    case SettingKind::integer_list:
      schema["type"] = "array";
      schema["items"] = integers(setting);
      break;
    case SettingKind::engine_profile:
      schema["type"] = "string";
      break;
  }
}

Json& object_in(Json& properties, const std::string& name) {
  Json& object = properties[name];
  if (object.is_null())
    object = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  return object;
}

// The settings of `shipped` that there are, then those that it lacks.
Json settings_schema(const Json& shipped) {
  Json properties = Json::object();
  const auto keep = [&](const std::string& section, const std::string& name, const Json& schema) {
    if (find_setting(section, name) == nullptr) return;
    (section.empty() ? properties : object_in(properties, section)["properties"])[name] = schema;
  };
  for (const auto& [name, schema] : shipped.items()) {
    if (!schema.contains("properties")) keep("", name, schema);
    if (name == "policies") properties[name];  // holds its place
    if (schema.contains("properties") && name != "policies")
      for (const auto& [inner, inner_schema] : schema["properties"].items())
        keep(name, inner, inner_schema);
  }
  for (const Setting& setting : settings_table()) {
    Json& holder = setting.section.empty()
                       ? properties
                       : object_in(properties, std::string(setting.section))["properties"];
    const bool is_new = !holder.contains(setting.name);
    Json& schema = holder[std::string(setting.name)];
    set_range(setting, schema);
    if (is_new && setting.section != "policies") schema["description"] = setting.help;
  }
  return properties;
}

// Those that may change from step to step.
Json policies_of_a_step() {
  Json properties = Json::object();
  for (const Policy& policy : policy_table())
    if (!policy.is_caching()) {
      const std::string name(policy.text.name);
      properties[name] = {{"$ref", "#/$defs/settings/properties/policies/properties/" + name}};
    }
  return properties;
}

TEST(ScenarioSchema, HasTheSettingsAndPoliciesOfTheTables) {
  const std::string shipped = read_text_file(kSchema).value();
  Json schema = Json::parse(shipped);
  Json& settings = schema["$defs"]["settings"]["properties"];
  settings = settings_schema(settings);
  schema["$defs"]["step"]["properties"]["policies"]["properties"] = policies_of_a_step();
  const std::string wanted = pretty(schema, 0, 0) + "\n";

  const char* update = std::getenv("HYBRIDSCOPE_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") std::ofstream(kSchema) << wanted;
  EXPECT_EQ(read_text_file(kSchema).value(), wanted);
}

TEST(ScenarioSchema, TakesEveryProfile) {
  const Json schema = Json::parse(read_text_file(kSchema).value());
  const Json& engine = schema["$defs"]["settings"]["properties"]["engine"];
  const std::regex pattern(engine["pattern"].get<std::string>());
  std::vector<std::string> profiles = {"safe", "reference", "pages", "vllm", "vllm@2026-06-29"};
  for (const std::string_view release : release_names())
    profiles.push_back("vllm-" + std::string(release));
  for (const std::string& profile : profiles)
    EXPECT_TRUE(std::regex_search(profile, pattern)) << profile;
  for (const std::string wrong : {"vllm-0.33", "vllm-", "vllm@2026", "safest"})
    EXPECT_FALSE(std::regex_search(wrong, pattern)) << wrong;
}

// "| `null_rows` | `skipped`, `run` | ": the safe value first.
std::string begin_of_row(const Policy& policy) {
  const auto values = policy.text.value_names();
  std::string row = "| `" + std::string(policy.text.name) + "` | `";
  row += values[policy.safe];
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i != policy.safe) row += "`, `" + std::string(values[i]);
  return row + "` | ";
}

TEST(ScenarioFormat, HasARowOfEverySettingAndPolicy) {
  const std::string page = read_text_file(kRoot + "/docs/scenario-format.md").value();
  for (const Policy& policy : policy_table())
    EXPECT_NE(page.find("\n" + begin_of_row(policy)), std::string::npos)
        << "docs/scenario-format.md lacks:\n"
        << begin_of_row(policy) << policy.text.help << " |";
  for (const Setting& setting : settings_table())
    if (setting.section != "policies") {
      const std::string begin = "| `" + std::string(setting.name) + "` | ";
      EXPECT_NE(page.find("\n" + begin), std::string::npos)
          << "docs/scenario-format.md lacks:\n"
          << begin << allowed_values(setting) << " | " << setting.default_text << " | "
          << setting.help << " |";
    }
}

}  // namespace
}  // namespace hybridscope::scenario_schema_test
