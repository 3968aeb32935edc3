// What the requests of a run did: when they came, were admitted, preempted and left; and in each
// step in a few bytes, for the lanes of the timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/caching/retention.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"
#include "storage/session_reader.h"

namespace hybridscope {

class RequestLog {
 public:
  // Steps come in order, and so do the changes of each request.
  void take(const StepTrace& trace);
  void take(const RequestChange& change);
  // Forgets the steps after `step`.
  void forget_after(std::int64_t step);

  // Requests that had arrived and not finished when the step began, ascending; without those whose
  // arrival no step has told.
  std::vector<RequestId> unfinished(std::int64_t step) const;
  std::int64_t first_step(RequestId request) const;  // 0: no step has named it
  // How the request came into its last admission up to the step.
  struct Admitted {
    std::int64_t step = 0;
    std::int32_t num_hit_tokens = 0;  // that the prefix cache served
    CachedPrompt prompt = {};         // what retention reads of it
  };
  // Null: it was not admitted up to there.
  const Admitted* admitted(RequestId request, std::int64_t step) const;
  // The last step up to this one that preempted it; 0: none did.
  std::int64_t preempted_in(RequestId request, std::int64_t step) const;

 private:
  struct Life {
    std::int64_t first_step = 0;
    std::int64_t ended_in = 0;  // 0: not ended
    bool aborted = false;       // before that step was scheduled
    std::vector<Admitted> admissions = {};
    std::vector<std::int64_t> preemptions = {};  // the steps
  };

  std::map<RequestId, Life> lives_;
};

// What requests did in a step, in a few bytes, for the lanes of the timeline; and the chunk of a
// prefill that one ran.

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

// The chunk of a prefill that a request ran in a step, and whether a state was stored inside it
// (semantics: prefill-checkpoint). In mode align a chunk leaves one state at its end, and at most
// one more on its way.

// Tokens [start, end) of the request.
struct RanChunk {
  std::int32_t start = 0;
  std::int32_t end = 0;

  // Is the state after so many tokens one on the chunk's way?
  bool passes(std::int32_t num_tokens) const { return start < num_tokens && num_tokens < end; }
};

// Do the layers of any group store states inside prefills?
bool stores_checkpoints(const KVCacheConfig& config);

// The chunk that a prefill row ran; empty: it is not a prefill row.
std::optional<RanChunk> prefill_chunk(const StepTrace& trace, const RowTrace& row);

}  // namespace hybridscope
