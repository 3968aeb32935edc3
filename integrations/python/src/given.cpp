#include "integrations/python/src/given.h"

#include <fmt/core.h>

#include <algorithm>

#include "integrations/python/src/raise.h"
#include "sessions/record/session_header.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// `least` and the result are in millionths; empty: it was not given.
std::optional<std::int64_t> millionths_of(const Given& given, const char* key, std::int64_t least,
                                          std::int64_t most) {
  const auto text = given.get<std::string>(key);
  if (text.empty()) return std::nullopt;
  const auto value = parse_millionths(text);
  if (!value || *value < least || *value > most)
    raise(invalid_input(std::string(key) + " is " + text + ", not a number from " +
                        format_millionths(least) + " to " + format_millionths(most)));
  return value;
}

}  // namespace

CheckScope Given::check() const {
  const auto name = get<std::string>("check", "step");
  if (const auto scope = check_scope_of(name)) return *scope;
  raise(invalid_input(fmt::format("check {} (expected step or all)", quoted_text(name))));
}

RecordOption Given::record() const {
  const auto name = get<std::string>("level", "blocks");
  const auto level = record_level_of(name);
  if (!level)
    raise(invalid_input(
        fmt::format("level {} (expected counts, blocks or full)", quoted_text(name))));
  RecordOption record{.place = get<std::string>("record"), .level = *level};
  if (!record.place.empty() && parse_session_place(record.place).file.empty())
    raise(invalid_input(fmt::format("record {} names no file", quoted_text(record.place))));
  return record;
}

Status check_given_files(CommandFiles files) {
  for (OutputTarget& output : files.outputs)
    output.option.remove_prefix(
        std::min(output.option.find_first_not_of('-'), output.option.size()));
  return check_files(files);
}

TrafficOptions Given::traffic() const {
  TrafficOptions options;
  options.format = get<std::string>("traffic_format");
  options.load.users = get<std::int64_t>("users");
  options.load.think_us = millionths_of(*this, "think_time", 0, kMaxThinkUs);
  options.load.rate = millionths_of(*this, "request_rate", 1, kMaxTrafficRate).value_or(0);
  return options;
}

}  // namespace hybridscope
