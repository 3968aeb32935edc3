// One request as the whole engine knows it: the scheduler's part, its tokens, and the worker's
// part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/engine/token_sequence.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// What the scheduler knows about one request (vLLM v1/request.py, the fields that scheduling
// reads).
struct Request {
  RequestId id;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t max_tokens = 1;    // output tokens after which it ends
  std::int32_t priority = 0;      // smaller is more important
  std::int64_t arrival_time = 0;  // any increasing unit; ties are broken by id
  std::int32_t num_tokens = 0;    // known: prompt and generated, without drafts
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_draft_tokens = 0;  // length of spec_token_ids, the list for the next step
  // Asynchronous: tokens that frames in flight will return if every draft is accepted; computed
  // tokens are counted the same way.
  std::int32_t num_output_placeholders = 0;
  std::int64_t last_frame = 0;               // number of the last frame with tokens of it, from 1
  std::int32_t num_in_flight_tokens = 0;     // scheduled tokens of frames that have not returned
  std::int32_t async_tokens_to_discard = 0;  // StaleFrame::discard_by_token_count... only
  // StaleFrame::drained_by_scheduled_tokens only: tokens in flight of runs that were preempted, and
  // whether what they sampled is dropped.
  std::int32_t num_stale_output_tokens = 0;
  bool drop_stale_output = false;
  std::int32_t run = 0;                     // how often it was preempted
  std::int32_t first_valid_run = 0;         // frames of earlier runs are dropped whole
  std::int32_t shared_prefix_boundary = 0;  // of its last lookup (semantics: junction); 0: none
  bool is_prefill_chunk = false;            // the last scheduled chunk did not reach num_tokens
  RequestStatus status = RequestStatus::waiting;
  // One hash per hash block of known tokens; the code that appends tokens extends the viewed array.
  std::span<const Fingerprint> block_hashes;

  std::int32_t num_output_tokens() const { return num_tokens - num_prompt_tokens; }
};

// num_accepted_tokens of a row: one value, which belongs to the row's request and is handed on from
// frame to frame (docs/architecture.md, "Two values and their ways").
struct AcceptedCount {
  std::int32_t num_accepted_tokens = 1;  // of the request's last frame, bonus token included
  RequestId from{};  // whose frame that was: of another request only where a fault mixes counts up
  friend bool operator==(const AcceptedCount&, const AcceptedCount&) = default;
};

// What the row accepted in its own frame, once it has sampled: 1 if its sample was discarded.
inline AcceptedCount accepted_count_after(const RowTrace& row) {
  return {std::max(row.num_sampled_tokens, 1), row.request};
}

// The row starts the step with `count`. A pre-copy may take it back to 1 afterwards.
inline void start_with(RowTrace& row, const AcceptedCount& count) {
  row.num_accepted_tokens_before = count.num_accepted_tokens;
  row.num_accepted_tokens = count.num_accepted_tokens;
  row.accepted_from = count.from;
}

// What the worker keeps of a request between steps, whether or not it has a row.
struct WorkerRequest {
  std::vector<std::vector<std::int32_t>> block_ids;  // [groups][columns] append-only
  AcceptedCount accepted;                            // of its last frame
  AcceptedCount previously_accepted;                 // of the frame before that
  std::int32_t num_draft_tokens = 0;                 // prev_num_draft_len: d of its last step
  std::int32_t num_computed_tokens = 0;  // exact: rejected drafts of the last step taken off
};

struct EngineRequest {
  Request scheduling;
  TokenSequence tokens;
  PrefixFingerprints prefix;
  std::uint64_t key = 0;
  std::uint64_t cache_salt = 0;
  WorkerRequest worker;
  std::optional<std::int32_t> scripted_num_accepted_tokens;
};

// Requests by id. A finished request keeps its name; release() frees the rest.
class RequestList {
 public:
  RequestList() = default;
  // A deep copy: each copied request views the fingerprints of the copy.
  RequestList(const RequestList& other);
  RequestList(RequestList&&) = default;
  RequestList& operator=(RequestList&&) = default;
  RequestList& operator=(const RequestList&) = delete;

  EngineRequest& add(std::string name) {
    requests_.push_back(std::make_unique<EngineRequest>());
    names_.push_back(std::move(name));
    requests_.back()->scheduling.id = {static_cast<std::int32_t>(requests_.size()) - 1};
    return *requests_.back();
  }
  EngineRequest& operator[](RequestId id) {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  const EngineRequest& operator[](RequestId id) const {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  const std::string& name_of(RequestId id) const {
    HS_EXPECT(contains(id));
    return names_[static_cast<std::size_t>(id.value)];
  }
  void release(RequestId id) { requests_[static_cast<std::size_t>(id.value)].reset(); }

  // Was a request of this id ever added?
  bool contains(RequestId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < requests_.size();
  }
  // Was it added and not released?
  bool holds(RequestId id) const {
    return contains(id) && requests_[static_cast<std::size_t>(id.value)] != nullptr;
  }
  std::size_t size() const { return requests_.size(); }

 private:
  std::vector<std::unique_ptr<EngineRequest>> requests_;
  std::vector<std::string> names_;
};

}  // namespace hybridscope
