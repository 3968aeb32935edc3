// Two parts of the scheduler: admission of waiting requests (semantics: schedule-waiting,
// padded-prompt), and frames that return.

#include <algorithm>

#include "core/engine/scheduler.h"
#include "core/engine/scheduler_policies.h"

namespace hybridscope {
namespace {

// Priority order: the smaller value first, then the earlier arrival, then the smaller id.
bool before(const Request& a, const Request& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.arrival_time != b.arrival_time) return a.arrival_time < b.arrival_time;
  return a.id < b.id;
}

}  // namespace

void Scheduler::enqueue(std::deque<Request*>& queue, Request& request, bool at_front) const {
  if (config_.policy == SchedulingPolicy::priority) {
    const auto place =
        std::upper_bound(queue.begin(), queue.end(), &request,
                         [](const Request* a, const Request* b) { return before(*a, *b); });
    queue.insert(place, &request);
  } else if (at_front) {
    queue.push_front(&request);
  } else {
    queue.push_back(&request);
  }
}

void Scheduler::schedule_waiting() {
  if (!output_.preempted.empty()) {
    for (const Request* request : waiting_) skip(*request, SkipReason::preemption_in_step);
    return;
  }
  std::vector<Request*> passed_over;
  while (std::deque<Request*>* queue = next_waiting_queue()) {
    Request& request = *queue->front();
    if (static_cast<std::int32_t>(running_.size()) >= config_.max_num_seqs) {
      skip(request, SkipReason::max_num_seqs);
      break;
    }
    if (request.num_stale_output_tokens > 0 && !request.drop_stale_output) {
      skip(request, SkipReason::frame_in_flight);
      passed_over.push_back(&request);
      queue->pop_front();
      continue;
    }
    if (!admit(request, *queue)) break;
  }
  put_back(passed_over);
}

// The queue that is asked next; null if no request waits or no budget is left.
std::deque<Request*>* Scheduler::next_waiting_queue() {
  if (token_budget_ <= 0 || (waiting_.empty() && skipped_waiting_.empty())) return nullptr;
  if (skipped_waiting_.empty()) return &waiting_;
  if (waiting_.empty() || config_.policy == SchedulingPolicy::fcfs) return &skipped_waiting_;
  return before(*waiting_.front(), *skipped_waiting_.front()) ? &waiting_ : &skipped_waiting_;
}

// Requests that wait for their stale frames, in the order in which they were asked.
void Scheduler::put_back(const std::vector<Request*>& passed_over) {
  std::deque<Request*>& queue =
      policies_.is(StaleRequestQueue::of_its_own) ? skipped_waiting_ : waiting_;
  for (auto request = passed_over.rbegin(); request != passed_over.rend(); ++request)
    enqueue(queue, **request, /*at_front=*/true);
}

// Admits the head of the waiting queue; false: it stays, and no request after it is tried.
bool Scheduler::admit(Request& request, std::deque<Request*>& queue) {
  if (waits_for_its_frame(request)) {
    skip(request, SkipReason::frame_in_flight);
    return false;
  }
  output_.hits.push_back(kv_cache_.get_computed_blocks(cache_view(request)).value());
  const CacheHit& hit = output_.hits.back();
  request.shared_prefix_boundary = hit.shared_prefix_boundary();
  const std::int32_t hit_tokens = hit.num_hit_tokens;
  output_.lookups.push_back({.request = request.id,
                             .num_hit_tokens = hit_tokens,
                             .admitted = false,
                             .explanation = hit.explanation});
  const auto refuse = [&](SkipReason reason) {
    skip(request, reason);
    return false;
  };

  const std::int32_t boundary = config_.has_mamba_groups ? request.shared_prefix_boundary : 0;
  std::int32_t num_new_tokens = request.num_tokens - hit_tokens;
  const Padding padding = pad(hit_tokens, num_new_tokens);
  if (padding.refused) {
    note_terms(request, hit_tokens, 1 + config_.num_speculative_tokens, boundary);
    return refuse(padding.refusal);
  }
  bool padded = padding.padded;
  if (padded) num_new_tokens = 1 + config_.num_speculative_tokens;
  num_new_tokens = clip_to_threshold(num_new_tokens);
  note_terms(request, hit_tokens, std::min(num_new_tokens, token_budget_), boundary);
  if (!config_.enable_chunked_prefill && num_new_tokens > token_budget_)
    return refuse(SkipReason::chunked_prefill_off);
  num_new_tokens = std::min(num_new_tokens, token_budget_);
  num_new_tokens = split(request, num_new_tokens, hit_tokens, boundary);
  if (num_new_tokens == 0) return refuse(SkipReason::split_to_zero);
  if (padded && num_new_tokens != 1 + config_.num_speculative_tokens &&
      policies_.get<OneTokenPrompt>() >= OneTokenPrompt::padding_undone_by_split) {
    num_new_tokens = 1;
    padded = false;
  }

  const auto allocation = kv_cache_.allocate_slots(
      cache_view(request), {.num_new_tokens = num_new_tokens,
                            .num_new_computed_tokens = hit_tokens,
                            .new_computed_blocks = &hit,
                            .num_lookahead_tokens = config_.num_lookahead_tokens,
                            .full_sequence_must_fit = config_.scheduler_reserve_full_isl,
                            .has_scheduled_reqs = !running_.empty()});
  if (!allocation.value().granted()) return refuse(SkipReason::allocation_refused);

  record_allocation(allocation.value().first_new_column);
  queue.pop_front();
  running_.push_back(&request);
  const bool resumed = request.status == RequestStatus::preempted;
  request.status = RequestStatus::running;
  request.num_computed_tokens = hit_tokens;
  output_.lookups.back().admitted = true;
  // A prefill threshold may have cut the padding; the reference would keep more drafts than tokens.
  const std::int32_t num_placeholders =
      padded ? std::min(config_.num_speculative_tokens, num_new_tokens - 1) : 0;
  add_row({.request = &request,
           .admission = resumed ? Admission::resumed : Admission::new_request,
           .num_scheduled_tokens = num_new_tokens,
           .num_draft_tokens = num_placeholders,
           .num_computed_tokens = hit_tokens,
           .num_tokens = request.num_tokens,
           .placeholder_drafts = padded});
  return true;
}

