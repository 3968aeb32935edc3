#include "sessions/scenario/scenario_writer.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sessions/scenario/scenario_parts.h"
#include "sessions/scenario/settings_json.h"

namespace hybridscope {
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
