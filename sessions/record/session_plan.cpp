#include "sessions/record/session_plan.h"

#include <fmt/format.h>

#include <simdjson.h>
#include <algorithm>
#include <array>
#include <iterator>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/engine/engine.h"
#include "sessions/record/model_json.h"
#include "sessions/record/plan_requests.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_checks.h"
#include "sessions/scenario/scenario_parts.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// In the order in which they are written.
constexpr std::array<std::string_view, 9> kPlanKeys = {
    "version", "name", "teaches", "model", "settings", "requests", "script", "expect", "notes"};

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_member(fmt::memory_buffer& out, std::string_view key, std::string_view json) {
  fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", out.size() == 0 ? "{" : ",\n", key, json);
}

// Reads a small part of the plan with a reader of scenario files, which have no key twice.
template <class Read>
auto read_small(const JsonValue& part, const std::string& file, Read read) {
  const auto json = parse_json({.text = part.dump(), .file = file});
  if (!json.ok()) part.fail(json.error().message);
  return read_json_at(part.pointer(), [&] { return read(JsonValue(json.value())); });
}

void check_version(const JsonValue& root) {
  const JsonValue version = root.require("version");
  if (version.whole() != kSessionPlanVersion)
    version.fail(fmt::format("version is {} (this program reads version {})", version.describe(),
                             kSessionPlanVersion));
}

void check_keys(const JsonValue& root) {
  std::set<std::string_view> seen;
  root.each_member([&](std::string_view key, const JsonValue& member) {
    if (std::find(kPlanKeys.begin(), kPlanKeys.end(), key) == kPlanKeys.end())
      member.fail(fmt::format("unknown key {}{}", quoted_text(key),
                              nearest_key_hint(key, {kPlanKeys.begin(), kPlanKeys.end()})));
    if (!seen.insert(key).second) member.fail("this key occurs twice");
  });
  for (const std::string_view key : kPlanKeys) root.require(key);
}

RunPlan read_parts(const JsonValue& root, const std::string& file) {
  return {.name = root.require("name").string(),
          .teaches = root.require("teaches").string(),
          .settings = read_small(root.require("settings"), file, read_settings),
          .setup = {},
          .requests = read_requests(root.require("requests")),
          .script = read_small(root.require("script"), file, read_script),
          .expect = read_small(root.require("expect"), file, read_expectation),
          .notes = root.require("notes").strings()};
}

JoinSteps join_steps(const RunPlan& plan) {
  JoinSteps steps;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    const std::string& name = plan.requests[i].request.name;
    if (!steps.emplace(name, plan.requests[i].at_step).second)
      throw JsonFault(fmt::format("/requests/{}/id", i),
                      fmt::format("request {} is there twice", quoted_text(name)));
  }
  return steps;
}

// Checks the parts against each other and makes the set-up.
void complete(RunPlan& plan, const ModelSpec& model) {
  const JoinSteps requests = join_steps(plan);
  check_script(plan.script, plan.settings, requests);
  check_expectation(plan.expect, requests);
  auto setup = make_engine_setup(model, plan.settings);
  if (!setup.ok()) throw JsonFault("/settings", setup.error().message);
  if (const auto waiting = WaitingRequests::create(plan.requests); !waiting.ok()) {
    const std::string& message = waiting.error().message;  // "POINTER: ..."
    const std::size_t colon = message.find(": ");
    throw JsonFault(message.substr(0, colon), message.substr(colon + 2));
  }
  plan.setup = std::move(setup).value();
  for (std::size_t i = 0; i < plan.requests.size(); ++i)
    if (const Status fits = check_request_fits(plan.setup, plan.requests[i].request); !fits.ok())
      throw JsonFault(fmt::format("/requests/{}", i), fits.error().message);
}

// Calls read(root) with the plan's outermost object; all keys are there.
template <class Read>
auto read_plan(std::string_view text, const std::string& file, Read read)
    -> Result<decltype(read(std::declval<JsonValue>()))> {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (const auto wrong = parser.parse(text.data(), text.size()).get(element))
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: no plan of a run: {}", file, simdjson::error_message(wrong))};
  return read_json(file, [&] {
    const auto root = JsonValue::of_line(element);
    check_version(root);
    check_keys(root);
    return read(root);
  });
}

}  // namespace

std::string write_session_plan(const RunPlan& plan) {
  fmt::memory_buffer out;
  append_member(out, "version", std::to_string(kSessionPlanVersion));
  append_member(out, "name", dump(plan.name));
  append_member(out, "teaches", dump(plan.teaches));
  append_member(out, "model", dump(model_to_json(plan.setup.layout.model)));
  append_member(out, "settings", dump(settings_to_json(plan.settings)));
  append_member(out, "requests", "");
  append_requests(out, plan.requests);
  Json script = Json::array();
  for (const ScriptStep& step : plan.script) script.push_back(script_step_to_json(step));
  append_member(out, "script", dump(script));
  append_member(out, "expect", dump(expectation_to_json(plan.expect)));
  append_member(out, "notes", dump(Json(plan.notes)));
  return fmt::to_string(out) + "}\n";
}

SessionHeader run_header(const RunPlan& plan, CheckScope scope) {
  SessionHeader header;
  header.kind = SessionKind::run;
  header.check = scope;
  header.source = plan.name;
  header.model = plan.setup.layout.model.name;
  header.engine = profile_name(plan.settings);
  header.plan = write_session_plan(plan);
  header.config = plan.setup.config;
  return header;
}

SessionHeader judge_header(const JudgedSession& session) {
  SessionHeader header;
  header.kind = SessionKind::judge;
  header.check = session.scope;
  header.source = session.source;
  header.engine = session.engine;
  header.plan = session.header_line;
  header.config = session.config;
  return header;
}

Result<RunPlan> read_session_plan(std::string_view text, const std::string& file) {
  return read_plan(text, file, [&](const JsonValue& root) {
    RunPlan plan = read_parts(root, file);
    complete(plan, read_small(root.require("model"), file, read_model));
    return plan;
  });
}

Result<EngineSetup> read_session_plan_setup(std::string_view text, const std::string& file) {
  return read_plan(text, file, [&](const JsonValue& root) {
    const EngineSettings settings = read_small(root.require("settings"), file, read_settings);
    auto setup = make_engine_setup(read_small(root.require("model"), file, read_model), settings);
    if (!setup.ok()) root.fail_at("settings", setup.error().message);
    return std::move(setup).value();
  });
}

}  // namespace hybridscope
