#include "cli/bugs_words.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "core/engine/policy_table.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json life_json(const BugLife& life) {
  if (!life.occurs) return nullptr;
  return {{"appeared", life.appeared ? Json(date_text(*life.appeared)) : Json()},
          {"fixed", life.fixed ? Json(date_text(*life.fixed)) : Json()}};
}

}  // namespace

int fail_bugs(std::string_view subcommand, const Error& error) {
  const int code = report_error(fmt::format("bugs {}", subcommand), error);
  return error.kind == ErrorKind::not_found ? static_cast<int>(kExitUsage) : code;
}

Json bug_to_json(const BugExhibit& exhibit) {
  const KnownBug& bug = *exhibit.bug;
  Json policies = Json::object();
  for (const PolicyValue& value : bug.values())
    policies[std::string(policy_name(value))] = std::string(value_name(value));
  return {{"id", bug.id},
          {"number", bug.number > 0 ? Json(bug.number) : Json()},
          {"part", bug.part.empty() ? Json() : Json(bug.part)},
          {"title", exhibit.title},
          {"upstream", exhibit.upstream},
          {"function", exhibit.function},
          {"policies", policies},
          {"v1", life_json(bug.v1)},
          {"v2", life_json(bug.v2)},
          {"dates", exhibit.dates},
          {"users_saw", exhibit.users_saw},
          {"mechanism", exhibit.mechanism}};
}

void print_bugs_json(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace hybridscope
