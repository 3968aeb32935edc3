// Decides which requests get how many tokens in a step, and which are preempted for their blocks
// (semantics: schedule-running, schedule-waiting; vLLM v1/core/sched/scheduler.py, without
// connectors, encoders and LoRA).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/policy_set.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/aligned_split.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

struct SchedulerConfig {
  std::int32_t max_num_seqs = 256;
  std::int32_t max_model_len = 0;
  std::int32_t long_prefill_token_threshold = 0;  // 0: off
  bool enable_chunked_prefill = true;
  bool scheduler_reserve_full_isl = true;
  SchedulingPolicy policy = SchedulingPolicy::fcfs;
  std::int32_t num_speculative_tokens = 0;
  // Slots allocated beyond the step's tokens, for keys and values of a draft model's tokens.
  std::int32_t num_lookahead_tokens = 0;
  std::int32_t num_draft_slots = 0;  // that a drafter needs for each row, besides its tokens
  bool block_aligned_split = false;  // mode align with prefix caching
  bool has_mamba_groups = true;
  AlignedSplitSettings aligned_split = {};
  bool runner_v2 = false;
  bool async_scheduling = false;
  bool defer_frees = false;           // asynchronous, with a consuming KV connector
  bool counts_common_prefix = false;  // fills ScheduleOutput::num_common_prefix_blocks
};

// One request's part in a step. `first_new_column` of its groups is in ScheduleOutput.
struct ScheduledRequest {
  Request* request = nullptr;
  Admission admission = Admission::running;
  std::int32_t num_scheduled_tokens = 0;     // q
  std::int32_t num_draft_tokens = 0;         // d, among them
  std::int32_t num_drafts_offered = 0;       // length of the draft list before it was cut
  std::int32_t num_computed_tokens = 0;      // c, before this step
  std::int32_t num_tokens = 0;               // known when scheduled
  std::int32_t num_output_placeholders = 0;  // of frames in flight when scheduled
  bool placeholder_drafts = false;           // a padded one-token prompt: drafts are -1
};

struct ScheduleOutput {
  std::vector<ScheduledRequest> scheduled;     // running in queue order, then admitted
  std::vector<std::int32_t> first_new_column;  // [scheduled][groups]: block list from here is new
  std::vector<Request*> preempted;             // in the order they were preempted
  std::vector<RequestId> finished_req_ids;     // ended since the last schedule
  std::vector<SkippedRequest> skipped;         // running or waiting, but without tokens, and why
  std::vector<TokenTerms> token_terms;         // of each request whose tokens were counted
  std::vector<AdmissionLookup> lookups;        // what the prefix cache answered, and why
  std::vector<CacheHit> hits;                  // [lookups] the blocks of each answer
  // [groups] leading blocks that all requests with blocks share, as the first running request sees
  // it; empty if nobody asked or none runs.
  std::vector<std::int32_t> num_common_prefix_blocks;
  std::vector<PendingCopy> block_copies;  // made before anything else of the step
  bool skip_drafts = false;               // no request of the step can use drafts after it
  std::int32_t token_budget = 0;          // at the start
  std::int32_t total_num_scheduled_tokens = 0;
};

// One request's part of a frame that returns.
struct ReturnedRow {
  std::int32_t run = 0;                   // Request::run when it was scheduled
  std::int32_t num_scheduled_tokens = 0;  // q
  std::int32_t num_draft_tokens = 0;      // d
  std::int32_t num_sampled_tokens = 0;    // a; 0: an unfinished prefill chunk
  std::int32_t stop_token = 0;  // which of the sampled tokens ends the request, from 1; 0: none
};

enum class EndOfRequest : std::uint8_t { none, stop, length };

struct UpdatedRequest {
  CommitOutcome outcome = CommitOutcome::taken;
  std::int32_t num_appended_tokens = 0;
  EndOfRequest end = EndOfRequest::none;
};

class Scheduler {
 public:
  // What the scheduler uses and does not own: both outlive it. The policies may change between two
  // steps.
  struct Uses {
    const PolicySet& policies;
    KVCacheManager& kv_cache;
  };
  Scheduler(SchedulerConfig config, Uses uses);

  // The state of `other` between two steps, with copies of its cache, of its policies and of its
  // requests: `request_of` returns a request's copy. The last answer of `other` is not copied.
  using FindRequest = std::function<Request&(RequestId)>;
  Scheduler(const Scheduler& other, Uses uses, const FindRequest& request_of);
  Scheduler(Scheduler&&) = default;

  // The caller owns the request and does not move it until it is aborted or finished.
  void add_request(Request& request);

  // Decides one step; the output is valid until the next call (semantics: schedule-running,
  // schedule-waiting).
  const ScheduleOutput& schedule(std::int32_t token_budget);

  // Call when a frame returns, before its rows: deferred frees that are due reach the pool
  // (Scheduler._drain_deferred_frees). `num_scheduled_tokens` of that frame.
  void frame_returned(std::int32_t num_scheduled_tokens);

