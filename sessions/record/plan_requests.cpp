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

// Reads four numbers per segment and checks each.
class SegmentReader {
 public:
  explicit SegmentReader(std::vector<PromptSegment>& prompt) : prompt_(prompt) {}

  void take(const JsonValue& value) {
    switch (num_taken_++ % kNumbersOfASegment) {
      case 0:
        prompt_.emplace_back().source = static_cast<PromptSegment::Source>(value.int32({0, 1}));
        break;
      case 1:
        prompt_.back().content = value.uint64();
        break;
      case 2:
        prompt_.back().first = value.int32({0, 2 * kMaxPromptTokens});
        break;
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
          "joins before the request in front of it (expected ascending at_step, then "
          "ascending arrival_us)");
  });
  return requests;
}

}  // namespace hybridscope
