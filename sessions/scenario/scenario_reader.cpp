#include "sessions/scenario/scenario_reader.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "sessions/scenario/scenario_parts.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

// {"text": ...}, behind what it shares, whose length must be said.
PromptSpec read_text_prompt(const JsonValue& place, const JsonValue& text) {
  PromptSpec prompt;
  prompt.text = text.string();
  if (prompt.text.empty()) text.expected("a text");
  if (const auto tokens = place.find("tokens"))
    tokens->fail("tokens and text (a text has one token a byte)");
  if (const auto share = place.find("share")) {
    prompt.share = share->name();
    prompt.share_tokens = place.require("share_tokens").int32({1, kMaxPromptTokens});
  }
  const std::size_t length = prompt.text.size() + static_cast<std::size_t>(prompt.share_tokens);
  if (length > kMaxPromptTokens)
    text.fail(fmt::format("a prompt of {} tokens, expected at most {}", length, kMaxPromptTokens));
  prompt.tokens = static_cast<std::int32_t>(std::min<std::size_t>(length, kMaxPromptTokens));
  return prompt;
}

PromptSpec read_prompt(const JsonValue& place) {
  const IntegerRange tokens = {1, kMaxPromptTokens};
  if (place.is_number()) return {.tokens = place.int32(tokens)};
  if (!place.is_object()) place.expected("a number of tokens or an object");
  place.check_keys({"tokens", "share", "share_tokens", "text"});
  if (const auto text = place.find("text")) return read_text_prompt(place, *text);
  PromptSpec prompt{.tokens = place.require("tokens").int32(tokens)};
  if (const auto share = place.find("share")) {
    prompt.share = share->name();
    prompt.share_tokens =
        place.int32_at("share_tokens", {1, prompt.tokens}).value_or(prompt.tokens);
  } else if (place.find("share_tokens")) {
    place.fail_at("share_tokens",
                  "share_tokens without share (expected the name of what is shared)");
  }
  return prompt;
}

ScenarioRequest read_request(const JsonValue& place) {
  place.check_keys(
      {"id", "prompt", "max_tokens", "priority", "at_step", "arrival_us", "cache_salt"});
  ScenarioRequest request;
  request.id = place.require("id").name();
  request.prompt = read_prompt(place.require("prompt"));
  const auto int32 = [&](std::string_view key, const IntegerRange& range, std::int32_t fallback) {
    return place.int32_at(key, range).value_or(fallback);
  };
  request.max_tokens = int32("max_tokens", {1, kMaxOutputTokens}, request.max_tokens);
  request.priority = int32("priority", {-1'000'000, 1'000'000}, request.priority);
  request.at_step = int32("at_step", {1, kMaxStep}, request.at_step);
  request.arrival_us = place.int64_at("arrival_us", {0, kMaxArrivalUs}).value_or(0);
  request.cache_salt =
      static_cast<std::uint64_t>(place.int64_at("cache_salt", {0, INT64_MAX}).value_or(0));
  return request;
}

// Refuses other versions before any other key is checked.
void read_version(const JsonValue& root) {
  if (!root.is_object()) root.expected("an object");
  const auto version = root.find("version");
  if (!version)
    root.fail(fmt::format("key \"version\" is missing (expected {})", kScenarioVersion));
  if (version->whole() != kScenarioVersion)
    version->fail(fmt::format("version is {} (this program reads version {})", version->describe(),
                              kScenarioVersion));
}

Scenario read_scenario(const JsonValue& root) {
  read_version(root);
  const std::vector<std::string_view> keys = {"version", "name",     "teaches", "model", "settings",
                                              "twin",    "requests", "script",  "expect"};
  report_misplaced_settings(root, keys);
  root.check_keys(keys);
  Scenario scenario;
  scenario.name = root.string_at("name").value_or("");
  scenario.teaches = root.string_at("teaches").value_or("");
  const JsonValue model = root.require("model");
  scenario.model = model.string();
  if (scenario.model.empty()) model.expected("a preset name or the path of a config.json");
  if (const auto settings = root.find("settings")) scenario.settings = read_settings(*settings);
  if (const auto twin = root.find("twin")) scenario.twin = read_changed_settings(*twin);
  for (const JsonValue& request : root.require("requests").elements())
    scenario.requests.push_back(read_request(request));
  if (const auto script = root.find("script")) scenario.script = read_script(*script);
  if (const auto expect = root.find("expect")) scenario.expect = read_expectation(*expect);
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
  return read_json(scenario_text.file,
                   [&] { return read_inner_scenario(JsonValue(json.value())); });
}

