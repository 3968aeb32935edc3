#include "sessions/traffic/mooncake.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxTrafficLineBytes = std::size_t{4} << 20;
constexpr std::int64_t kMaxTimestampMs = kMaxArrivalUs / 1000;

struct Line {
  std::string_view text;
  std::string file;
  int number = 1;
};

// One segment per hash id; the last one holds the remaining tokens.
std::vector<PromptSegment> read_segments(const JsonValue& hash_ids, std::int32_t input_length) {
  if (!hash_ids.is_array()) hash_ids.expected("an array");
  const auto num_blocks = static_cast<std::size_t>(cdiv(input_length, kTrafficBlockTokens));
  if (hash_ids.size() != num_blocks)
    hash_ids.fail(fmt::format("{} ids for {} tokens (expected {}, one per {} tokens)",
                              hash_ids.size(), input_length, num_blocks, kTrafficBlockTokens));
  std::vector<PromptSegment> segments;
  segments.reserve(num_blocks);
  std::int32_t left = input_length;
  hash_ids.each_element([&](const JsonValue& id) {
    const std::int32_t length = std::min(left, kTrafficBlockTokens);
    segments.push_back(
        {.content = static_cast<std::uint64_t>(id.int64({0, INT64_MAX})), .length = length});
    left -= length;
  });
  return segments;
}

struct LineContent {
  std::int64_t timestamp_ms = 0;
  std::int32_t output_length = 0;
  std::vector<PromptSegment> prompt;
};

Result<LineContent> read_line(const Line& line) {
  if (line.text.find_first_not_of(" \t\r") == std::string_view::npos)
    return Error{
        ErrorKind::corrupt,
        fmt::format("{}:{}: empty line (expected one JSON object a line)", line.file, line.number)};
  const Result<nlohmann::json> json =
      parse_json({.text = line.text, .file = line.file, .line = line.number});
  if (!json.ok()) return json.error();
  const auto read = [&] {
    const JsonValue value(json.value());
    value.check_keys({"timestamp", "input_length", "output_length", "hash_ids"});
    LineContent content;
    content.timestamp_ms = value.require("timestamp").int64({0, kMaxTimestampMs});
    const std::int32_t input_length = value.require("input_length").int32({1, kMaxPromptTokens});
    content.output_length = value.require("output_length").int32({0, kMaxOutputTokens});
    content.prompt = read_segments(value.require("hash_ids"), input_length);
    return content;
  };
  return read_json(fmt::format("{}:{}", line.file, line.number), read, ErrorKind::corrupt);
}

void add_request(TrafficLog& log, LineContent content, int line_number) {
  LoggedRequest logged{.request = {.name = fmt::format("r{}", line_number),
                                   .prompt = std::move(content.prompt),
                                   .max_tokens = std::max(content.output_length, 1)},
                       .arrival_us = content.timestamp_ms * 1000,
                       .conversation = static_cast<std::int32_t>(log.requests.size())};
  logged.request.key = request_key(logged.request.name);
  if (content.output_length == 0) ++log.num_without_output;
  if (!log.requests.empty() && logged.arrival_us < log.requests.back().arrival_us)
    ++log.num_out_of_order;
  log.requests.push_back(std::move(logged));
}

}  // namespace

bool is_mooncake(std::string_view head) { return first_object_has_all(head, {"input_length"}); }

Result<TrafficLog> read_mooncake(TrafficInput input) {
  LineSource lines(input.file, std::move(input.read), kMaxTrafficLineBytes);
  TrafficLog log;
  for (;;) {
    const auto line = lines.next();
    if (!line.ok()) return line.error();
    if (!line.value()) break;
    const int number = static_cast<int>(lines.line_number());
    Result<LineContent> content =
        read_line({.text = line.value()->text, .file = input.file, .number = number});
    if (!content.ok()) return content.error();
    add_request(log, std::move(content).value(), number);
  }
  if (log.requests.empty())
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: no request (expected one JSON object a line)", input.file)};
  return log;
}

Result<Traffic> read_traffic(ReadBytes read, const std::string& file) {
  auto log = read_mooncake({.read = std::move(read), .file = file});
  if (!log.ok()) return log.error();
  return arrange_traffic(std::move(log).value(), {});
}

}  // namespace hybridscope
