#include "sessions/traffic/load_traffic.h"

#include <span>
#include <utility>

#include "sessions/text/input_file.h"
#include "sessions/text/stop_request.h"
#include "sessions/traffic/synthetic_traffic.h"
#include "sessions/traffic/traffic_formats.h"

namespace hybridscope {
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
