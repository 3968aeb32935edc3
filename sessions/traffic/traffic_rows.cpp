// Formats with one row per request: the CSV of BurstGPT, the JSON Lines of Mooncake.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic_formats.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxCsvLineBytes = std::size_t{64} << 10;
constexpr std::string_view kTime = "Timestamp";
constexpr std::string_view kInput = "Request tokens";
constexpr std::string_view kOutput = "Response tokens";
constexpr std::string_view kSession = "Session ID";
constexpr std::string_view kElapsed = "Elapsed time";

std::string_view field_text(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\"");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"") - begin + 1);
}

// Fields hold no commas.
std::vector<std::string_view> fields_of(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  std::vector<std::string_view> fields;
  for (const std::string_view field : split_text(line, ',')) fields.push_back(field_text(field));
  return fields;
}

struct BurstColumns {
  std::size_t count = 0;
  std::optional<std::size_t> time, input, output, session, elapsed;
};

BurstColumns columns_of(std::string_view header) {
  const std::vector<std::string_view> names = fields_of(header);
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  };
  return {names.size(), find(kTime), find(kInput), find(kOutput), find(kSession), find(kElapsed)};
}

std::optional<std::int64_t> number_of(std::string_view text) {
  if (text.ends_with(".0")) text.remove_suffix(2);
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

struct BurstRow {
  std::int64_t time_us = 0;
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::string session;                  // empty: none
  std::optional<std::int64_t> ends_us;  // if the time of the answer is known
};

// The last turn of a session.
struct BurstTurn {
  std::int32_t index = 0;  // in the log
  std::int64_t num_tokens = 0;
  std::optional<std::int64_t> ends_us;
};

class BurstGptReader {
 public:
  explicit BurstGptReader(TrafficInput input)
      : file_(input.file), lines_(input.file, std::move(input.read), kMaxCsvLineBytes) {}

  Result<TrafficLog> read() {
    if (Status header = read_header(); !header.ok()) return header.error();
    for (;;) {
      const auto line = lines_.next();
      if (!line.ok()) return line.error();
      if (!line.value()) break;
      if (field_text(line.value()->text).empty()) continue;
      const auto row = read_row(line.value()->text);
      if (!row.ok()) return row.error();
      if (Status added = add(row.value()); !added.ok()) return added.error();
    }
    if (log_.requests.empty()) return error_here("no request (expected one behind the header)");
    finish();
    return std::move(log_);
  }

 private:
  Error error_here(const std::string& message) const {
    return {ErrorKind::corrupt, fmt::format("{}:{}: {}", file_, lines_.line_number(), message)};
  }
  Status read_header() {
    const auto line = lines_.next();
    if (!line.ok()) return line.error();
    const std::string_view text = line.value() ? line.value()->text : std::string_view();
    columns_ = columns_of(text);
    if (!columns_.time || !columns_.input || !columns_.output)
      return Error{ErrorKind::corrupt,
                   fmt::format("{}:1: found {} (expected a header with {}, {} and {})", file_,
                               quoted_text(text), kTime, kInput, kOutput)};
    return Ok{};
  }

  Result<BurstRow> read_row(std::string_view line) const {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != columns_.count)
      return error_here(fmt::format("found {} (expected {}, as the header has)",
                                    counted(static_cast<std::int64_t>(fields.size()), "field"),
                                    columns_.count));
    BurstRow row;
    const std::string_view time = fields[*columns_.time];
    const auto time_us = parse_millionths(time);
    if (!time_us || *time_us > kMaxArrivalUs)
      return error_here(fmt::format("{}: found {} (expected seconds from 0 to {})", kTime,
                                    quoted_text(time), kMaxArrivalUs / kMillion));
    row.time_us = *time_us;
    const auto count = [&](std::size_t column, std::string_view name,
                           std::int64_t most) -> Result<std::int64_t> {
      const auto value = number_of(fields[column]);
      if (value && *value >= 0 && *value <= most) return *value;
      return error_here(fmt::format("{}: found {} (expected an integer from 0 to {})", name,
                                    quoted_text(fields[column]), most));
    };
    const auto input = count(*columns_.input, kInput, kMaxPromptTokens);
    if (!input.ok()) return input.error();
    const auto output = count(*columns_.output, kOutput, kMaxOutputTokens);
    if (!output.ok()) return output.error();
    row.input = input.value();
    row.output = output.value();
    if (columns_.session) row.session = fields[*columns_.session];
    if (columns_.elapsed)
      if (const auto elapsed = parse_millionths(fields[*columns_.elapsed]))
        row.ends_us = row.time_us + std::min(*elapsed, kMaxArrivalUs);
    return row;
  }

  // A turn whose prompt has room for the history begins with it.
  Status add(const BurstRow& row) {
    if (row.input == 0) {
      ++num_left_out_;
      return Ok{};
    }
    const auto index = static_cast<std::int32_t>(log_.requests.size());
    LoggedRequest logged{.request = {.name = fmt::format("r{}", lines_.line_number()),
                                     .max_tokens = static_cast<std::int32_t>(row.output)},
                         .arrival_us = row.time_us,
                         .conversation = index};
    const auto last = row.session.empty() ? sessions_.end() : sessions_.find(row.session);
    std::int64_t shared = 0;
    if (last != sessions_.end()) {
      const LoggedRequest& before = log_.requests[static_cast<std::size_t>(last->second.index)];
      logged.conversation = before.conversation;
      logged.after = {last->second.index};
      if (last->second.ends_us)
        logged.delay_us = std::max<std::int64_t>(row.time_us - *last->second.ends_us, 0);
      const std::int64_t history = last->second.num_tokens + before.request.max_tokens;
      if (history <= row.input) {
        shared = history;
        logged.request.prompt = before.request.prompt;
        logged.request.prompt.push_back(answer_of(before.request, last->second.num_tokens));
      }
    }
    if (shared < row.input)
      logged.request.prompt.push_back({.content = text_content(logged.request.name),
                                       .length = static_cast<std::int32_t>(row.input - shared)});
    if (!row.session.empty()) sessions_[row.session] = {index, row.input, row.ends_us};
    if (Status added = add_logged(log_, std::move(logged)); !added.ok())
      return error_here(added.error().message);
    return Ok{};
  }

  void finish() {
    count_from_earliest(log_);
    if (num_left_out_ > 0)
      log_.notes.push_back(
          fmt::format("{} without request tokens left out", counted(num_left_out_, "line")));
    if (!columns_.session)
      log_.notes.push_back("the file has no sessions, so no prompt shares anything");
  }

  std::string file_;
  LineSource lines_;
  BurstColumns columns_;
  TrafficLog log_;
  std::unordered_map<std::string, BurstTurn> sessions_;
  std::int64_t num_left_out_ = 0;  // rows without prompt tokens
};

}  // namespace