  // Takes back drafts that were not accepted and appends sampled tokens, at most to max_tokens and
  // max_model_len. A request that ends is freed and leaves (semantics: update-from-output).
  // Asynchronous: the request may have been preempted, reset or ended since; blocks are cached up
  // to what is confirmed, for which block_hashes must cover the sampled tokens too
  // (semantics: update-from-output-async, preempted-in-flight, reset-in-flight).
  UpdatedRequest update_from_output(Request& request, const ReturnedRow& row);

  // Stores the length of the draft list for the next step, unless the request is in the middle of
  // its prefill (semantics: update-draft-token-ids). Synchronous scheduling only: asynchronously no
  // draft lists come back.
  void update_draft_tokens(Request& request, std::int32_t num_draft_tokens);

  // Frees the request and takes it out of its queue; reported in the next finished_req_ids.
  void abort(Request& request);

  // Preempts a running request between two steps; false when it does not run.
  bool preempt(Request& request);

  // With `reset_running_requests` preempts all of them first, the last one first. True when no
  // block is held any more and all hashes are gone.
  bool reset_prefix_cache(bool reset_running_requests);

  const std::vector<Request*>& running() const { return running_; }
  const std::deque<Request*>& waiting() const { return waiting_; }
  // Requests that wait for stale frames have this queue with StaleRequestQueue::of_its_own.
  const std::deque<Request*>& skipped_waiting() const { return skipped_waiting_; }
  std::int32_t num_waiting() const {
    return static_cast<std::int32_t>(waiting_.size() + skipped_waiting_.size());
  }

 private:
  void schedule_running();
  void schedule_waiting();
  enum class Allocated : std::uint8_t { granted, waits, preempted_itself };
  Allocated allocate_or_preempt(Request& request, std::int32_t num_new_tokens, std::size_t& index);
  std::deque<Request*>* next_waiting_queue();
  void put_back(const std::vector<Request*>& passed_over);
  bool admit(Request& request, std::deque<Request*>& queue);
  // Tokens to schedule for a waiting request of which `num_new_tokens` are left.
  struct Padding {
    bool padded = false;
    SkipReason refusal = SkipReason::no_token_budget;
    bool refused = false;
  };
  Padding pad(std::int32_t num_computed_tokens, std::int32_t num_new_tokens) const;
  bool take_out_of_step(const Request& request);
  void add_row(const ScheduledRequest& entry);
  void record_allocation(std::span<const std::int32_t> first_new_column);
  Request* preemption_victim() const;
  void preempt_running(Request& request, bool is_reset);
  void forget_frame_in_flight(Request& request) const;
  void mark_stale(Request& request, bool is_reset) const;
  void take_block_copies();
  bool drafts_unused(const ScheduledRequest& entry) const;
  bool drains_stale_frames() const;
  bool has_reached_its_end(const Request& request) const;
  void count_scheduled(const ScheduledRequest& entry);
  void take_back_rejected(Request& request, const ReturnedRow& row) const;
  std::int32_t append_tokens(Request& request, const ReturnedRow& row, bool is_stale);
  void register_confirmed(const Request& request, bool had_placeholders);
  UpdatedRequest take_stale(Request& request, const ReturnedRow& row);
  EndOfRequest end_of(const Request& request, const ReturnedRow& row, std::int32_t appended) const;
  void finish(Request& request);
  void free_request_blocks(const Request& request);
  void enqueue(std::deque<Request*>& queue, Request& request, bool at_front) const;
  void skip(const Request& request, SkipReason reason);
  std::int32_t split(const Request& request, std::int32_t num_new_tokens, std::int32_t hit_tokens,
                     std::int32_t shared_prefix_boundary) const;
  std::int32_t kept_junction(const Request& request) const;
  std::int32_t clip_to_threshold(std::int32_t num_new_tokens) const;
  void note_terms(const Request& request, std::int32_t num_computed_tokens,
                  std::int32_t num_new_tokens, std::int32_t shared_prefix_boundary);
  bool may_pad(std::int32_t num_computed_tokens) const;
  bool waits_for_its_frame(const Request& request) const;

  // A free that waits until `fence` frames with tokens have returned.
  struct DeferredFree {
    std::int64_t fence = 0;
    KVCacheManager::DeferredBlocks blocks;
    KVCacheManager::BlockCopies copies;
  };

  SchedulerConfig config_;
  const PolicySet& policies_;
  KVCacheManager& kv_cache_;
  std::vector<Request*> running_;
  std::deque<Request*> waiting_;  // fcfs: order of arrival; priority: ascending (priority, arrival)
  std::deque<Request*> skipped_waiting_;
  std::vector<RequestId> finished_req_ids_;
  std::int64_t num_frames_scheduled_ = 0;
  std::int64_t num_frames_returned_ = 0;
  std::deque<DeferredFree> deferred_frees_;
  std::int32_t token_budget_ = 0;  // left in the step being scheduled, for the next row
  std::int32_t slots_a_row_ = 0;   // of the budget, for a drafter
  std::int32_t long_prefill_token_threshold_ = 0;  // of the step
  bool drafts_needed_ = false;  // by a row of the step, even if it was preempted since
  ScheduleOutput output_;
};

// What the KV cache reads of a request.
RequestCacheView cache_view(const Request& request);

}  // namespace hybridscope
