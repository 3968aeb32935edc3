#include "sessions/record/plan_requests.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "sessions/scenario/scenario.h"

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

std::uint64_t uint64_of(const LineValue& value, JsonErrors& errors) {
  std::uint64_t number = 0;
  if (value.element.get(number) != simdjson::SUCCESS)
    fail_type(value, "an integer from 0 to 18446744073709551615", errors);
  return number;
}

// Reads four numbers per segment and checks each.
class SegmentReader {
 public:
  SegmentReader(std::vector<PromptSegment>& prompt, JsonErrors& errors)
      : prompt_(prompt), errors_(errors) {}

  void take(const LineValue& value) {
    switch (value.index % kNumbersOfASegment) {
      case 0:
        prompt_.emplace_back().source =
            static_cast<PromptSegment::Source>(int32_of(value, {0, 1}, errors_));
        break;
      case 1:
        prompt_.back().content = uint64_of(value, errors_);
        break;
      case 2:
        prompt_.back().first = int32_of(value, {0, 2 * kMaxPromptTokens}, errors_);
        break;
      default:
        prompt_.back().length = int32_of(value, {1, kMaxPromptTokens}, errors_);
        num_tokens_ += prompt_.back().length;
    }
  }
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  std::vector<PromptSegment>& prompt_;
  JsonErrors& errors_;
  std::int64_t num_tokens_ = 0;
};

void read_prompt(const LineValue& value, std::vector<PromptSegment>& prompt, JsonErrors& errors) {
  simdjson::dom::array array;
  if (value.element.get(array) != simdjson::SUCCESS)
    return fail_type(value, "an array of numbers", errors);
  const auto count = static_cast<std::int64_t>(array.size());
  if (count == 0 || count % kNumbersOfASegment != 0)
    return fail_type(value, "four numbers for each segment", errors);
  prompt.reserve(static_cast<std::size_t>(count / kNumbersOfASegment));
  SegmentReader segments(prompt, errors);
  for_each_element(value, errors, [&](const LineValue& number) { segments.take(number); });
  if (!errors.failed() && segments.num_tokens() > kMaxPromptTokens)
    fail(value,
         fmt::format("{} prompt tokens (expected at most {})", segments.num_tokens(),
                     kMaxPromptTokens),
         errors);
}

void read_member(const LineValue& value, ArrivingRequest& arriving, JsonErrors& errors) {
  AddRequest& request = arriving.request;
  const std::string_view key = value.key;
  if (key == "id")
    request.name = string_of(value, errors);
  else if (key == "prompt")
    read_prompt(value, request.prompt, errors);
  else if (key == "max_tokens")
    request.max_tokens = int32_of(value, {1, kMaxOutputTokens}, errors);
  else if (key == "key")
    request.key = uint64_of(value, errors);
  else if (key == "at_step")
    arriving.at_step = int32_of(value, {1, kMaxStep}, errors);
  else if (key == "arrival_us")
    arriving.arrival_us = integer_of(value, {0, kMaxArrivalUs}, errors);
  else if (key == "priority")
    request.priority = int32_of(value, {-1'000'000, 1'000'000}, errors);
  else if (key == "cache_salt")
    request.cache_salt = uint64_of(value, errors);
  else if (key == "after")
    for_each_element(value, errors, [&](const LineValue& name) {
      arriving.after.emplace_back(string_of(name, errors));
    });
  else if (key == "delay_us")
    arriving.delay_us = integer_of(value, {0, kMaxArrivalUs}, errors);
  else
    fail(value,
         fmt::format("unknown key {}{}", quoted_text(key),
                     nearest_key_hint(key, {kRequestKeys.begin(), kRequestKeys.end()})),
         errors);
}

ArrivingRequest read_request(const LineValue& value, JsonErrors& errors) {
  ArrivingRequest arriving;
  for (const std::string_view key : {"id", "prompt", "max_tokens", "key"})
    require_member(value, key, errors);
  unsigned seen = 0;
  for_each_member(value, errors, [&](const LineValue& member) {
    const auto at =
        std::find(kRequestKeys.begin(), kRequestKeys.end(), member.key) - kRequestKeys.begin();
    const unsigned bit = 1U << static_cast<unsigned>(at);
    if ((seen & bit) != 0) fail(member, "this key occurs twice", errors);
    seen |= bit;
    if (!errors.failed()) read_member(member, arriving, errors);
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

std::vector<ArrivingRequest> read_requests(const LineValue& value, JsonErrors& errors) {
  std::vector<ArrivingRequest> requests;
  const auto place = [](const ArrivingRequest& r) { return std::tie(r.at_step, r.arrival_us); };
  for_each_element(value, errors, [&](const LineValue& element) {
    requests.push_back(read_request(element, errors));
    const std::size_t count = requests.size();
    if (count > 1 && place(requests[count - 1]) < place(requests[count - 2]))
      fail(element,
           "joins before the request in front of it (expected ascending at_step, then "
           "ascending arrival_us)",
           errors);
  });
  return requests;
}

}  // namespace hybridscope