bool is_burstgpt(std::string_view head) {
  const BurstColumns columns = columns_of(head.substr(0, std::min(head.find('\n'), head.size())));
  return columns.time && columns.input && columns.output;
}

Result<TrafficLog> read_burstgpt(TrafficInput input) {
  return BurstGptReader(std::move(input)).read();
}

namespace {

constexpr std::size_t kMaxTrafficLineBytes = std::size_t{4} << 20;
constexpr std::int64_t kMaxTimestampMs = kMaxArrivalUs / 1000;

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

}  // namespace

bool is_mooncake(std::string_view head) { return first_object_has_all(head, {"input_length"}); }

Result<TrafficLog> read_mooncake(TrafficInput input) {
  TrafficLog log;
  const auto take = [&](const JsonValue& value, int line) {
    value.check_keys({"timestamp", "input_length", "output_length", "hash_ids"});
    const std::int64_t timestamp_ms = value.require("timestamp").int64({0, kMaxTimestampMs});
    const std::int32_t input_length = value.require("input_length").int32({1, kMaxPromptTokens});
    const std::int32_t max_tokens = value.require("output_length").int32({0, kMaxOutputTokens});
    return add_logged(log,
                      {.request = {.name = fmt::format("r{}", line),
                                   .prompt = read_segments(value.require("hash_ids"), input_length),
                                   .max_tokens = max_tokens},
                       .arrival_us = timestamp_ms * 1000,
                       .conversation = static_cast<std::int32_t>(log.requests.size())});
  };
  const std::string file = input.file;
  const Status read =
      read_json_lines(std::move(input), kMaxTrafficLineBytes, EmptyLines::refused, take);
  if (!read.ok()) return read.error();
  if (log.requests.empty()) return no_request(file);
  return log;
}

}  // namespace hybridscope
