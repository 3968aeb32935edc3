#include "sessions/traffic/openai_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sessions/scenario/scenario.h"
#include "sessions/text/decimal.h"

namespace hybridscope {
namespace {

using Json = nlohmann::json;

// The member, if `object` is an object that has it and it is not null.
const Json* member_of(const Json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

const Json* any_member_of(const Json* object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const Json* found = member_of(object, key)) return found;
  return nullptr;
}

// Takes `count` digits away; -1: there are not as many.
int take_number(std::string_view& text, std::size_t count) {
  int value = 0;
  if (text.size() < count) return -1;
  for (const char digit : text.substr(0, count)) {
    if (digit < '0' || digit > '9') return -1;
    value = value * 10 + (digit - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Microseconds.
constexpr std::int64_t kMinute = 60 * kMillion;
constexpr std::int64_t kHour = 60 * kMinute;

// "2026-08-30": days since 1970.
std::optional<std::int64_t> take_date(std::string_view& text) {
  using namespace std::chrono;
  const int y = take_number(text, 4);
  if (!take_char(text, "-")) return std::nullopt;
  const int m = take_number(text, 2);
  if (!take_char(text, "-")) return std::nullopt;
  const int d = take_number(text, 2);
  constexpr int kEpoch = 1970;
  if (y < kEpoch || m < 0 || d < 0) return std::nullopt;
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)},
                            day{static_cast<unsigned>(d)}};
  if (!date.ok()) return std::nullopt;
  return sys_days{date}.time_since_epoch().count();
}

// "23:59", at most 24 hours, in microseconds; the colon may be missing in offsets.
std::optional<std::int64_t> take_hours_and_minutes(std::string_view& text, bool needs_colon) {
  constexpr int kLastHour = 23;
  constexpr int kLastMinute = 59;
  const int hours = take_number(text, 2);
  if (!take_char(text, ":") && needs_colon) return std::nullopt;
  const int minutes = take_number(text, 2);
  if (hours < 0 || hours > kLastHour || minutes < 0 || minutes > kLastMinute) return std::nullopt;
  return hours * kHour + minutes * kMinute;
}

// "23:59:59.25", in microseconds.
std::optional<std::int64_t> take_clock(std::string_view& text) {
  constexpr int kLastSecond = 60;  // with leap seconds
  const auto minutes_us = take_hours_and_minutes(text, true);
  if (!minutes_us || !take_char(text, ":")) return std::nullopt;
  const int seconds = take_number(text, 2);
  if (seconds < 0 || seconds > kLastSecond) return std::nullopt;
  std::optional<std::int64_t> fraction_us = 0;
  if (take_char(text, ".,")) {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    fraction_us = parse_millionths("0." + std::string(text.substr(0, count)));
    text.remove_prefix(count);
  }
  if (!fraction_us) return std::nullopt;
  return *minutes_us + seconds * kMillion + *fraction_us;
}

// "Z", "+02:00", "-0530" or nothing, in microseconds.
std::optional<std::int64_t> take_offset(std::string_view& text) {
  const bool is_west = text.starts_with('-');
  if (!take_char(text, "+-")) {
    take_char(text, "Zz");
    return 0;
  }
  const auto offset_us = take_hours_and_minutes(text, false);
  if (!offset_us) return std::nullopt;
  return is_west ? -*offset_us : *offset_us;
}

constexpr std::int64_t kFirstMillisecond = 100'000'000'000;

// Seconds, milliseconds from 10^11 on, as a number or a text; or a date.
std::optional<std::int64_t> time_of(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (const auto iso = parse_iso_time(text)) return iso;
    const auto us = parse_millionths(text);
    return us && *us >= kFirstMillisecond * kMillion ? *us / 1000 : us;
  }
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  const double seconds = number >= static_cast<double>(kFirstMillisecond) ? number / 1000 : number;
  if (!(seconds >= 0 && seconds <= static_cast<double>(kMaxArrivalUs / kMillion)))
    return std::nullopt;
  return std::llround(seconds * static_cast<double>(kMillion));
}

std::optional<std::int64_t> tokens_of(const Json* value, const char* pointer, std::int64_t most,
                                      JsonErrors& errors) {
  if (value == nullptr) return std::nullopt;
  return read_integer({value, pointer}, {0, most}, errors);
}

// Text, or a list of parts of which only texts are read.
std::string content_text(const Json* content, const std::string& pointer, JsonErrors& errors) {
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    errors.fail(pointer, fmt::format("expected a text or an array of parts, found {}",
                                     describe_json(*content)));
    return {};
  }
  std::string text;
  for (const Json& part : *content) {
    const Json* found = part.is_string() ? &part : member_of(&part, "text");
    if (found != nullptr && found->is_string()) text += found->get_ref<const std::string&>();
  }
  return text;
}

// A message's text, with the tools that it calls.
std::string message_text(const Json& message, const std::string& pointer, JsonErrors& errors) {
  std::string text =
      content_text(member_of(&message, "content"), child_pointer(pointer, "content"), errors);
  if (const Json* calls = any_member_of(&message, {"tool_calls", "function_call"}))
    text += calls->dump(-1, ' ', false, Json::error_handler_t::replace);
  return text;
}

