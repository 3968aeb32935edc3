// What the judge knows of the requests of another engine: their tokens and prefixes, and what the
// worker has of them.
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

// Content of a token that a trace names by its id.
constexpr TokenContent foreign_token(std::int32_t id) {
  return tagged_token(TokenKind::prompt, static_cast<std::uint64_t>(static_cast<std::uint32_t>(id))
                                             << 2);
}

class ForeignRequest {
 public:
  // F(0) is that of `cache_salt` (0: none).
  explicit ForeignRequest(std::uint64_t cache_salt);

  // Prompt tokens when it is added, output tokens after every step.
  void append(std::span<const std::int32_t> token_ids);
  // What the frame that returns brought is known to the scheduler from now on.
  void confirm(std::int32_t num_sampled_tokens);
  // It was reset: tokens that frames in flight would bring are dropped when they return.
  void forget_frames_in_flight();
  // It lost its blocks and starts anew when it is admitted again.
  void leave_run();

  // Prompt and output, those of frames in flight included.
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens_.size()); }
  // Requires: 0 <= position < num_tokens().
  TokenContent token(std::int32_t position) const {
    return tokens_[static_cast<std::size_t>(position)];
  }
  // F(position); 0 before the first token. Beyond the known tokens, where an engine that counts
  // wrongly may be, a value that no prefix has.
  Fingerprint prefix(std::int32_t position) const;

  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_known_tokens = 0;  // of them, those that returned to the scheduler
  // The scheduler's, after the last step or commit.
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_output_placeholders = 0;
  std::int32_t exact_computed_tokens = -1;  // after its last row; -1: it has had none in this run
  std::int32_t prefill_len = 0;             // V2: tokens known when it was admitted last
  std::int32_t run = 0;                     // how often it was preempted
  std::int32_t first_valid_run = 0;         // frames of earlier runs are stale
  bool runs = false;                        // admitted, and not preempted since
  bool readmitted = false;                  // V2: told as new in this step, though known
  std::int32_t row = -1;                    // in the step before, -1: none
  std::int32_t scheduled = -1;              // index into the step's scheduled requests, -1: none
  IdRange sampled;                          // of the step under way
  std::int32_t num_accepted_tokens = 1;     // of its last step, bonus token included
  std::vector<std::vector<std::int32_t>> block_ids;  // [groups][columns] the worker's
  std::vector<std::int32_t> num_cached_block;        // [groups] columns before it carry a hash

 private:
  std::vector<TokenContent> tokens_;
  std::vector<Fingerprint> prefixes_;  // [num_tokens + 1]
};

// Requests by id, those that left excepted.
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
