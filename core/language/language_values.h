// What a language model on an engine's decisions said and held, as values.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// How prompt rows are computed, and with it what can be compared (numerics: two forms).
enum class NumericForm : std::uint8_t {
  recurrent,  // token after token: every bit is equal to the lone run's
  chunked,    // by the builders' chunks: logits are within a tolerance of the lone run's
};

// A state that is not what the lone run of its request has after as many tokens.
struct StateDifference {
  std::int64_t step = 0;
  RequestId request{};
  std::int32_t row = -1;
  std::int32_t group = -1;
  std::int32_t layer = -1;  // of the model
  StateKind kind = StateKind::temporal;
  bool is_read = false;  // found where a row read it; else where a row had written it
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;     // of the request, that should be in it
  std::int64_t first_element = 0;  // of the state; conv: of the W - 1 positions
  std::int64_t num_elements = 0;   // that differ
  double largest = 0;              // of the absolute differences; infinite: one is no number
  friend bool operator==(const StateDifference&, const StateDifference&) = default;
};

// One token that a row sampled, beside what the lone run says there.
struct SpokenToken {
  std::int64_t step = 0;
  std::int32_t position = 0;  // in the request's sequence
  std::int32_t id = 0;        // of the run
  std::int32_t twin_id = 0;   // of the lone run that has the same tokens before it
  bool was_drafted = false;   // accepted, not sampled
  float margin = 0;           // of the lone run: best logit minus second best
  double divergence = 0;      // KL(lone run || run), nats
};

struct SpokenText {
  RequestId request{};
  std::vector<std::int32_t> prompt;
  std::vector<SpokenToken> tokens;
  // What the lone run goes on with by itself, as many tokens; empty: the same as `tokens`.
  std::vector<std::int32_t> alone;
  // Some of its tokens are not the model's choice: a prompt needed them before they were generated.
  bool is_forced = false;
};

}  // namespace hybridscope
