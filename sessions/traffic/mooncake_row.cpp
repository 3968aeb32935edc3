#include "sessions/traffic/mooncake_row.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/traffic/mooncake.h"

namespace hybridscope {
namespace {

using Names = std::initializer_list<std::string_view>;

// A member under one of its names.
std::optional<JsonValue> named_member(const JsonValue& object, Names names) {
  for (const std::string_view name : names)
    if (const auto found = object.find_non_null(name)) return found;
  return std::nullopt;
}

std::int32_t required_integer(const JsonValue& object, Names names, const IntegerRange& range) {
  const auto member = named_member(object, names);
  if (!member) object.fail(fmt::format("key \"{}\" is missing", *names.begin()));
  return member->int32(range);
}

// Milliseconds, perhaps with a fraction; empty: it is not there.
std::optional<std::int64_t> milliseconds(const JsonValue& object, Names names) {
  constexpr double kUsOfAMs = 1000;
  const auto member = named_member(object, names);
  if (!member) return std::nullopt;
  const double ms =
      member->is_number() ? member->number() : std::numeric_limits<double>::quiet_NaN();
  if (ms >= 0 && ms <= static_cast<double>(kMaxArrivalUs) / kUsOfAMs)
    return std::llround(ms * kUsOfAMs);
  member->expected(fmt::format("milliseconds from 0 to {}", kMaxArrivalUs / 1000));
}

std::string id_of(const JsonValue& id) {
  if (id.is_integer()) return id.dump();
  if (!id.is_string()) id.expected("a string or an integer");
  return id.string();
}

std::string id_at(const JsonValue& object, std::string_view name) {
  const auto id = object.find_non_null(name);
  return id ? id_of(*id) : std::string();
}

}  // namespace

MooncakeRow read_mooncake_row(const JsonValue& json) {
  MooncakeRow row;
  for (const std::string_view key : {"text_input", "messages", "payload", "dependencies"})
    if (const auto other = json.find_non_null(key))
      other->fail(
          "rows of this kind are not read (expected \"input_length\" and, for whom a row "
          "waits, \"wait_for\"; requests as texts are format openai-log)");
  row.request_id = id_at(json, "request_id");
  row.session_id = id_at(json, "session_id");
  row.input_length =
      required_integer(json, {"input_length", "input_tokens"}, {1, kMaxPromptTokens});
  row.output_length =
      required_integer(json, {"output_length", "output_tokens"}, {0, kMaxOutputTokens});
  row.arrival_us = milliseconds(json, {"timestamp", "created_time"});
  row.delay_us = milliseconds(json, {"delay", "delay_ms"}).value_or(0) +
                 milliseconds(json, {"tool_wait_ms"}).value_or(0);
  if (const auto waits = json.find_non_null("wait_for"))
    for (const JsonValue& id : waits->elements()) row.wait_for.push_back(id_of(id));
  if (const auto ids = json.find_non_null("hash_ids"))
    ids->each_element([&](const JsonValue& id) {
      row.hash_ids.push_back(static_cast<std::uint64_t>(id.int64({0, INT64_MAX})));
    });
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
