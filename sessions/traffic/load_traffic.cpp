#include "sessions/traffic/load_traffic.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "sessions/text/input_file.h"
#include "sessions/text/json_value.h"
#include "sessions/text/stop_request.h"
#include "sessions/traffic/burstgpt.h"
#include "sessions/traffic/mooncake.h"
#include "sessions/traffic/mooncake_sessions.h"
#include "sessions/traffic/openai_log.h"
#include "sessions/traffic/sharegpt.h"
#include "sessions/traffic/synthetic_traffic.h"
#include "sessions/traffic/vllm_bench.h"

namespace hybridscope {
namespace {

// The first that recognises a file reads it.
constexpr std::array kFormats = {
    TrafficFormat{
        .name = "openai-log",
        .description = "a log of requests to an OpenAI API, with texts, and usage if there "
                       "is",
        .recognised_by = "`messages` or `prompt` in the line, its `request` or its `body`",
        .recognises = is_openai_log,
        .read = read_openai_log},
    TrafficFormat{.name = "mooncake-sessions",
                  .description = "Mooncake rows with sessions, dependencies, think times and tool "
                                 "waits, as AIPerf and Dynamo replay them",
                  .recognised_by =
                      "`input_length`, and one of `session_id`, `request_id`, `delay`, "
                      "`wait_for`, `tool_wait_ms`, or no times or ids",
                  .recognises = is_mooncake_sessions,
                  .read = read_mooncake_sessions},
    TrafficFormat{.name = "mooncake",
                  .description = "the Mooncake traces: times, lengths and the ids of prompt blocks",
                  .recognised_by = "`input_length`",
                  .recognises = is_mooncake,
                  .read = read_mooncake},
    TrafficFormat{.name = "sharegpt",
                  .description = "conversations as texts, as in the ShareGPT data sets",
                  .recognised_by = "`conversations`",
                  .recognises = is_sharegpt,
                  .read = read_sharegpt},
    TrafficFormat{
        .name = "burstgpt",
        .description = "the BurstGPT traces: times and numbers of tokens, perhaps sessions",
        .recognised_by = "a header with `Timestamp`, `Request tokens` and `Response tokens`",
        .recognises = is_burstgpt,
        .read = read_burstgpt},
    TrafficFormat{.name = "vllm-bench",
                  .description = "a result of `vllm bench serve --save-result --save-detailed`",
                  .recognised_by = "`num_prompts`, `model_id` and `request_rate`",
                  .recognises = is_vllm_bench,
                  .read = read_vllm_bench},
};

std::string first_line(std::string_view head) {
  return quoted_text(head.substr(0, std::min(head.find('\n'), head.size())));
}

}  // namespace

std::span<const TrafficFormat> traffic_formats() { return kFormats; }

const TrafficFormat* find_traffic_format(std::string_view name) {
  for (const TrafficFormat& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

std::string traffic_format_names() {
  std::string names;
  for (const TrafficFormat& format : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

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

}  // namespace hybridscope
