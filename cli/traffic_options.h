// --traffic-format, --users, --think-time and --request-rate: how traffic is read, and when its
// requests arrive (docs/traffic.md).
#pragma once

#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

// What --traffic says in every command.
inline constexpr const char* kTrafficHelp =
    "traffic file (docs/traffic.md has the formats; zstd too) or \"synthetic\"";

// Requires: `command` has --traffic.
void add_traffic_options(CLI::App& command, TrafficOptions& options);

// What was given, as words of a command line.
std::vector<std::string> traffic_words(const TrafficOptions& options);

}  // namespace hybridscope
