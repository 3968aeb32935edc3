// Requests with arrivals, ready to run: what every reader of traffic and the generator lead to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/command.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {

// The default model for traffic files.
inline constexpr const char* kDefaultTrafficModel = "qwen3-next-80b-a3b";

struct Traffic {
  // By arrival; on ties in file order. A request that waits for others stands behind them.
  std::vector<ArrivingRequest> requests;
  std::int64_t num_prompt_tokens = 0;   // over all requests
  std::int64_t num_output_tokens = 0;   // sum of max_tokens
  std::int32_t num_out_of_order = 0;    // lines whose time is before that of the previous line
  std::int32_t num_without_output = 0;  // requests without output, which get one token
  std::vector<std::string> notes = {};  // what was assumed or left out, one sentence each
};

// What a traffic file says: its requests in the order of the file, which of them make up a
// conversation, and the times that the file has. When each request arrives is decided later
// (traffic_load.h).

struct LoggedRequest {
  AddRequest request;
  std::optional<std::int64_t> arrival_us = std::nullopt;  // empty: the file has none
  std::int32_t conversation = 0;         // equal for the requests of one conversation
  std::vector<std::int32_t> after = {};  // earlier requests whose end it waits for, by their index
  std::int64_t delay_us = 0;             // from the end of the last of these: think time, tools
};

struct TrafficLog {
  std::vector<LoggedRequest> requests;  // in the order of the file
  std::int64_t num_pieces = 0;          // prompt segments of all requests, as add_logged() counts
  std::int32_t num_out_of_order = 0;    // requests whose time is before that of the one in front
  std::int32_t num_without_output = 0;  // requests without output, which get one token
  // Arrivals allow for the time of answers, so nothing waits unless the user asks for it.
  bool arrivals_allow_for_answers = false;
  std::vector<std::string> notes = {};  // what the reader assumed or left out
};

}  // namespace hybridscope
