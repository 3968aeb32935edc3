#include "sessions/traffic/load_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/math.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/traffic/traffic_formats.h"

namespace hybridscope {
namespace {

// The first that recognises a file reads it.
constexpr TrafficFormat kFormats[] = {
    {.name = "openai-log",
     .description = "a log of requests to an OpenAI API, with texts, and usage if there is",
     .recognised_by = "`messages` or `prompt` in the line, its `request` or its `body`",
     .recognises = is_openai_log,
     .read = read_openai_log},
    {.name = "mooncake-sessions",
     .description = "Mooncake rows with sessions, dependencies, think times and tool waits, as "
                    "AIPerf and Dynamo replay them",
     .recognised_by = "`input_length`, and one of `session_id`, `request_id`, `delay`, `wait_for`, "
                      "`tool_wait_ms`, or no times or ids",
     .recognises = is_mooncake_sessions,
     .read = read_mooncake_sessions},
    {.name = "mooncake",
     .description = "the Mooncake traces: times, lengths and the ids of prompt blocks",
     .recognised_by = "`input_length`",
     .recognises = is_mooncake,
     .read = read_mooncake},
    {.name = "sharegpt",
     .description = "conversations as texts, as in the ShareGPT data sets",
     .recognised_by = "`conversations`",
     .recognises = is_sharegpt,
     .read = read_sharegpt},
    {.name = "burstgpt",
     .description = "the BurstGPT traces: times and numbers of tokens, perhaps sessions",
     .recognised_by = "a header with `Timestamp`, `Request tokens` and `Response tokens`",
     .recognises = is_burstgpt,
     .read = read_burstgpt},
    {.name = "vllm-bench",
     .description = "a result of `vllm bench serve --save-result --save-detailed`",
     .recognised_by = "`num_prompts`, `model_id` and `request_rate`",
     .recognises = is_vllm_bench,
     .read = read_vllm_bench},
};

std::string first_line(std::string_view head) {
  return quoted_text(head.substr(0, std::min(head.find('\n'), head.size())));
}

// Null if there is none of that name.
const TrafficFormat* find_traffic_format(std::string_view name) {
  for (const TrafficFormat& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

std::string traffic_format_names() {
  std::vector<std::string_view> names;
  for (const TrafficFormat& format : kFormats) names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Formats are recognised in as many bytes.
constexpr std::size_t kTrafficHeadBytes = std::size_t{64} << 10;

// A look at the beginning of a file that takes nothing away.
struct TrafficHead {
  std::string text;  // the first kTrafficHeadBytes, or the whole file
  ReadBytes read;    // the whole file once more, with any error where it occurred
};

struct Head {
  std::string text;
  std::size_t given = 0;  // bytes of the text that were read again
  std::optional<Error> error;
  ReadBytes read;
};

Result<std::size_t> read_again(Head& head, std::span<char> into) {
  if (head.given < head.text.size()) {
    const std::size_t count = std::min(into.size(), head.text.size() - head.given);
    std::memcpy(into.data(), head.text.data() + head.given, count);
    head.given += count;
    return count;
  }
  if (head.error) return *head.error;
  return head.read(into);
}

TrafficHead look_at_head(ReadBytes read) {
  auto head = std::make_shared<Head>();
  head->read = std::move(read);
  head->text.resize(kTrafficHeadBytes);
  std::size_t end = 0;
  while (end < head->text.size()) {
    const auto count = head->read(std::span(head->text).subspan(end));
    if (!count.ok()) head->error = count.error();
    if (!count.ok() || count.value() == 0) break;
    end += count.value();
  }
  head->text.resize(end);
  return {.text = head->text,
          .read = [head](std::span<char> into) { return read_again(*head, into); }};
}

constexpr std::string_view kJsonSpace = " \t\r\n";

// Removes a string with its quotes from the front and returns what is between them, escapes as they
// are.
std::string_view take_quoted(std::string_view& text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  const std::string_view inside = text.substr(1, std::min(end, text.size()) - 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return inside;
}

struct OpenContainer {
  bool is_array = false;
  std::string path;  // "request.", or nothing outermost
};

}  // namespace

std::span<const TrafficFormat> traffic_formats() { return kFormats; }

const TrafficFormat* recognise_traffic(std::string_view head) {
  for (const TrafficFormat& format : kFormats)
    if (format.recognises(head)) return &format;
  return nullptr;
}

const TrafficFormat* recognise_traffic_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return nullptr;
  auto read = open_input_file(path);
  if (!read.ok()) return nullptr;
  return recognise_traffic(look_at_head(std::move(read).value()).text);
}

Result<TrafficLog> read_traffic_log(TrafficInput input, std::string_view format) {
  if (!format.empty()) {
    const TrafficFormat* named = find_traffic_format(format);
    if (named == nullptr)
      return invalid_input(fmt::format("there is no traffic format {} (there are {})",
                                       quoted_text(format), traffic_format_names()));
    return named->read(std::move(input));
  }
  TrafficHead head = look_at_head(std::move(input.read));
  const TrafficFormat* found = recognise_traffic(head.text);
  if (found == nullptr && head.text.empty())
    found = find_traffic_format("mooncake");  // its error says so
  if (found == nullptr)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}:1: begins with {}, which is no known traffic (--traffic-format "
                             "names the format: {})",
                             input.file, first_line(head.text), traffic_format_names())};
  return found->read({.read = std::move(head.read), .file = std::move(input.file)});
}

namespace {

Result<TrafficLog> read_file(const std::string& path, const std::string& format) {
  auto read = open_input_file(path);
  if (!read.ok()) return read.error();
  // Gigabytes can take minutes.
  const auto until_stopped = [bytes = std::move(read).value()](std::span<char> into) {
    return stop_requested() ? Result<std::size_t>(interrupted_reading()) : bytes(into);
  };
  return read_traffic_log({.read = until_stopped, .file = path}, format);
}

}  // namespace

Result<Traffic> load_traffic(const std::string& source, const TrafficOptions& options) {
  if (source == kSyntheticTraffic && !options.format.empty())
    return invalid_input("synthetic traffic has no format");
  auto log = source == kSyntheticTraffic ? make_synthetic_log({.seed = options.load.seed})
                                         : read_file(source, options.format);
  if (!log.ok()) return log.error();
  return arrange_traffic(std::move(log).value(), options.load);
}

std::vector<std::string> keys_of_first_object(std::string_view head) {
  std::vector<std::string> keys;
  std::vector<OpenContainer> open;
  int arrays = 0;  // open ones
  head.remove_prefix(std::min(head.find_first_not_of(kJsonSpace), head.size()));
  if (!head.starts_with('{')) return keys;
  while (!head.empty()) {
    const char byte = head.front();
    if (byte == '"') {
      const std::string_view text = take_quoted(head);
      const std::size_t next = head.find_first_not_of(kJsonSpace);
      if (arrays == 0 && next != std::string_view::npos && head[next] == ':')
        keys.push_back(open.back().path + std::string(text));
      continue;
    }
    head.remove_prefix(1);
    if (byte == '{' || byte == '[') {
      arrays += byte == '[' ? 1 : 0;
      open.push_back({byte == '[', arrays > 0 || keys.empty() ? "" : keys.back() + "."});
    } else if (byte == '}' || byte == ']') {
      arrays -= open.back().is_array ? 1 : 0;
      open.pop_back();
      if (open.empty()) break;
    }
  }
  return keys;
}

bool first_object_has_all(std::string_view head, std::initializer_list<std::string_view> keys) {
  return std::ranges::all_of(keys, [found = keys_of_first_object(head)](std::string_view key) {
    return std::ranges::find(found, key) != found.end();
  });
}

bool first_object_has_any(std::string_view head, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [found = keys_of_first_object(head)](std::string_view key) {
    return std::ranges::find(found, key) != found.end();
  });
}

Status read_json_lines(TrafficInput input, std::size_t most_line_bytes, EmptyLines empty,
                       const std::function<Status(const JsonValue& value, int line)>& take) {
  LineSource lines(input.file, std::move(input.read), most_line_bytes);
  for (;;) {
    const auto line = lines.next();
    if (!line.ok()) return line.error();
    if (!line.value()) return Ok{};
    const std::string_view text = line.value()->text;
    const int number = static_cast<int>(lines.line_number());
    const std::string place = fmt::format("{}:{}", input.file, number);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) {
      if (empty == EmptyLines::passed_over) continue;
      return Error{ErrorKind::corrupt, place + ": empty line (expected one JSON object a line)"};
    }
    const auto json = parse_json({.text = text, .file = input.file, .line = number});
    if (!json.ok()) return json.error();
    const auto take_it = [&]() -> Status {
      const Status taken = take(JsonValue(json.value()), number);
      if (taken.ok()) return taken;
      return Error{ErrorKind::corrupt, fmt::format("{}: {}", place, taken.error().message)};
    };
    if (Status taken = read_json(place, take_it, ErrorKind::corrupt); !taken.ok()) return taken;
  }
}

