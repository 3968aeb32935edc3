#include "sessions/traffic/mooncake.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/line_source.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/object_reader.h"
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
std::vector<PromptSegment> read_segments(const JsonPlace& hash_ids, std::int32_t input_length,
                                         JsonErrors& errors) {
  std::vector<PromptSegment> segments;
  if (!hash_ids.value->is_array()) {
    read_array(hash_ids, errors);
    return segments;
  }
  const auto num_blocks = static_cast<std::size_t>(cdiv(input_length, kTrafficBlockTokens));
  if (hash_ids.value->size() != num_blocks) {
    errors.fail(hash_ids.pointer,
                fmt::format("{} ids for {} tokens (expected {}, one per {} tokens)",
                            hash_ids.value->size(), input_length, num_blocks, kTrafficBlockTokens));
    return segments;
  }
  segments.reserve(num_blocks);
  std::int32_t left = input_length;
  for (std::size_t i = 0; i < num_blocks; ++i) {
    const nlohmann::json& id = (*hash_ids.value)[i];
    const std::optional<std::int64_t> content = whole_number(id);
    if (!content || *content < 0) {
      read_integer({&id, child_pointer(hash_ids.pointer, i)}, {0, INT64_MAX}, errors);
      return segments;
    }
    const std::int32_t length = std::min(left, kTrafficBlockTokens);
    segments.push_back({.content = static_cast<std::uint64_t>(*content), .length = length});
    left -= length;
  }
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
  JsonErrors errors(fmt::format("{}:{}", line.file, line.number));
  const ObjectReader reader({&json.value(), ""},
                            {"timestamp", "input_length", "output_length", "hash_ids"}, errors);
  const auto integer = [&](std::string_view key, const IntegerRange& range) {
    reader.require(key);
    return reader.integer(key, range).value_or(range.min);
  };
  LineContent content;
  content.timestamp_ms = integer("timestamp", {0, kMaxTimestampMs});
  const auto input_length =
      static_cast<std::int32_t>(integer("input_length", {1, kMaxPromptTokens}));
  content.output_length =
      static_cast<std::int32_t>(integer("output_length", {0, kMaxOutputTokens}));
  const auto hash_ids = reader.require("hash_ids");
  if (hash_ids && !errors.failed()) content.prompt = read_segments(*hash_ids, input_length, errors);
  if (errors.failed()) return Error{ErrorKind::corrupt, errors.error().message};
  return content;
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
