// When the requests of a traffic log arrive: as the file says, at a rate, or in a closed loop of
// users who wait for their answers. And the generator of synthetic logs, which draws in the same
// way.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

// Random draws of traffic: keyed, integers only, the same on every machine.

// Drawn uniformly, both ends included.
struct TokenRange {
  std::int32_t min = 1;
  std::int32_t max = 1;
};

// What is drawn. Draws with different keys are independent, so changing one option of a generator
// does not change the draws of the others.
struct TrafficDrawKey {
  std::uint64_t purpose = 0;
  std::int32_t conversation = 0;
  std::int32_t turn = 0;
};

class TrafficDraws {
 public:
  // `domain` keeps generators with the same seed apart.
  TrafficDraws(std::uint64_t domain, std::uint64_t seed);

  std::uint64_t bits(const TrafficDrawKey& key) const;
  // Uniform in [min, max] up to 2^-32.
  std::int32_t uniform(const TokenRange& range, const TrafficDrawKey& key) const;
  // Approximately exponential with the given mean.
  std::int64_t waiting_time(std::int64_t mean_us, const TrafficDrawKey& key) const;

 private:
  std::uint64_t seed_;
};

inline constexpr std::int64_t kMaxTrafficUsers = 1'000'000;
// In conversations per million seconds: a millionth to a million conversations a second.
inline constexpr std::int64_t kMaxTrafficRate = 1'000'000'000'000;
inline constexpr std::int64_t kMaxThinkUs = 86'400'000'000;  // one day

// With any of these a request waits for those that it follows in its conversation, and the file's
// time of such a request has no meaning.
struct TrafficLoad {
  // Closed loop: conversation c (from 0, in file order) belongs to user c modulo `users` and begins
  // when that user's last one has ended. 0: not a closed loop.
  std::int64_t users = 0;
  // Conversations per million seconds; their starts are a Poisson process. 0: the file's times.
  std::int64_t rate = 0;
  std::optional<std::int64_t> think_us = std::nullopt;  // instead of the file's delays
  std::uint64_t seed = 0;                               // of the Poisson process
  friend bool operator==(const TrafficLoad&, const TrafficLoad&) = default;
};

// A file in which a conversation has no time is run at one conversation a second, with a note.
// Requires: `after` holds earlier indices. Error invalid_input: users, rate or think time out of
// range, users together with a rate, an arrival after kMaxArrivalUs.
Result<Traffic> arrange_traffic(TrafficLog log, const TrafficLoad& load);

// Generates conversations from a seed: many share a system prompt, and each turn's prompt is the
// whole history, generated answers included. Uses only integers, so a seed gives the same traffic
// everywhere.

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
