#include "sessions/scenario/traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/line_source.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/object_reader.h"
#include "sessions/text/stop_request.h"

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

void add_request(Traffic& traffic, LineContent content, int line_number) {
  AddRequest request{.name = fmt::format("r{}", line_number),
                     .prompt = std::move(content.prompt),
                     .max_tokens = std::max(content.output_length, 1)};
  request.key = request_key(request.name);
  traffic.num_prompt_tokens += num_prompt_tokens(request);
  traffic.num_output_tokens += request.max_tokens;
  if (content.output_length == 0) ++traffic.num_without_output;
  const std::int64_t arrival_us = content.timestamp_ms * 1000;
  if (!traffic.requests.empty() && arrival_us < traffic.requests.back().arrival_us)
    ++traffic.num_out_of_order;
  traffic.requests.push_back({.arrival_us = arrival_us, .request = std::move(request)});
}

Result<Traffic> read_source(LineSource lines, const std::string& file) {
  Traffic traffic;
  for (;;) {
    const auto line = lines.next();
    if (!line.ok()) return line.error();
    if (!line.value()) break;
    const int number = static_cast<int>(lines.line_number());
    Result<LineContent> content =
        read_line({.text = line.value()->text, .file = file, .number = number});
    if (!content.ok()) return content.error();
    add_request(traffic, std::move(content).value(), number);
  }
  if (traffic.requests.empty())
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: no request (expected one JSON object a line)", file)};
  std::stable_sort(traffic.requests.begin(), traffic.requests.end(),
                   [](const ArrivingRequest& a, const ArrivingRequest& b) {
                     return a.arrival_us < b.arrival_us;
                   });
  return traffic;
}

}  // namespace

Result<Traffic> read_traffic(ReadBytes read, const std::string& file) {
  return read_source(LineSource(file, std::move(read), kMaxTrafficLineBytes), file);
}

Result<Traffic> read_traffic_file(const std::string& path) {
  auto read = open_input_file(path);
  if (!read.ok()) return read.error();
  // Gigabytes can take minutes.
  const auto until_stopped = [bytes = std::move(read).value()](std::span<char> into) {
    return stop_requested() ? Result<std::size_t>(interrupted_reading()) : bytes(into);
  };
  return read_traffic(until_stopped, path);
}

}  // namespace hybridscope
