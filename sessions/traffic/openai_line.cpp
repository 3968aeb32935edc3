#include "sessions/traffic/traffic_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "sessions/scenario/scenario.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using Member = std::optional<JsonValue>;

// The member, if `object` is an object that has it and it is not null.
Member member_of(const Member& object, std::string_view key) {
  const Member found = object ? object->find(key) : std::nullopt;
  return found && !found->is_null() ? found : std::nullopt;
}

Member any_member_of(const Member& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const Member found = member_of(object, key)) return found;
  return std::nullopt;
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
std::optional<std::int64_t> time_of(const JsonValue& value) {
  if (value.is_string()) {
    const std::string text = value.string();
    if (const auto iso = parse_iso_time(text)) return iso;
    const auto us = parse_millionths(text);
    return us && *us >= kFirstMillisecond * kMillion ? *us / 1000 : us;
  }
  if (!value.is_number()) return std::nullopt;
  const double number = value.number();
  const double seconds = number >= static_cast<double>(kFirstMillisecond) ? number / 1000 : number;
  if (!(seconds >= 0 && seconds <= static_cast<double>(kMaxArrivalUs / kMillion)))
    return std::nullopt;
  return std::llround(seconds * static_cast<double>(kMillion));
}

// A fault of these members has the pointer that the log's format gives them, wherever they stand.
[[noreturn]] void fail_at(const std::string& pointer, std::string_view expected,
                          const JsonValue& found) {
  throw JsonFault(pointer, fmt::format("expected {}, found {}", expected, found.describe()));
}

std::optional<std::int64_t> tokens_of(const Member& value, const std::string& pointer,
                                      std::int64_t most) {
  if (!value) return std::nullopt;
  const auto number = value->whole();
  if (!number || *number < 0 || *number > most)
    fail_at(pointer, fmt::format("an integer from 0 to {}", most), *value);
  return number;
}

// Text, or a list of parts of which only texts are read.
std::string content_text(const Member& content, const std::string& pointer) {
  if (!content) return {};
  if (content->is_string()) return content->string();
  if (!content->is_array()) fail_at(pointer, "a text or an array of parts", *content);
  std::string text;
  content->each_element([&](const JsonValue& part) {
    const Member found = part.is_string() ? part : member_of(part, "text");
    if (found && found->is_string()) text += found->text();
  });
  return text;
}

// A message's text, with the tools that it calls.
std::string message_text(const JsonValue& message, const std::string& pointer) {
  std::string text = content_text(member_of(message, "content"), pointer + "/content");
  if (const Member calls = any_member_of(message, {"tool_calls", "function_call"}))
    text += calls->dump();
  return text;
}

void read_messages(const JsonValue& messages, OpenAiLine& line) {
  if (!messages.is_array()) fail_at("/messages", "an array", messages);
  std::size_t index = 0;
  messages.each_element([&](const JsonValue& message) {
    const std::string pointer = fmt::format("/messages/{}", index++);
    const Member role = member_of(message, "role");
    if (!role || !role->is_string()) fail_at(pointer, "an object with \"role\"", message);
    line.messages.push_back({role->string(), message_text(message, pointer)});
  });
}

// Four bytes for each id, which is what a token of text is taken for.
std::string text_of_ids(const JsonValue& ids) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  std::string text;
  for (const JsonValue& value : ids.elements()) {
    const std::string pointer = fmt::format("/prompt/{}", text.size() / 4);
    const auto id = static_cast<std::uint32_t>(tokens_of(value, pointer, kMost).value());
    for (unsigned shift = 0; shift < 32; shift += 8)
      text.push_back(static_cast<char>((id >> shift) & 0xFFU));
  }
  return text;
}

void read_prompt(const JsonValue& prompt, OpenAiLine& line) {
  constexpr std::size_t kFirst = 0;
  JsonValue one = prompt;
  if (prompt.is_array() && prompt.size() == 1 && !prompt[kFirst].is_number()) one = prompt[kFirst];
  if (one.is_string())
    line.messages.push_back({"prompt", one.string()});
  else if (one.is_array() && one.size() > 0 && one[kFirst].is_number())
    line.messages.push_back({"prompt", text_of_ids(one)});
  else
    fail_at("/prompt", "a text or a list of token ids", prompt);
}

void read_request(const JsonValue& request, OpenAiLine& line) {
  if (const Member tools = any_member_of(request, {"tools", "functions"}))
    line.messages.push_back({"tools", tools->dump()});
  if (const Member messages = member_of(request, "messages"))
    read_messages(*messages, line);
  else if (const Member prompt = member_of(request, "prompt"))
    read_prompt(*prompt, line);
  else
    throw JsonFault("",
                    "there is neither \"messages\" nor \"prompt\" in the request (expected under "
                    "\"request\" or \"body\", or in the line itself)");
  line.max_tokens = tokens_of(any_member_of(request, {"max_completion_tokens", "max_tokens"}),
                              "/max_tokens", kMaxOutputTokens);
}

void read_answer(const Member& response, OpenAiLine& line) {
  const Member choices = member_of(response, "choices");
  if (!choices || !choices->is_array() || choices->size() == 0) return;
  const JsonValue choice = (*choices)[std::size_t{0}];
  if (const Member message = member_of(choice, "message"))
    line.answer = message_text(*message, "/response/choices/0/message");
  else if (const Member text = member_of(choice, "text"); text && text->is_string())
    line.answer = text->string();
}

bool is_failure(const JsonValue& json, const Member& response) {
  constexpr int kFirstErrorStatus = 400;
  if (member_of(json, "error") || member_of(response, "error")) return true;
  const Member status = member_of(response, "status_code");
  return status && status->is_number() && status->number() >= kFirstErrorStatus;
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

OpenAiLine read_openai_line(const JsonValue& json) {
  OpenAiLine line;
  if (!json.is_object()) json.expected("an object");
  Member request = any_member_of(json, {"request", "body"});
  if (const Member body = member_of(request, "body")) request = body;
  Member response = member_of(json, "response");
  line.failed = is_failure(json, response);
  if (line.failed) return line;
  if (const Member body = member_of(response, "body")) response = body;
  read_request(request.value_or(json), line);
  Member time = any_member_of(json, {"timestamp", "created", "created_at"});
  if (!time) time = any_member_of(response, {"created", "created_at"});
  if (time) line.time_us = time_of(*time);
  if (time && !line.time_us)
    fail_at("/timestamp",
            "seconds or milliseconds since 1970, or a time such as \"2024-11-27T09:26:07Z\"",
            *time);
  Member usage = member_of(response, "usage");
  if (!usage) usage = member_of(json, "usage");
  line.prompt_tokens = tokens_of(any_member_of(usage, {"prompt_tokens", "input_tokens"}),
                                 "/usage/prompt_tokens", kMaxPromptTokens);
  line.completion_tokens = tokens_of(any_member_of(usage, {"completion_tokens", "output_tokens"}),
                                     "/usage/completion_tokens", kMaxOutputTokens);
  read_answer(response, line);
  if (line.messages.empty()) throw JsonFault("/messages", "no message (expected at least one)");
  return line;
}

}  // namespace hybridscope
