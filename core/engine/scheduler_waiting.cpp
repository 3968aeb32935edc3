// The half of the scheduler that admits waiting requests (semantics: schedule-waiting,
// padded-prompt).
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

void Scheduler::enqueue_waiting(Request& request, bool at_front) {
  enqueue(waiting_, request, at_front);
}

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

}  // namespace hybridscope
