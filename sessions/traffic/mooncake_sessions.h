// Mooncake rows with sessions, dependencies and waits: the format that AIPerf and Dynamo replay
// (docs/traffic.md, "mooncake-sessions").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/json_value.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"

namespace hybridscope {

// One row of mooncake-sessions, as values.

struct MooncakeRow {
  int line = 1;
  std::string request_id;  // empty: none
  std::string session_id;  // empty: none
  std::int32_t input_length = 1;
  std::int32_t output_length = 1;
  std::vector<std::uint64_t> hash_ids;  // empty: none
  std::optional<std::int64_t> arrival_us;
  std::int64_t delay_us = 0;          // delay and tool_wait_ms
  std::vector<std::string> wait_for;  // request ids
};

// Fails for what is missing or of another type; keys that say nothing about load are not looked at.
MooncakeRow read_mooncake_row(const JsonValue& json);

// Blocks of which a number of ids tells the size: L tokens have n ids if there are L / n to
// (L - 1) / (n - 1) tokens in a block.
class BlockSizes {
 public:
  // False: no size goes with this row and those before it.
  bool take(std::int64_t num_tokens, std::int64_t num_ids);
  // 512, as in Mooncake's traces, if it goes with all rows; else the largest power of two that
  // does; else the smallest size.
  std::int32_t size() const;
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }

 private:
  std::int64_t least_ = 1;
  std::int64_t most_ = std::int64_t{1} << 24;
};

bool is_mooncake_sessions(std::string_view head);

// The request of line n is called "rN". Error corrupt "FILE:LINE: ...".
Result<TrafficLog> read_mooncake_sessions(TrafficInput input);

}  // namespace hybridscope
