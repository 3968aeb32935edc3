// Traffic as the user asks for it: a file in any format, or "synthetic", under a load.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope {

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
