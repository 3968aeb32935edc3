// Requests with arrivals, ready to run: what every reader of traffic and the generator lead to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sessions/scenario/arriving_request.h"

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

}  // namespace hybridscope
