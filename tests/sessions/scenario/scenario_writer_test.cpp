#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/engine/aligned_split_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_reader.h"

namespace hybridscope::scenario_writer_test {
namespace {

// Every optional part present.
Scenario full_scenario() {
  Scenario scenario;
  scenario.name = "full";
  scenario.teaches = "All keys, \"quoted\" and ü.";
  scenario.model = "tiny-mamba2";
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.kv_cache_memory_bytes = std::int64_t{1} << 30;
  scenario.settings.block_size = 8;
  scenario.settings.watermark = 0.1;
  scenario.settings.num_speculative_tokens = 2;
  scenario.settings.cudagraph_capture_sizes = {1, 2, 4};
  scenario.settings.policies.set(AlignedSplit::until_last_cache_position);
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 9},
                       {.id = "B",
                        .prompt = {.tokens = 22, .share = "A", .share_tokens = 14},
                        .priority = 2,
                        .at_step = 3,
                        .arrival_us = 1,
                        .cache_salt = 9},
                       {.id = "C", .prompt = {.tokens = 4, .share = "text", .share_tokens = 4}}};
  scenario.script = {
      {.step = 3,
       .budget = 3,
       .accept = {{"A", 2}, {"B", 1}},
       .drafts = {{"A", 0}},
       .preempt = {"A"},
       .abort = {"B"},
       .reset_prefix_cache = PrefixCacheReset::preempting_running},
      {.step = 5, .reset_prefix_cache = PrefixCacheReset::unless_running},
      {.step = 6, .engine = EngineProfile::reference, .policies = {NoDraftStep::column_zero}}};
  scenario.expect = {.findings = {{{.rule = "label-mismatch", .step = 3, .request = "A"},
                                   {.rule = "no-progress"}}},
                     .steps = 7,
                     .finished = 2};
  return scenario;
}

TEST(ScenarioWriter, WritesOneLineARequestAndAStep) {
  EXPECT_EQ(write_scenario(full_scenario()), R"({
  "version": 1,
  "name": "full",
  "teaches": "All keys, \"quoted\" and ü.",
  "model": "tiny-mamba2",
  "settings": {"mamba_cache_mode": "align", "kv_cache_memory_bytes": "1GiB", "block_size": 8, "watermark": 0.1, "speculative_config": {"num_speculative_tokens": 2}, "cudagraph_capture_sizes": [1, 2, 4], "policies": {"aligned_split": "until_last_cache_position"}},
  "requests": [
    {"id": "A", "prompt": 6, "max_tokens": 9},
    {"id": "B", "prompt": {"tokens": 22, "share": "A", "share_tokens": 14}, "priority": 2, "at_step": 3, "arrival_us": 1, "cache_salt": 9},
    {"id": "C", "prompt": {"tokens": 4, "share": "text"}}],
  "script": [
    {"step": 3, "budget": 3, "accept": {"A": 2, "B": 1}, "drafts": {"A": 0}, "preempt": ["A"], "abort": ["B"], "reset_prefix_cache": {"running": true}},
    {"step": 5, "reset_prefix_cache": true},
    {"step": 6, "engine": "reference", "policies": {"no_draft_step": "column_zero"}}],
  "expect": {"findings": [{"rule": "label-mismatch", "step": 3, "request": "A"}, {"rule": "no-progress"}], "steps": 7, "finished": 2}
}
)");
}

TEST(ScenarioWriter, WhatIsWrittenReadsBackEqual) {
  const Scenario scenario = full_scenario();
  const auto back = parse_scenario({.text = write_scenario(scenario), .file = "s.json"});
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), scenario);
}

TEST(ScenarioWriter, EverySettingReadsBackEqual) {
  Scenario scenario;
  scenario.model = "tiny-gdn";
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}}};
  for (const Setting& setting : settings_table()) {
    const std::string text =
        setting.kind == SettingKind::choice           ? std::string(setting.choices.back())
        : setting.kind == SettingKind::engine_profile ? "vllm@2026-06-29"
        : setting.kind == SettingKind::boolean        ? "false"
        : setting.kind == SettingKind::fraction       ? "0.125"
        : setting.name == "max_num_batched_tokens" || setting.name == "max_model_len" ||
                setting.name == "long_prefill_token_threshold"
            ? "4096"
            : std::to_string(std::min<std::int64_t>(setting.max, 17));
    ASSERT_TRUE(set_setting_text(scenario.settings, setting, text).ok()) << setting.name;
  }
  scenario.settings.block_size = 32;
  scenario.settings.kv_cache_memory_bytes.reset();  // gpu_memory_bytes is set
  scenario.settings.gpu_memory_bytes = 1 << 30;
  scenario.settings.ssm_conv_state_layout = ConvStateLayout::SD;  // the runner is v2
  scenario.twin.emplace();
  scenario.twin->async_scheduling = true;
  const auto back = parse_scenario({.text = write_scenario(scenario), .file = "s.json"});
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), scenario);
}

TEST(ScenarioWriter, NoFindingsIsWrittenAsAWord) {
  Scenario scenario;
  scenario.model = "tiny-gdn";
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}}};
  scenario.expect.findings.emplace();
  EXPECT_EQ(write_scenario(scenario), R"({
  "version": 1,
  "model": "tiny-gdn",
  "requests": [
    {"id": "A", "prompt": 6}],
  "expect": {"findings": "none"}
}
)");
}

// docs/scenario.schema.json and docs/scenario-format.md against the tables of settings and
// policies. HYBRIDSCOPE_UPDATE_GOLDEN=1 in the environment rewrites the schema.

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
    case SettingKind::boolean: schema["type"] = "boolean"; break;
    case SettingKind::integer:
      if (setting.takes_none)
        schema["anyOf"][0] = integers(setting);
      else
        schema.update(integers(setting));
      break;
    case SettingKind::byte_size: schema["anyOf"][0] = integers(setting); break;
    case SettingKind::fraction:
      schema.update(Json{{"type", "number"}, {"minimum", 0}, {"maximum", 1}});
      break;
    case SettingKind::choice: schema["enum"] = setting.choices; break;
    case SettingKind::integer_list:
      schema["type"] = "array";
      schema["items"] = integers(setting);
      break;
    case SettingKind::engine_profile: schema["type"] = "string"; break;
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

TEST(ScenarioFormat, HasARowOfEverySetting) {
  const std::string page = read_text_file(kRoot + "/docs/scenario-format.md").value();
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

}  // namespace hybridscope::scenario_writer_test
