#include "sessions/record/session_plan.h"

#include <simdjson.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "core/engine/engine.h"
#include "sessions/record/model_json.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_parts.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kNumbersOfASegment = 4;
constexpr std::array<std::string_view, 10> kRequestKeys = {
    "id",       "prompt",     "max_tokens", "key",   "at_step",
    "priority", "arrival_us", "cache_salt", "after", "delay_us"};

template <class T>
void append_number(fmt::memory_buffer& out, std::string_view prefix, T number) {
  out.append(prefix);
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.data() + digits.size());
}

void append_request(fmt::memory_buffer& out, const ArrivingRequest& arriving) {
  const AddRequest& request = arriving.request;
  out.append(std::string_view("{\"id\":"));
  append_json_text(out, request.name);
  std::string_view before = ",\"prompt\":[";
  for (const PromptSegment& segment : request.prompt) {
    append_number(out, before, static_cast<std::int32_t>(segment.source));
    append_number(out, ",", segment.content);
    append_number(out, ",", segment.first);
    append_number(out, ",", segment.length);
    before = ",";
  }
  append_number(out,
                request.prompt.empty() ? ",\"prompt\":[],\"max_tokens\":" : "],\"max_tokens\":",
                request.max_tokens);
  append_number(out, ",\"key\":", request.key);
  if (arriving.at_step != 1) append_number(out, ",\"at_step\":", arriving.at_step);
  if (arriving.arrival_us != 0) append_number(out, ",\"arrival_us\":", arriving.arrival_us);
  if (request.priority != 0) append_number(out, ",\"priority\":", request.priority);
  if (request.cache_salt != 0) append_number(out, ",\"cache_salt\":", request.cache_salt);
  std::string_view before_name = ",\"after\":[";
  for (const std::string& name : arriving.after) {
    out.append(before_name);
    append_json_text(out, name);
    before_name = ",";
  }
  if (!arriving.after.empty()) out.push_back(']');
  if (arriving.delay_us != 0) append_number(out, ",\"delay_us\":", arriving.delay_us);
  out.push_back('}');
}

// Reads four numbers per segment and checks each.
class SegmentReader {
 public:
  explicit SegmentReader(std::vector<PromptSegment>& prompt) : prompt_(prompt) {}

  void take(const JsonValue& value) {
    switch (num_taken_++ % kNumbersOfASegment) {
      case 0:
        prompt_.emplace_back().source = static_cast<PromptSegment::Source>(value.int32({0, 1}));
        break;
      case 1: prompt_.back().content = value.uint64(); break;
      case 2: prompt_.back().first = value.int32({0, 2 * kMaxPromptTokens}); break;
      default:
        prompt_.back().length = value.int32({1, kMaxPromptTokens});
        num_tokens_ += prompt_.back().length;
    }
  }
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  std::vector<PromptSegment>& prompt_;
  std::int64_t num_taken_ = 0;
  std::int64_t num_tokens_ = 0;
};

void read_prompt(const JsonValue& value, std::vector<PromptSegment>& prompt) {
  if (!value.is_array()) value.expected("an array of numbers");
  const auto count = static_cast<std::int64_t>(value.size());
  if (count == 0 || count % kNumbersOfASegment != 0)
    value.expected("four numbers for each segment");
  prompt.reserve(static_cast<std::size_t>(count / kNumbersOfASegment));
  SegmentReader segments(prompt);
  value.each_element([&](const JsonValue& number) { segments.take(number); });
  if (segments.num_tokens() > kMaxPromptTokens)
    value.fail(fmt::format("{} prompt tokens (expected at most {})", segments.num_tokens(),
                           kMaxPromptTokens));
}

void read_member(std::string_view key, const JsonValue& value, ArrivingRequest& arriving) {
  AddRequest& request = arriving.request;
  if (key == "id")
    request.name = value.text();
  else if (key == "prompt")
    read_prompt(value, request.prompt);
  else if (key == "max_tokens")
    request.max_tokens = value.int32({1, kMaxOutputTokens});
  else if (key == "key")
    request.key = value.uint64();
  else if (key == "at_step")
    arriving.at_step = value.int32({1, kMaxStep});
  else if (key == "arrival_us")
    arriving.arrival_us = value.int64({0, kMaxArrivalUs});
  else if (key == "priority")
    request.priority = value.int32({-1'000'000, 1'000'000});
  else if (key == "cache_salt")
    request.cache_salt = value.uint64();
  else if (key == "after")
    value.each_element([&](const JsonValue& name) { arriving.after.emplace_back(name.text()); });
  else if (key == "delay_us")
    arriving.delay_us = value.int64({0, kMaxArrivalUs});
  else
    value.fail(fmt::format("unknown key {}{}", quoted_text(key),
                           nearest_key_hint(key, {kRequestKeys.begin(), kRequestKeys.end()})));
}

ArrivingRequest read_request(const JsonValue& value) {
  ArrivingRequest arriving;
  for (const std::string_view key : {"id", "prompt", "max_tokens", "key"}) value.require(key);
  unsigned seen = 0;
  value.each_member([&](std::string_view key, const JsonValue& member) {
    const auto at = std::find(kRequestKeys.begin(), kRequestKeys.end(), key) - kRequestKeys.begin();
    const unsigned bit = 1U << static_cast<unsigned>(at);
    if ((seen & bit) != 0) member.fail("this key occurs twice");
    seen |= bit;
    read_member(key, member, arriving);
  });
  return arriving;
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7F &&
         c != '"' && c != '\\';
}

}  // namespace

void append_json_text(fmt::memory_buffer& out, std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    out.append(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  out.push_back('"');
  out.append(text);
  out.push_back('"');
}

void append_requests(fmt::memory_buffer& out, std::span<const ArrivingRequest> requests) {
  out.push_back('[');
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_request(out, requests[i]);
  }
  out.push_back(']');
}

std::vector<ArrivingRequest> read_requests(const JsonValue& value) {
  std::vector<ArrivingRequest> requests;
  const auto place = [](const ArrivingRequest& r) { return std::tie(r.at_step, r.arrival_us); };
  value.each_element([&](const JsonValue& element) {
    requests.push_back(read_request(element));
    const std::size_t count = requests.size();
    if (count > 1 && place(requests[count - 1]) < place(requests[count - 2]))
      element.fail(
          "joins before the request in front of it (expected ascending at_step, then ascending "
          "arrival_us)");
  });
  return requests;
}

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
