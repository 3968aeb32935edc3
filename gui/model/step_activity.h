// What requests did in a step, in a few bytes, for the lanes of the timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/trace/schedule_trace.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

enum class ActivityKind : std::uint8_t {
  none,       // only a frame returned
  prefill,    // tokens of the prompt, or of a resumed request that is computed again
  decode,     // one token
  verify,     // one known token and drafts
  preempted,  // lost its blocks
  waiting,    // in the waiting queue
  in_flight,  // runs; its last token comes with the frame in flight
  held_back,  // runs, but got no tokens in this step
};

struct RequestActivity {
  RequestId request{};
  ActivityKind kind = ActivityKind::none;
  SkipReason skipped = SkipReason::no_token_budget;  // why it got no tokens, where it has none
  bool admitted = false;                             // new or resumed in this step
  bool resumed = false;
  bool finished = false;
  bool returned = false;        // the frame that returned in this step had a row of it
  std::int32_t num_tokens = 0;  // scheduled, drafts included
  std::int32_t num_draft_tokens = 0;
  std::int32_t num_accepted_drafts = 0;  // by this step's own sampling
  std::int32_t num_returned = 0;         // output tokens of the frame that returned
  friend bool operator==(const RequestActivity&, const RequestActivity&) = default;
};

struct StepActivity {
  std::int64_t step = 0;            // the frame that was scheduled
  std::int64_t committed_step = 0;  // the frame that returned; 0: none did
  bool known = false;               // false: dropped, not read yet, or below level blocks
  std::vector<RequestActivity> requests = {};  // ascending
};

// At most this many requests without tokens are kept per step.
inline constexpr std::size_t kMostWaiting = 64;
StepActivity activity_of(const StepTrace& trace);

// The activity of the last steps of a run while it is made; the oldest are dropped when there are
// too many.
class ActivityLog {
 public:
  // `limit`: requests of all steps together, about 32 bytes each.
  explicit ActivityLog(std::size_t limit = 1'000'000) : limit_(limit) {}

  void take(StepActivity activity);
  void set_limit(std::size_t limit) { limit_ = limit; }  // from the next step on
  std::size_t bytes() const;
  // The activity of the step with this index. Null: it was dropped.
  const StepActivity* find(std::size_t number) const;
  // Forgets the steps from this index on.
  void forget_from(std::size_t number);

 private:
  std::size_t limit_;
  std::size_t dropped_ = 0;  // steps
  std::size_t size_ = 0;     // requests of all kept steps
  std::deque<StepActivity> steps_;
};

}  // namespace hybridscope