Error no_request(const std::string& file) {
  return {ErrorKind::corrupt,
          fmt::format("{}: no request (expected one JSON object a line)", file)};
}

std::int64_t tokens_of_text(std::string_view text) {
  return cdiv(static_cast<std::int64_t>(text.size()), std::int64_t{kBytesOfAToken});
}

std::vector<TextPiece> pieces_of_text(std::string_view text) {
  constexpr std::size_t kPieceBytes = std::size_t{kTextPieceTokens} * kBytesOfAToken;
  std::vector<TextPiece> pieces;
  for (std::size_t begin = 0; begin < text.size(); begin += kPieceBytes) {
    const std::string_view piece = text.substr(begin, kPieceBytes);
    pieces.push_back({text_content(piece), static_cast<std::int32_t>(piece.size())});
  }
  return pieces;
}

void ConversationHistory::add(const PromptSegment& segment) {
  history_.push_back(segment);
  num_tokens_ += segment.length;
}

void ConversationHistory::add_text(std::string_view text) {
  for (const TextPiece& piece : pieces_of_text(text))
    add({.content = piece.content, .length = cdiv(piece.num_bytes, kBytesOfAToken)});
}

Status add_logged(TrafficLog& log, LoggedRequest logged) {
  AddRequest& request = logged.request;
  if (request.prompt.empty()) request.prompt.push_back({.content = text_content(""), .length = 1});
  if (const std::int64_t tokens = num_prompt_tokens(request); tokens > kMaxPromptTokens)
    return invalid_input(
        fmt::format("a prompt of {} tokens (expected at most {})", tokens, kMaxPromptTokens));
  log.num_pieces += static_cast<std::int64_t>(request.prompt.size());
  if (log.num_pieces > kMaxTrafficPieces)
    return invalid_input(
        fmt::format("up to here the prompts have {} pieces (expected at most {}: conversations "
                    "this long need too much memory)",
                    log.num_pieces, kMaxTrafficPieces));
  request.key = request_key(request.name);
  if (request.max_tokens == 0) {
    request.max_tokens = 1;
    ++log.num_without_output;
  }
  if (logged.arrival_us && !log.requests.empty() &&
      logged.arrival_us < log.requests.back().arrival_us)
    ++log.num_out_of_order;
  log.requests.push_back(std::move(logged));
  return Ok{};
}

void count_from_earliest(TrafficLog& log) {
  std::optional<std::int64_t> first_us;
  for (const LoggedRequest& one : log.requests)
    if (one.arrival_us) first_us = std::min(first_us.value_or(*one.arrival_us), *one.arrival_us);
  for (LoggedRequest& one : log.requests)
    if (one.arrival_us) *one.arrival_us -= *first_us;
}

Status ConversationHistory::ask(TrafficLog& log, std::string name, std::int32_t max_tokens) {
  LoggedRequest logged{
      .request = {.name = std::move(name), .prompt = history_, .max_tokens = max_tokens},
      .conversation = conversation_};
  if (last_ >= 0) logged.after = {last_};
  last_ = static_cast<std::int32_t>(log.requests.size());
  if (Status added = add_logged(log, std::move(logged)); !added.ok()) return added;
  const AddRequest& asked = log.requests.back().request;
  if (history_.empty()) add(asked.prompt.front());
  add(answer_of(asked, num_tokens_));
  return Ok{};
}

}  // namespace hybridscope
