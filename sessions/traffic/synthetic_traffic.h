// Generates conversations from a seed: many share a system prompt, and each turn's prompt is the
// whole history, generated answers included. Uses only integers, so a seed gives the same traffic
// everywhere.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope {

struct SyntheticTrafficOptions {
  std::uint64_t seed = 0;
  std::int32_t num_conversations = 200;
  std::int32_t num_system_prompts = 8;
  TokenRange turns = {1, 6};
  TokenRange system_tokens = {256, 2048};
  TokenRange user_tokens = {16, 512};
  TokenRange output_tokens = {16, 384};
  std::int64_t mean_gap_us = 250'000;      // between the starts of conversations
  std::int64_t mean_think_us = 5'000'000;  // between an answer and the next turn
  std::int64_t token_time_us = 25'000;     // assumed time of one output token
};

// Requests are called "c3.t2": conversation 3, turn 2, both counted from 1. A turn's time allows
// for the answer before it; its delay is the think time alone. Error: a count below 1, an empty or
// negative range, a history longer than kMaxPromptTokens.
Result<TrafficLog> make_synthetic_log(const SyntheticTrafficOptions& options);

// Makes synthetic traffic whose requests arrive at the times of the log.
Result<Traffic> make_synthetic_traffic(const SyntheticTrafficOptions& options);

}  // namespace hybridscope
