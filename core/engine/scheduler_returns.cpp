// The half of the scheduler that takes frames back: rejected drafts, appended tokens, deferred
// frees (semantics: update-from-output, update-from-output-async, deferred-frees).
#include <algorithm>

#include "core/engine/scheduler.h"

namespace hybridscope {

// Rejected drafts no longer count as computed tokens nor as output placeholders.
void Scheduler::take_back_rejected(Request& request, const ReturnedRow& row) const {
  if (row.num_draft_tokens == 0 || row.num_sampled_tokens == 0) return;
  const std::int32_t rejected = row.num_draft_tokens - (row.num_sampled_tokens - 1);
  // Not below 0: a stale frame may take off too many.
  request.num_computed_tokens = std::max(request.num_computed_tokens - rejected, 0);
  if (request.num_output_placeholders > 0) request.num_output_placeholders -= rejected;
}

// Stops at a stop token, max_tokens and max_model_len; the rest of the sample is dropped.
std::int32_t Scheduler::append_tokens(Request& request, const ReturnedRow& row) {
  std::int32_t appended = 0;
  while (appended < row.num_sampled_tokens) {
    ++request.num_tokens;
    ++appended;
    if (appended == row.stop_token || has_reached_its_end(request)) break;
  }
  if (config_.async_scheduling) request.num_output_placeholders -= appended;
  return appended;
}

bool Scheduler::has_reached_its_end(const Request& request) const {
  return request.num_tokens >= config_.max_model_len ||
         request.num_output_tokens() >= request.max_tokens;
}

UpdatedRequest Scheduler::update_from_output(Request& request, const ReturnedRow& row) {
  if (request.status == RequestStatus::finished) return {CommitOutcome::left_the_engine, 0};
  if (row.run < request.first_valid_run) return {CommitOutcome::stale_run, 0};
  take_back_rejected(request, row);
  const bool ran = request.status == RequestStatus::running && row.run == request.run;
  if (row.num_sampled_tokens == 0)
    return {ran ? CommitOutcome::chunk : CommitOutcome::preempted, 0};
  if (config_.policies.stale_frame == StaleFrame::discard_by_token_count &&
      request.async_tokens_to_discard > 0) {
    --request.async_tokens_to_discard;
    return {CommitOutcome::stale_run, 0};
  }
  const std::int32_t appended = append_tokens(request, row);
  // Known tokens only: a stale frame may have taken off too many placeholders.
  if (config_.async_scheduling && ran)
    kv_cache_.cache_computed_blocks(
        cache_view(request), std::min(request.num_computed_tokens - request.num_output_placeholders,
                                      request.num_tokens));
  const EndOfRequest end = appended == row.stop_token     ? EndOfRequest::stop
                           : has_reached_its_end(request) ? EndOfRequest::length
                                                          : EndOfRequest::none;
  if (end != EndOfRequest::none) finish(request);
  return {ran ? CommitOutcome::taken : CommitOutcome::preempted, appended, end};
}

void Scheduler::update_draft_tokens(Request& request, std::int32_t num_draft_tokens) {
  request.num_draft_tokens = request.is_prefill_chunk ? 0 : num_draft_tokens;
}

// Blocks are freed at once, because later frames run after the one in flight, unless a KV connector
// writes outside the stream (semantics: deferred-frees; vLLM Scheduler._free_request_blocks).
void Scheduler::free_request_blocks(const Request& request) {
  if (config_.defer_frees && request.last_frame > num_frames_returned_)
    deferred_frees_.push_back({num_frames_scheduled_, kv_cache_.take_blocks(request.id)});
  else
    kv_cache_.free(request.id);
}

void Scheduler::frame_returned(std::int32_t num_scheduled_tokens) {
  if (num_scheduled_tokens > 0) ++num_frames_returned_;
  for (; !deferred_frees_.empty() && deferred_frees_.front().fence <= num_frames_returned_;
       deferred_frees_.pop_front())
    kv_cache_.free_blocks(deferred_frees_.front().blocks);
}

// What a frame in flight will bring no longer counts (semantics: reset-in-flight).
void Scheduler::forget_frame_in_flight(Request& request) const {
  if (config_.policies.stale_frame == StaleFrame::dropped_by_run)
    request.first_valid_run = request.run;
  else
    request.async_tokens_to_discard = request.num_output_placeholders;
  request.num_output_placeholders = 0;
}

}  // namespace hybridscope