Scenario read_inner_scenario(const JsonValue& place) {
  Scenario scenario = read_scenario(place);
  read_json_at(place.pointer(), [&] { check_consistency(scenario); });
  return scenario;
}

Status check_scenario(const Scenario& scenario) {
  return read_json("scenario", [&] {
    if (const auto conflict = find_setting_conflict(scenario.settings))
      throw JsonFault("/settings/" + conflict->setting, conflict->message);
    check_consistency(scenario);
  });
}

Result<Scenario> read_scenario_file(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  Result<Scenario> scenario = parse_scenario({.text = text.value(), .file = path});
  if (scenario.ok() && scenario.value().name.empty())
    scenario.value().name = std::filesystem::path(path).stem().string();
  return scenario;
}

namespace {

using Json = nlohmann::ordered_json;

Json prompt_to_json(const PromptSpec& prompt) {
  if (!prompt.text.empty()) {
    Json json = {{"text", prompt.text}};
    if (prompt.share_tokens > 0) {
      json["share"] = prompt.share;
      json["share_tokens"] = prompt.share_tokens;
    }
    return json;
  }
  if (prompt.share.empty()) return prompt.tokens;
  Json json = {{"tokens", prompt.tokens}, {"share", prompt.share}};
  if (prompt.share_tokens != prompt.tokens) json["share_tokens"] = prompt.share_tokens;
  return json;
}

Json request_to_json(const ScenarioRequest& request) {
  const ScenarioRequest defaults;
  Json json = {{"id", request.id}, {"prompt", prompt_to_json(request.prompt)}};
  if (request.max_tokens != defaults.max_tokens) json["max_tokens"] = request.max_tokens;
  if (request.priority != defaults.priority) json["priority"] = request.priority;
  if (request.at_step != defaults.at_step) json["at_step"] = request.at_step;
  if (request.arrival_us != defaults.arrival_us) json["arrival_us"] = request.arrival_us;
  if (request.cache_salt != defaults.cache_salt) json["cache_salt"] = request.cache_salt;
  return json;
}

// One line, with a space after each comma and colon.
void write_line(std::string& out, const Json& json) {
  if (!json.is_structured()) {
    out += json.dump();
    return;
  }
  out += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    if (!first) out += ", ";
    first = false;
    if (json.is_object()) out += Json(key).dump() + ": ";
    write_line(out, value);
  }
  out += json.is_object() ? '}' : ']';
}

void write_member(std::string& out, std::string_view key, const Json& value) {
  out += out.size() > 1 ? ",\n  \"" : "\n  \"";
  out.append(key).append("\": ");
  write_line(out, value);
}

// One line per element.
void write_array_member(std::string& out, std::string_view key, const std::vector<Json>& elements) {
  out.append(",\n  \"").append(key).append("\": [");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    write_line(out, elements[i]);
  }
  out += ']';
}

}  // namespace

std::string write_scenario(const Scenario& scenario) {
  std::string out = "{";
  write_member(out, "version", scenario.version);
  if (!scenario.name.empty()) write_member(out, "name", scenario.name);
  if (!scenario.teaches.empty()) write_member(out, "teaches", scenario.teaches);
  write_member(out, "model", scenario.model);
  if (const Json settings = settings_to_json(scenario.settings); !settings.empty())
    write_member(out, "settings", settings);
  if (scenario.twin) write_member(out, "twin", settings_to_json(*scenario.twin));
  std::vector<Json> requests;
  for (const ScenarioRequest& request : scenario.requests)
    requests.push_back(request_to_json(request));
  write_array_member(out, "requests", requests);
  std::vector<Json> script;
  for (const ScriptStep& step : scenario.script) script.push_back(script_step_to_json(step));
  if (!script.empty()) write_array_member(out, "script", script);
  if (scenario.expect != Expectation{})
    write_member(out, "expect", expectation_to_json(scenario.expect));
  return out + "\n}\n";
}

}  // namespace hybridscope
