// Traffic in the format of the Mooncake traces, whose requests arrive at the times of the stream.
#pragma once

#include <istream>
#include <utility>

#include "sessions/traffic/traffic_formats.h"
#include "sessions/traffic/traffic_load.h"
#include "tests/support/bytes_of.h"

namespace hybridscope::test {

inline Result<Traffic> read_traffic(std::istream& lines) {
  auto log = read_mooncake({.read = bytes_of(lines), .file = "t.jsonl"});
  if (!log.ok()) return log.error();
  return arrange_traffic(std::move(log).value(), {});
}

}  // namespace hybridscope::test
