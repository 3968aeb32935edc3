#include "sessions/record/session_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/engine/engine.h"
#include "sessions/record/model_json.h"
#include "sessions/record/plan_requests.h"
#include "sessions/run/waiting_requests.h"
#include "sessions/scenario/scenario_checks.h"
#include "sessions/scenario/scenario_expectation.h"
#include "sessions/scenario/scenario_script.h"
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

// A small part of the plan, for the readers that scenario files use as well.
class SmallPart {
 public:
  SmallPart(const LineValue& value, JsonErrors& errors) {
    auto json = parse_json({.text = simdjson::minify(value.element), .file = errors.file()});
    pointer_ = value.pointer();
    if (!json.ok())
      errors.fail(pointer_, json.error().message);
    else
      json_ = std::move(json).value();
  }
  JsonPlace place() const { return {&json_, pointer_}; }

 private:
  nlohmann::json json_;
  std::string pointer_;
};

std::vector<std::string> read_texts(const LineValue& value, JsonErrors& errors) {
  std::vector<std::string> texts;
  for_each_element(value, errors, [&](const LineValue& element) {
    texts.emplace_back(string_of(element, errors));
  });
  return texts;
}

bool check_version(const LineValue& root, JsonErrors& errors) {
  const auto version = require_member(root, "version", errors);
  std::int64_t number = 0;
  if (version &&
      (version->element.get(number) != simdjson::SUCCESS || number != kSessionPlanVersion))
    fail(*version,
         fmt::format("version is {} (this program reads version {})", describe(version->element),
                     kSessionPlanVersion),
         errors);
  return !errors.failed();
}

void check_keys(const LineValue& root, JsonErrors& errors) {
  std::set<std::string_view> seen;
  for_each_member(root, errors, [&](const LineValue& member) {
    if (std::find(kPlanKeys.begin(), kPlanKeys.end(), member.key) == kPlanKeys.end())
      fail(member,
           fmt::format("unknown key {}{}", quoted_text(member.key),
                       nearest_key_hint(member.key, {kPlanKeys.begin(), kPlanKeys.end()})),
           errors);
    else if (!seen.insert(member.key).second)
      fail(member, "this key occurs twice", errors);
  });
  for (const std::string_view key : kPlanKeys) require_member(root, key, errors);
}

// Reads each part by itself. Requires: every key is there.
RunPlan read_parts(const LineValue& root, ModelSpec& model, JsonErrors& errors) {
  const auto member = [&](std::string_view key) { return *find_member(root, key); };
  const auto small = [&](std::string_view key) { return SmallPart(member(key), errors); };
  RunPlan plan{.name = std::string(string_of(member("name"), errors)),
               .teaches = std::string(string_of(member("teaches"), errors)),
               .settings = read_settings(small("settings").place(), errors),
               .setup = {},
               .requests = read_requests(member("requests"), errors),
               .script = read_script(small("script").place(), errors),
               .expect = read_expectation(small("expect").place(), errors),
               .notes = read_texts(member("notes"), errors)};
  model = read_model(small("model").place(), errors);
  return plan;
}

JoinSteps join_steps(const RunPlan& plan, JsonErrors& errors) {
  JoinSteps steps;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    const std::string& name = plan.requests[i].request.name;
    if (!steps.emplace(name, plan.requests[i].at_step).second)
      errors.fail(fmt::format("/requests/{}/id", i),
                  fmt::format("request {} is there twice", quoted_text(name)));
  }
  return steps;
}

// Checks the parts against each other and makes the set-up.
void complete(RunPlan& plan, const ModelSpec& model, JsonErrors& errors) {
  const JoinSteps requests = join_steps(plan, errors);
  check_script(plan.script, plan.settings, requests, errors);
  check_expectation(plan.expect, requests, errors);
  if (errors.failed()) return;
  auto setup = make_engine_setup(model, plan.settings);
  if (!setup.ok()) return errors.fail("/settings", setup.error().message);
  if (const auto waiting = WaitingRequests::create(plan.requests); !waiting.ok()) {
    const std::string& message = waiting.error().message;  // "POINTER: ..."
    const std::size_t colon = message.find(": ");
    return errors.fail(message.substr(0, colon), message.substr(colon + 2));
  }
  plan.setup = std::move(setup).value();
  for (std::size_t i = 0; i < plan.requests.size() && !errors.failed(); ++i)
    if (const Status fits = check_request_fits(plan.setup, plan.requests[i].request); !fits.ok())
      errors.fail(fmt::format("/requests/{}", i), fits.error().message);
}

// The plan's outermost object; all keys are there.
Result<LineValue> parse_plan(simdjson::dom::parser& parser, std::string_view text,
                             JsonErrors& errors) {
  simdjson::dom::element element;
  if (const auto wrong = parser.parse(text.data(), text.size()).get(element))
    return Error{ErrorKind::corrupt, fmt::format("{}: no plan of a run: {}", errors.file(),
                                                 simdjson::error_message(wrong))};
  const LineValue root{.element = element};
  if (check_version(root, errors)) check_keys(root, errors);
  if (errors.failed()) return errors.error();
  return root;
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
  simdjson::dom::parser parser;
  JsonErrors errors(file);
  const auto root = parse_plan(parser, text, errors);
  if (!root.ok()) return root.error();
  ModelSpec model;
  RunPlan plan = read_parts(root.value(), model, errors);
  if (!errors.failed()) complete(plan, model, errors);
  if (errors.failed()) return errors.error();
  return plan;
}

Result<EngineSetup> read_session_plan_setup(std::string_view text, const std::string& file) {
  simdjson::dom::parser parser;
  JsonErrors errors(file);
  const auto root = parse_plan(parser, text, errors);
  if (!root.ok()) return root.error();
  const auto small = [&](std::string_view key) {
    return SmallPart(*find_member(root.value(), key), errors);
  };
  const EngineSettings settings = read_settings(small("settings").place(), errors);
  const ModelSpec model = read_model(small("model").place(), errors);
  if (errors.failed()) return errors.error();
  auto setup = make_engine_setup(model, settings);
  if (setup.ok()) return setup;
  errors.fail("/settings", setup.error().message);
  return errors.error();
}

}  // namespace hybridscope
