// What the judge keeps about another engine's requests: their tokens and prefixes, and the worker's
// view of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/engine/token_sequence.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// The content of a token that a trace gives by id.
constexpr TokenContent foreign_token(std::int32_t id) {
  return tagged_token(TokenKind::prompt, static_cast<std::uint64_t>(static_cast<std::uint32_t>(id))
                                             << 2);
}

class ForeignRequest {
 public:
  // F(0) is the fingerprint of `cache_salt` (0: no salt).
  explicit ForeignRequest(std::uint64_t cache_salt);

  // Adds prompt tokens at the beginning, and output tokens after every step.
  void append(std::span<const std::int32_t> token_ids);
  // The scheduler learns the tokens of the frame that returns.
  void confirm(std::int32_t num_sampled_tokens);
  // After a reset: tokens of frames in flight are dropped when they return.
  void forget_frames_in_flight();
  // The request lost its blocks; it starts over when it is admitted again.
  void leave_run();

  // Prompt and output, including tokens of frames in flight.
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens_.size()); }
  // Requires: 0 <= position < num_tokens().
  TokenContent token(std::int32_t position) const {
    return tokens_[static_cast<std::size_t>(position)];
  }
  // F(position); 0 before the first token. Past the known tokens, where an engine with a wrong
  // count may read, a value that no prefix has.
  Fingerprint prefix(std::int32_t position) const;

  std::int32_t num_prompt_tokens = 0;
  std::int32_t max_num_tokens = 0;    // with all its output; 0: not in the trace
  std::int32_t num_known_tokens = 0;  // tokens that have returned to the scheduler
  std::int32_t num_lost_tokens = 0;   // of these, the engine's scheduler does not have so many
  // The scheduler's count, after the last step or commit.
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_output_placeholders = 0;
  std::int32_t exact_computed_tokens = -1;  // after its last row; -1: no row in this run yet
  std::int32_t prefill_len = 0;             // V2: tokens known at its last admission
  std::int32_t run = 0;                     // number of preemptions
  std::int32_t first_valid_run = 0;         // frames of earlier runs are stale
  bool runs = false;                        // admitted and not preempted since
  bool readmitted = false;                  // V2: listed as new in this step although already known
  std::int32_t row = -1;                    // in the previous step; -1: none
  std::int32_t scheduled = -1;              // index into the step's scheduled requests, -1: none
  IdRange sampled;                          // in the current step
  std::int32_t num_accepted_tokens = 1;     // of its last step, bonus token included
  std::vector<std::vector<std::int32_t>> block_ids;  // [groups][columns] the worker's block ids
  std::vector<std::int32_t> num_cached_block;        // [groups] columns below it carry a hash

 private:
  std::vector<TokenContent> tokens_;
  std::vector<Fingerprint> prefixes_;  // [num_tokens + 1]
};

// Requests by id, without those that left.
class ForeignRequests {
 public:
  ForeignRequest& add(RequestId id, std::uint64_t cache_salt);
  void release(RequestId id);
  bool holds(RequestId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < requests_.size() &&
           requests_[static_cast<std::size_t>(id.value)] != nullptr;
  }
  ForeignRequest& operator[](RequestId id) {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  const ForeignRequest& at(RequestId id) const {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  std::int32_t num_live() const { return num_live_; }

 private:
  std::vector<std::unique_ptr<ForeignRequest>> requests_;
  std::int32_t num_live_ = 0;
};

}  // namespace hybridscope
