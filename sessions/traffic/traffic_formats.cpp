#include "sessions/traffic/traffic_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sessions/text/object_reader.h"
#include "sessions/traffic/mooncake.h"

namespace hybridscope {
namespace {

constexpr std::array kFormats = {
    TrafficFormat{.name = "mooncake",
                  .description = "JSON Lines of the Mooncake traces: times, lengths and the ids of "
                                 "prompt blocks",
                  .recognised_by = "lines with \"input_length\"",
                  .recognises = is_mooncake,
                  .read = read_mooncake},
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
  if (found == nullptr && head.text.empty()) found = &kFormats.front();  // its error says so
  if (found == nullptr)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}:1: begins with {}, which is no known traffic (--traffic-format "
                             "names the format: {})",
                             input.file, first_line(head.text), traffic_format_names())};
  return found->read({.read = std::move(head.read), .file = std::move(input.file)});
}

}  // namespace hybridscope