// The tokens of a frame in flight belong to the request and have to be known before it runs again.
// The reference does not ask: after a reset its counts may name frames that never bring tokens.
bool Scheduler::waits_for_its_frame(const Request& request) const {
  return policies_.is(StaleFrame::dropped_by_run) && request.num_output_placeholders > 0;
}

// The reference keeps a batch of verify rows uniform by padding a waiting request with one token
// left (semantics: padded-prompt).
Scheduler::Padding Scheduler::pad(std::int32_t num_computed_tokens,
                                  std::int32_t num_new_tokens) const {
  if (num_new_tokens != 1 || !may_pad(num_computed_tokens)) return {};
  const std::int32_t padded = 1 + config_.num_speculative_tokens;
  if (policies_.get<OneTokenPrompt>() >= OneTokenPrompt::padding_undone_by_split) {
    if (num_computed_tokens + padded + 1 > config_.max_model_len) return {};
  } else if (num_computed_tokens + padded > config_.max_model_len) {
    return {.refusal = SkipReason::max_model_len, .refused = true};
  }
  if (padded > token_budget_) return {.refusal = SkipReason::no_token_budget, .refused = true};
  return {.padded = true};
}

// Running requests were scheduled, and before this step none of them was in the middle of its
// prefill.
bool Scheduler::may_pad(std::int32_t num_computed_tokens) const {
  const OneTokenPrompt policy = policies_.get<OneTokenPrompt>();
  if (policy == OneTokenPrompt::as_is || config_.num_speculative_tokens == 0) return false;
  bool any_running = policy == OneTokenPrompt::padded_alone_too && num_computed_tokens > 0;
  for (const ScheduledRequest& entry : output_.scheduled) {
    if (entry.admission != Admission::running) continue;
    any_running = true;
    if (entry.request->is_prefill_chunk) return false;
  }
  return any_running;
}

// The half of the scheduler that takes frames back: rejected drafts, appended tokens, deferred
// frees (semantics: update-from-output, update-from-output-async, deferred-frees).

// Rejected drafts no longer count as computed tokens nor as output placeholders. A stale frame may
// take off more tokens than are computed: then the count is negative, as in vLLM.
void Scheduler::take_back_rejected(Request& request, const ReturnedRow& row) const {
  if (row.num_draft_tokens == 0 || row.num_sampled_tokens == 0) return;
  const std::int32_t rejected = row.num_draft_tokens - (row.num_sampled_tokens - 1);
  if (request.num_computed_tokens > 0) request.num_computed_tokens -= rejected;
  if (request.num_output_placeholders > 0) request.num_output_placeholders -= rejected;
}

// Stops at a stop token, max_tokens and max_model_len; the rest of the sample is dropped.
std::int32_t Scheduler::append_tokens(Request& request, const ReturnedRow& row, bool is_stale) {
  std::int32_t appended = 0;
  while (appended < row.num_sampled_tokens) {
    ++request.num_tokens;
    ++appended;
    if (appended == row.stop_token || has_reached_its_end(request)) break;
  }
  if (is_stale) return appended;
  const std::int32_t cut_off = row.num_sampled_tokens - appended;
  const bool taken_back = policies_.is(StoppedTokens::taken_back);
  if (taken_back) request.num_computed_tokens -= cut_off;
  if (config_.async_scheduling)
    request.num_output_placeholders -= taken_back ? row.num_sampled_tokens : appended;
  return appended;
}

bool Scheduler::has_reached_its_end(const Request& request) const {
  return request.num_tokens >= config_.max_model_len ||
         request.num_output_tokens() >= request.max_tokens;
}

