// The half of the scheduler that takes frames back: rejected drafts, appended tokens, deferred
// frees (semantics: update-from-output, update-from-output-async, deferred-frees).
#include <algorithm>

#include "core/engine/scheduler.h"
#include "core/engine/scheduler_policies.h"

namespace hybridscope {

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
       deferred_frees_.pop_front())
    free_deferred(deferred_frees_.front());
}

void Scheduler::free_deferred(const DeferredFree& due) {
  kv_cache_.free_blocks(due.blocks);
  kv_cache_.free_due(due.copies);
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