void read_messages(const Json& messages, OpenAiLine& line, JsonErrors& errors) {
  for (const JsonPlace& place : read_array({&messages, "/messages"}, errors)) {
    const Json* role = member_of(place.value, "role");
    if (role == nullptr || !role->is_string())
      return errors.fail(place.pointer, fmt::format("expected an object with \"role\", found {}",
                                                    describe_json(*place.value)));
    line.messages.push_back(
        {role->get<std::string>(), message_text(*place.value, place.pointer, errors)});
  }
}

// Four bytes for each id, which is what a token of text is taken for.
std::string text_of_ids(const Json& ids, JsonErrors& errors) {
  std::string text;
  for (const JsonPlace& place : read_array({&ids, "/prompt"}, errors)) {
    const auto id = static_cast<std::uint32_t>(
        read_integer(place, {0, std::numeric_limits<std::int32_t>::max()}, errors));
    for (unsigned shift = 0; shift < 32; shift += 8)
      text.push_back(static_cast<char>((id >> shift) & 0xFFU));
  }
  return text;
}

void read_prompt(const Json& prompt, OpenAiLine& line, JsonErrors& errors) {
  const Json* one = &prompt;
  if (prompt.is_array() && prompt.size() == 1 && !prompt[0].is_number()) one = &prompt[0];
  if (one->is_string())
    line.messages.push_back({"prompt", one->get<std::string>()});
  else if (one->is_array() && !one->empty() && (*one)[0].is_number())
    line.messages.push_back({"prompt", text_of_ids(*one, errors)});
  else
    errors.fail("/prompt", fmt::format("expected a text or a list of token ids, found {}",
                                       describe_json(prompt)));
}

void read_request(const Json& request, OpenAiLine& line, JsonErrors& errors) {
  if (const Json* tools = any_member_of(&request, {"tools", "functions"}))
    line.messages.push_back({"tools", tools->dump(-1, ' ', false, Json::error_handler_t::replace)});
  if (const Json* messages = member_of(&request, "messages"))
    read_messages(*messages, line, errors);
  else if (const Json* prompt = member_of(&request, "prompt"))
    read_prompt(*prompt, line, errors);
  else
    errors.fail("",
                "there is neither \"messages\" nor \"prompt\" in the request (expected under "
                "\"request\" or \"body\", or in the line itself)");
  line.max_tokens = tokens_of(any_member_of(&request, {"max_completion_tokens", "max_tokens"}),
                              "/max_tokens", kMaxOutputTokens, errors);
}

void read_answer(const Json* response, OpenAiLine& line, JsonErrors& errors) {
  const Json* choices = member_of(response, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty()) return;
  const Json& choice = (*choices)[0];
  if (const Json* message = member_of(&choice, "message"))
    line.answer = message_text(*message, "/response/choices/0/message", errors);
  else if (const Json* text = member_of(&choice, "text"); text != nullptr && text->is_string())
    line.answer = text->get<std::string>();
}

bool is_failure(const Json& json, const Json* response) {
  constexpr int kFirstErrorStatus = 400;
  if (member_of(&json, "error") != nullptr || member_of(response, "error") != nullptr) return true;
  const Json* status = member_of(response, "status_code");
  return status != nullptr && status->is_number() && status->get<double>() >= kFirstErrorStatus;
}

}  // namespace

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  const auto days = take_date(text);
  if (!days || !take_char(text, "Tt ")) return std::nullopt;
  const auto us = take_clock(text);
  const auto offset_us = take_offset(text);
  if (!us || !offset_us || !text.empty()) return std::nullopt;
  const std::int64_t since_1970 = *days * 24 * kHour + *us - *offset_us;
  return since_1970 >= 0 ? std::optional(since_1970) : std::nullopt;
}

OpenAiLine read_openai_line(const Json& json, JsonErrors& errors) {
  OpenAiLine line;
  if (!json.is_object()) {
    errors.fail("", fmt::format("expected an object, found {}", describe_json(json)));
    return line;
  }
  const Json* request = any_member_of(&json, {"request", "body"});
  if (const Json* body = member_of(request, "body")) request = body;
  const Json* response = member_of(&json, "response");
  line.failed = is_failure(json, response);
  if (line.failed) return line;
  if (const Json* body = member_of(response, "body")) response = body;
  read_request(request == nullptr ? json : *request, line, errors);
  const Json* time = any_member_of(&json, {"timestamp", "created", "created_at"});
  if (time == nullptr) time = any_member_of(response, {"created", "created_at"});
  if (time != nullptr) {
    line.time_us = time_of(*time);
    if (!line.time_us)
      errors.fail("/timestamp",
                  fmt::format("expected seconds or milliseconds since 1970, or a time "
                              "such as \"2024-11-27T09:26:07Z\", found {}",
                              describe_json(*time)));
  }
  const Json* usage = member_of(response, "usage");
  if (usage == nullptr) usage = member_of(&json, "usage");
  line.prompt_tokens = tokens_of(any_member_of(usage, {"prompt_tokens", "input_tokens"}),
                                 "/usage/prompt_tokens", kMaxPromptTokens, errors);
  line.completion_tokens = tokens_of(any_member_of(usage, {"completion_tokens", "output_tokens"}),
                                     "/usage/completion_tokens", kMaxOutputTokens, errors);
  read_answer(response, line, errors);
  if (line.messages.empty() && !errors.failed())
    errors.fail("/messages", "no message (expected at least one)");
  return line;
}

}  // namespace hybridscope
