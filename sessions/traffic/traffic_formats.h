// The table of traffic formats (docs/traffic.md). A new format is one row and one file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic_input.h"
#include "sessions/traffic/traffic_log.h"

namespace hybridscope {

struct TrafficFormat {
  std::string_view name;           // --traffic-format
  std::string_view description;    // one sentence without its full stop
  std::string_view recognised_by;  // what `recognises` looks for, in words
  bool (*recognises)(std::string_view head);
  Result<TrafficLog> (*read)(TrafficInput input);
};

// In the order in which a file is tried.
std::span<const TrafficFormat> traffic_formats();
// Null if there is none of that name.
const TrafficFormat* find_traffic_format(std::string_view name);
// "mooncake, sharegpt, ...".
std::string traffic_format_names();

// The format of a file that begins so; null: none is recognised.
const TrafficFormat* recognise_traffic(std::string_view head);
// The format of a file, also of one packed with zstd. Null as well if it cannot be read or is a
// pipe, which could be read only once.
const TrafficFormat* recognise_traffic_file(const std::string& path);

// `format` is a name in the table; empty: what the file's beginning says. Errors: of the format's
// reader; invalid_input, there is no such format; corrupt "FILE:1: ...", none is recognised.
Result<TrafficLog> read_traffic_log(TrafficInput input, std::string_view format = {});

}  // namespace hybridscope