EndOfRequest Scheduler::end_of(const Request& request, const ReturnedRow& row,
                               std::int32_t appended) const {
  if (appended == row.stop_token) return EndOfRequest::stop;
  return has_reached_its_end(request) ? EndOfRequest::length : EndOfRequest::none;
}

// Registers the blocks that the frame has filled for certain. Known tokens only: a stale frame may
// have taken off too many placeholders.
void Scheduler::register_confirmed(const Request& request, bool had_placeholders) {
  std::int32_t confirmed = request.num_computed_tokens - request.num_output_placeholders;
  if (policies_.is(CommitRegistration::asynchronous_or_drafts)) {
    if (!had_placeholders && config_.num_speculative_tokens == 0) return;
    confirmed = request.num_computed_tokens - request.num_in_flight_tokens;
  } else if (!config_.async_scheduling) {
    return;
  }
  kv_cache_.cache_computed_blocks(cache_view(request), std::min(confirmed, request.num_tokens));
}

UpdatedRequest Scheduler::update_from_output(Request& request, const ReturnedRow& row) {
  request.num_in_flight_tokens -= row.num_scheduled_tokens;
  if (request.num_stale_output_tokens > 0) return take_stale(request, row);
  if (request.status == RequestStatus::finished) return {CommitOutcome::left_the_engine, 0};
  if (row.run < request.first_valid_run) return {CommitOutcome::stale_run, 0};
  const bool discards = request.async_tokens_to_discard > 0;
  if (!discards || !policies_.is(StaleFrame::discard_by_token_count_no_rollback))
    take_back_rejected(request, row);
  const bool ran = request.status == RequestStatus::running && row.run == request.run;
  if (row.num_sampled_tokens == 0)
    return {ran ? CommitOutcome::chunk : CommitOutcome::preempted, 0};
  if (discards) {
    --request.async_tokens_to_discard;
    return {CommitOutcome::stale_run, 0};
  }
  const bool had_placeholders = request.num_output_placeholders > 0;
  const std::int32_t appended = append_tokens(request, row, /*is_stale=*/false);
  if (ran) register_confirmed(request, had_placeholders);
  const EndOfRequest end = end_of(request, row, appended);
  if (end != EndOfRequest::none) finish(request);
  return {ran ? CommitOutcome::taken : CommitOutcome::preempted, appended, end};
}

// A row of a run that was preempted since: its tokens may be delivered, no count changes.
UpdatedRequest Scheduler::take_stale(Request& request, const ReturnedRow& row) {
  request.num_stale_output_tokens =
      std::max(request.num_stale_output_tokens - row.num_scheduled_tokens, 0);
  if (request.status == RequestStatus::finished) return {CommitOutcome::left_the_engine, 0};
  if (request.drop_stale_output) return {CommitOutcome::stale_run, 0};
  const std::int32_t appended = append_tokens(request, row, /*is_stale=*/true);
  if (appended == 0) return {CommitOutcome::preempted, 0};
  const EndOfRequest end = end_of(request, row, appended);
  if (end != EndOfRequest::none) finish(request);
  return {CommitOutcome::preempted, appended, end};
}

void Scheduler::update_draft_tokens(Request& request, std::int32_t num_draft_tokens) {
  request.num_draft_tokens = request.is_prefill_chunk ? 0 : num_draft_tokens;
}

// Blocks are freed at once, because later frames run after the one in flight, unless a KV connector
// writes outside the stream (semantics: deferred-frees; vLLM Scheduler._free_request_blocks).
void Scheduler::free_request_blocks(const Request& request) {
  if (config_.defer_frees && request.last_frame > num_frames_returned_)
    deferred_frees_.push_back({num_frames_scheduled_, kv_cache_.take_blocks(request.id), {}});
  else
    kv_cache_.free(request.id);
}

void Scheduler::frame_returned(std::int32_t num_scheduled_tokens) {
  if (num_scheduled_tokens > 0) ++num_frames_returned_;
  for (; !deferred_frees_.empty() && deferred_frees_.front().fence <= num_frames_returned_;
       deferred_frees_.pop_front()) {
    kv_cache_.free_blocks(deferred_frees_.front().blocks);
    kv_cache_.free_due(deferred_frees_.front().copies);
  }
}

// All tokens in flight are stale. Those of an earlier reset stay dropped while any is under way.
void Scheduler::mark_stale(Request& request, bool is_reset) const {
  request.drop_stale_output =
      is_reset || (request.drop_stale_output && request.num_stale_output_tokens > 0);
  request.num_stale_output_tokens = request.num_in_flight_tokens;
  request.num_output_placeholders = 0;
}

// What a frame in flight will bring no longer counts (semantics: reset-in-flight).
void Scheduler::forget_frame_in_flight(Request& request) const {
  if (policies_.is(StaleFrame::dropped_by_run))
    request.first_valid_run = request.run;
  else
    request.async_tokens_to_discard = request.num_output_placeholders;
  request.num_output_placeholders = 0;
}

}  // namespace hybridscope
