#include "sessions/traffic/mooncake_row.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/traffic/mooncake.h"

namespace hybridscope {
namespace {

using Json = nlohmann::json;

// A member under one of its names.
struct NamedMember {
  const Json* value = nullptr;  // null: none is there
  std::string pointer;
};

NamedMember named_member(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = object.find(name); found != object.end() && !found->is_null())
      return {&*found, child_pointer("", name)};
  return {};
}

std::int64_t required_integer(const Json& object, std::initializer_list<const char*> names,
                              const IntegerRange& range, JsonErrors& errors) {
  const NamedMember member = named_member(object, names);
  if (member.value != nullptr) return read_integer({member.value, member.pointer}, range, errors);
  errors.fail("", fmt::format("key \"{}\" is missing", *names.begin()));
  return range.min;
}

// Milliseconds, perhaps with a fraction; empty: it is not there.
std::optional<std::int64_t> milliseconds(const NamedMember& member, JsonErrors& errors) {
  constexpr double kUsOfAMs = 1000;
  if (member.value == nullptr) return std::nullopt;
  const double ms = member.value->is_number() ? member.value->get<double>()
                                              : std::numeric_limits<double>::quiet_NaN();
  if (ms >= 0 && ms <= static_cast<double>(kMaxArrivalUs) / kUsOfAMs)
    return std::llround(ms * kUsOfAMs);
  errors.fail(member.pointer, fmt::format("expected milliseconds from 0 to {}, found {}",
                                          kMaxArrivalUs / 1000, describe_json(*member.value)));
  return std::nullopt;
}

std::string id_of(const NamedMember& member, JsonErrors& errors) {
  if (member.value == nullptr) return {};
  if (member.value->is_number_integer()) return member.value->dump();
  if (member.value->is_string()) return member.value->get<std::string>();
  errors.fail(member.pointer, fmt::format("expected a string or an integer, found {}",
                                          describe_json(*member.value)));
  return {};
}

}  // namespace

MooncakeRow read_mooncake_row(const Json& json, JsonErrors& errors) {
  MooncakeRow row;
  if (!json.is_object()) {
    errors.fail("", fmt::format("expected an object, found {}", describe_json(json)));
    return row;
  }
  for (const char* key : {"text_input", "messages", "payload", "dependencies"})
    if (json.contains(key) && !json[key].is_null()) {
      errors.fail(child_pointer("", key),
                  "rows of this kind are not read (expected \"input_length\" and, for whom a row "
                  "waits, \"wait_for\"; requests as texts are format openai-log)");
      return row;
    }
  row.request_id = id_of(named_member(json, {"request_id"}), errors);
  row.session_id = id_of(named_member(json, {"session_id"}), errors);
  row.input_length = static_cast<std::int32_t>(
      required_integer(json, {"input_length", "input_tokens"}, {1, kMaxPromptTokens}, errors));
  row.output_length = static_cast<std::int32_t>(
      required_integer(json, {"output_length", "output_tokens"}, {0, kMaxOutputTokens}, errors));
  row.arrival_us = milliseconds(named_member(json, {"timestamp", "created_time"}), errors);
  row.delay_us = milliseconds(named_member(json, {"delay", "delay_ms"}), errors).value_or(0) +
                 milliseconds(named_member(json, {"tool_wait_ms"}), errors).value_or(0);
  const NamedMember waits = named_member(json, {"wait_for"});
  if (waits.value != nullptr)
    for (const JsonPlace& place : read_array({waits.value, waits.pointer}, errors))
      row.wait_for.push_back(id_of({place.value, place.pointer}, errors));
  const NamedMember ids = named_member(json, {"hash_ids"});
  if (ids.value != nullptr)
    for (const JsonPlace& place : read_array({ids.value, ids.pointer}, errors))
      row.hash_ids.push_back(
          static_cast<std::uint64_t>(read_integer(place, {0, INT64_MAX}, errors)));
  return row;
}

bool BlockSizes::take(std::int64_t num_tokens, std::int64_t num_ids) {
  least_ = std::max(least_, cdiv(num_tokens, num_ids));
  if (num_ids > 1) most_ = std::min(most_, (num_tokens - 1) / (num_ids - 1));
  return least_ <= most_;
}

std::int32_t BlockSizes::size() const {
  if (least_ <= kTrafficBlockTokens && kTrafficBlockTokens <= most_) return kTrafficBlockTokens;
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most_)));
  return static_cast<std::int32_t>(power >= least_ ? power : least_);
}

}  // namespace hybridscope
