#include "sessions/scenario/scenario_reader.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/scenario/scenario_checks.h"
#include "sessions/scenario/scenario_expectation.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/scenario_script.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {
namespace {

// {"text": ...}, behind what it shares, whose length must be said.
PromptSpec read_text_prompt(const ObjectReader& reader, const JsonPlace& text, JsonErrors& errors) {
  PromptSpec prompt;
  prompt.text = read_string(text, errors);
  if (prompt.text.empty()) errors.fail(text.pointer, "expected a text, found \"\"");
  if (const auto tokens = reader.find("tokens"))
    errors.fail(tokens->pointer, "tokens and text (a text has one token a byte)");
  if (const auto share = reader.find("share")) {
    prompt.share = read_name(*share, errors);
    reader.require("share_tokens");
    prompt.share_tokens = static_cast<std::int32_t>(
        reader.integer("share_tokens", {1, kMaxPromptTokens}).value_or(1));
  }
  const std::size_t length = prompt.text.size() + static_cast<std::size_t>(prompt.share_tokens);
  if (length > kMaxPromptTokens)
    errors.fail(text.pointer, fmt::format("a prompt of {} tokens, expected at most {}", length,
                                          kMaxPromptTokens));
  prompt.tokens = static_cast<std::int32_t>(std::min<std::size_t>(length, kMaxPromptTokens));
  return prompt;
}

PromptSpec read_prompt(const JsonPlace& place, JsonErrors& errors) {
  const IntegerRange tokens = {1, kMaxPromptTokens};
  PromptSpec prompt;
  if (place.value->is_number()) {
    prompt.tokens = static_cast<std::int32_t>(read_integer(place, tokens, errors));
    return prompt;
  }
  if (!place.value->is_object()) {
    errors.fail(place.pointer, fmt::format("expected a number of tokens or an object, found {}",
                                           describe_json(*place.value)));
    return prompt;
  }
  const ObjectReader reader(place, {"tokens", "share", "share_tokens", "text"}, errors);
  if (const auto text = reader.find("text")) return read_text_prompt(reader, *text, errors);
  reader.require("tokens");
  prompt.tokens = static_cast<std::int32_t>(reader.integer("tokens", tokens).value_or(1));
  if (const auto share = reader.find("share")) {
    prompt.share = read_name(*share, errors);
    prompt.share_tokens = static_cast<std::int32_t>(
        reader.integer("share_tokens", {1, prompt.tokens}).value_or(prompt.tokens));
  } else if (reader.find("share_tokens")) {
    errors.fail(child_pointer(place.pointer, "share_tokens"),
                "share_tokens without share (expected the name of what is shared)");
  }
  return prompt;
}

ScenarioRequest read_request(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(
      place, {"id", "prompt", "max_tokens", "priority", "at_step", "arrival_us", "cache_salt"},
      errors);
  ScenarioRequest request;
  if (const auto id = reader.require("id")) request.id = read_name(*id, errors);
  if (const auto prompt = reader.require("prompt")) request.prompt = read_prompt(*prompt, errors);
  const auto int32 = [&](std::string_view key, const IntegerRange& range, std::int32_t fallback) {
    return static_cast<std::int32_t>(reader.integer(key, range).value_or(fallback));
  };
  request.max_tokens = int32("max_tokens", {1, kMaxOutputTokens}, request.max_tokens);
  request.priority = int32("priority", {-1'000'000, 1'000'000}, request.priority);
  request.at_step = int32("at_step", {1, kMaxStep}, request.at_step);
  request.arrival_us = reader.integer("arrival_us", {0, kMaxArrivalUs}).value_or(0);
  request.cache_salt =
      static_cast<std::uint64_t>(reader.integer("cache_salt", {0, INT64_MAX}).value_or(0));
  return request;
}

// Refuses other versions before any other key is checked.
bool read_version(const nlohmann::json& root, JsonErrors& errors) {
  const JsonPlace place = {&root, ""};
  if (!root.is_object()) {
    read_members(place, errors);
    return false;
  }
  const auto version = root.find("version");
  if (version == root.end())
    errors.fail("", fmt::format("key \"version\" is missing (expected {})", kScenarioVersion));
  else if (*version != kScenarioVersion)
    errors.fail("/version", fmt::format("version is {} (this program reads version {})",
                                        describe_json(*version), kScenarioVersion));
  return !errors.failed();
}

Scenario read_scenario(const nlohmann::json& root, JsonErrors& errors) {
  const std::vector<std::string_view> keys = {"version", "name",     "teaches", "model", "settings",
                                              "twin",    "requests", "script",  "expect"};
  report_misplaced_settings({&root, ""}, keys, errors);
  const ObjectReader reader({&root, ""}, keys, errors);
  Scenario scenario;
  scenario.name = reader.string("name").value_or("");
  scenario.teaches = reader.string("teaches").value_or("");
  if (const auto model = reader.require("model")) {
    scenario.model = read_string(*model, errors);
    if (scenario.model.empty())
      errors.fail(model->pointer,
                  "expected a preset name or the path of a config.json, found \"\"");
  }
  if (const auto settings = reader.find("settings"))
    scenario.settings = read_settings(*settings, errors);
  if (const auto twin = reader.find("twin")) scenario.twin = read_changed_settings(*twin, errors);
  if (const auto requests = reader.require("requests"))
    for (const JsonPlace& request : read_array(*requests, errors))
      scenario.requests.push_back(read_request(request, errors));
  if (const auto script = reader.find("script")) scenario.script = read_script(*script, errors);
  if (const auto expect = reader.find("expect"))
    scenario.expect = read_expectation(*expect, errors);
  return scenario;
}

// A file of scenarios/bugs contains a scenario together with the description of a bug.
bool is_known_bug(const nlohmann::json& json) {
  return json.is_object() && json.contains("mechanism") && json.contains("scenario");
}

Error no_known_bug(const std::string& file) {
  const std::string id = std::filesystem::path(file).stem().string();
  return invalid_input(
      fmt::format("{0}: a known bug with a scenario in it, expected a scenario (hybridscope bugs "
                  "run {1}, or bugs show {1} --scenario faulty > FILE)",
                  file, id));
}

}  // namespace

Result<Scenario> parse_scenario(const ScenarioText& scenario_text) {
  const Result<nlohmann::json> json =
      parse_json({.text = scenario_text.text, .file = scenario_text.file});
  if (!json.ok()) return json.error();
  if (is_known_bug(json.value())) return no_known_bug(std::string(scenario_text.file));
  return read_inner_scenario({&json.value(), ""}, std::string(scenario_text.file));
}

Result<Scenario> read_inner_scenario(const JsonPlace& place, const std::string& file) {
  JsonErrors errors(file, place.pointer);
  if (!read_version(*place.value, errors)) return errors.error();
  Scenario scenario = read_scenario(*place.value, errors);
  if (!errors.failed()) check_scenario(scenario, errors);
  if (errors.failed()) return errors.error();
  return scenario;
}

Status check_scenario(const Scenario& scenario) {
  JsonErrors errors("scenario");
  if (const auto conflict = find_setting_conflict(scenario.settings))
    errors.fail("/settings/" + conflict->setting, conflict->message);
  check_scenario(scenario, errors);
  if (errors.failed()) return errors.error();
  return Ok{};
}

Result<Scenario> read_scenario_file(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  Result<Scenario> scenario = parse_scenario({.text = text.value(), .file = path});
  if (scenario.ok() && scenario.value().name.empty())
    scenario.value().name = std::filesystem::path(path).stem().string();
  return scenario;
}

}  // namespace hybridscope
