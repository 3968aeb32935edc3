// Traffic as the user asks for it: a file in any format, or "synthetic", under a load.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope {

// The table of traffic formats (docs/traffic.md). A new format is one row and one file.

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

inline constexpr std::string_view kSyntheticTraffic = "synthetic";

struct TrafficOptions {
  std::string format;  // a name of traffic_formats(); empty: recognised by the file's content
  TrafficLoad load;    // its seed is that of the generator as well
  friend bool operator==(const TrafficOptions&, const TrafficOptions&) = default;
};

// A zstd file is unpacked on the way. Error io: the file cannot be read; not_available: the program
// was asked to stop; invalid_input: the options; corrupt with "FILE:LINE: ...": the reader's.
Result<Traffic> load_traffic(const std::string& source, const TrafficOptions& options);

}  // namespace hybridscope
