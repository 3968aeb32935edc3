#include "core/engine/scheduler.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {
namespace {

// Priority order: the smaller value first, then the earlier arrival, then the smaller id.
bool before(const Request& a, const Request& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.arrival_time != b.arrival_time) return a.arrival_time < b.arrival_time;
  return a.id < b.id;
}

// Does the frame in flight bring the request's last token even if all its drafts are rejected?
bool ends_in_flight(const Request& request) {
  return request.num_output_placeholders > 0 &&
         request.num_computed_tokens + 2 - request.num_output_placeholders >=
             request.num_prompt_tokens + request.max_tokens;
}

template <class Container>
bool remove_one(Container& container, const Request* request) {
  const auto found = std::find(container.begin(), container.end(), request);
  if (found == container.end()) return false;
  container.erase(found);
  return true;
}

}  // namespace

RequestCacheView cache_view(const Request& request) {
  return {.id = request.id,
          .block_hashes = request.block_hashes,
          .num_tokens = request.num_tokens,
          .num_computed_tokens = request.num_computed_tokens,
          .status = request.status,
          .prompt = {.num_prompt_tokens = request.num_prompt_tokens,
                     .shared_prefix_boundary = request.shared_prefix_boundary}};
}

Scheduler::Scheduler(SchedulerConfig config, KVCacheManager& kv_cache)
    : config_(config), kv_cache_(kv_cache) {}

Scheduler::Scheduler(const Scheduler& other, KVCacheManager& kv_cache,
                     const FindRequest& request_of)
    : config_(other.config_),
      kv_cache_(kv_cache),
      finished_req_ids_(other.finished_req_ids_),
      num_frames_scheduled_(other.num_frames_scheduled_),
      num_frames_returned_(other.num_frames_returned_),
      deferred_frees_(other.deferred_frees_) {
  for (const Request* request : other.running_) running_.push_back(&request_of(request->id));
  for (const Request* request : other.waiting_) waiting_.push_back(&request_of(request->id));
}

void Scheduler::add_request(Request& request) { enqueue_waiting(request, /*at_front=*/false); }

void Scheduler::enqueue_waiting(Request& request, bool at_front) {
  if (config_.policy == SchedulingPolicy::priority) {
    const auto place =
        std::upper_bound(waiting_.begin(), waiting_.end(), &request,
                         [](const Request* a, const Request* b) { return before(*a, *b); });
    waiting_.insert(place, &request);
  } else if (at_front) {
    waiting_.push_front(&request);
  } else {
    waiting_.push_back(&request);
  }
}

const ScheduleOutput& Scheduler::schedule(std::int32_t token_budget) {
  kv_cache_.new_step_starts();
  output_.scheduled.clear();
  output_.first_new_column.clear();
  output_.preempted.clear();
  output_.skipped.clear();
  output_.lookups.clear();
  output_.hits.clear();
  output_.finished_req_ids.swap(finished_req_ids_);
  finished_req_ids_.clear();
  output_.token_budget = token_budget;
  token_budget_ = token_budget;

  schedule_running();
  schedule_waiting();

  output_.total_num_scheduled_tokens = 0;
  for (const ScheduledRequest& entry : output_.scheduled) {
    count_scheduled(entry);
    output_.total_num_scheduled_tokens += entry.num_scheduled_tokens;
  }
  if (output_.total_num_scheduled_tokens > 0) ++num_frames_scheduled_;
  return output_;
}

// Drafts count as computed until the frame returns. Asynchronously the tokens that the frame will
// bring get placeholders, and so do the drafts of the next step (semantics: output-placeholders;
// vLLM AsyncScheduler._update_after_schedule).
void Scheduler::count_scheduled(const ScheduledRequest& entry) {
  Request& request = *entry.request;
  request.last_frame = num_frames_scheduled_ + 1;
  request.num_computed_tokens += entry.num_scheduled_tokens;
  request.is_prefill_chunk =
      request.num_computed_tokens < request.num_tokens + request.num_output_placeholders;
  if (!config_.async_scheduling || request.is_prefill_chunk) return;
  request.num_output_placeholders += 1 + entry.num_draft_tokens;
  request.num_draft_tokens = config_.num_speculative_tokens;
}

void Scheduler::schedule_running() {
  for (std::size_t index = 0; index < running_.size();) {
    Request& request = *running_[index];
    if (token_budget_ <= 0) {
      skip(request, SkipReason::no_token_budget);
      ++index;
      continue;
    }
    if (ends_in_flight(request)) {
      skip(request, SkipReason::ends_in_flight);
      ++index;
      continue;
    }
    const std::int32_t known = request.num_tokens + request.num_output_placeholders;
    std::int32_t num_new_tokens =
        clip_to_threshold(known + request.num_draft_tokens - request.num_computed_tokens);
    num_new_tokens = std::min(num_new_tokens, token_budget_);
    num_new_tokens =
        std::min(num_new_tokens, config_.max_model_len - 1 - request.num_computed_tokens);
    const bool wanted = num_new_tokens > 0;
    num_new_tokens = split(request, num_new_tokens, 0, 0);
    if (num_new_tokens == 0) {
      skip(request, wanted ? SkipReason::split_to_zero : SkipReason::max_model_len);
      ++index;
      continue;
    }
    const Allocated allocated = allocate_or_preempt(request, num_new_tokens, index);
    if (allocated == Allocated::preempted_itself) break;
    if (allocated == Allocated::waits) {
      skip(request, SkipReason::frees_deferred);
      ++index;
      continue;
    }

    ScheduledRequest entry{.request = &request,
                           .admission = Admission::running,
                           .num_scheduled_tokens = num_new_tokens,
                           .num_computed_tokens = request.num_computed_tokens,
                           .num_tokens = request.num_tokens,
                           .num_output_placeholders = request.num_output_placeholders};
    if (request.num_draft_tokens > 0) {
      entry.num_drafts_offered = request.num_draft_tokens;
      // At least one token is not a draft, even if a stale frame lowered `known` too far.
      entry.num_draft_tokens =
          std::clamp(num_new_tokens + request.num_computed_tokens - known, 0, num_new_tokens - 1);
      request.num_draft_tokens = 0;
    }
    output_.scheduled.push_back(entry);
    token_budget_ -= num_new_tokens;
    ++index;
  }
}

// Allocates for a running request, preempting others (or, in the end, itself) while it is refused.
// `index` is its place in running_, adjusted when the victim had already been scheduled.
Scheduler::Allocated Scheduler::allocate_or_preempt(Request& request, std::int32_t num_new_tokens,
                                                    std::size_t& index) {
  for (;;) {
    const auto allocation = kv_cache_.allocate_slots(
        cache_view(request),
        {.num_new_tokens = num_new_tokens, .num_lookahead_tokens = config_.num_lookahead_tokens});
    if (allocation.value().granted()) {
      record_allocation(allocation.value().first_new_column);
      return Allocated::granted;
    }
    if (!deferred_frees_.empty() &&
        config_.policies.deferred_free_refusal == DeferredFreeRefusal::wait_for_the_frame)
      return Allocated::waits;
    Request* victim = preemption_victim();
    take_out_of_step(*victim, index);
    remove_one(running_, victim);
    preempt_running(*victim);
    output_.preempted.push_back(victim);
    if (victim == &request) return Allocated::preempted_itself;
  }
}

Request* Scheduler::preemption_victim() const {
  if (config_.policy == SchedulingPolicy::fcfs) return running_.back();
  const auto less = [](const Request* a, const Request* b) {
    if (a->priority != b->priority) return a->priority < b->priority;
    return a->arrival_time < b->arrival_time;
  };
  return *std::max_element(running_.begin(), running_.end(), less);
}

void Scheduler::take_out_of_step(const Request& request, std::size_t& index) {
  const auto found = std::find_if(output_.scheduled.begin(), output_.scheduled.end(),
                                  [&](const ScheduledRequest& e) { return e.request == &request; });
  if (found == output_.scheduled.end()) return;
  const auto place = found - output_.scheduled.begin();
  const auto groups = static_cast<std::ptrdiff_t>(output_.first_new_column.size()) /
                      static_cast<std::ptrdiff_t>(output_.scheduled.size());
  const auto columns = output_.first_new_column.begin() + place * groups;
  output_.first_new_column.erase(columns, columns + groups);
  token_budget_ += found->num_scheduled_tokens;
  output_.scheduled.erase(found);
  --index;
}

void Scheduler::record_allocation(std::span<const std::int32_t> first_new_column) {
  output_.first_new_column.insert(output_.first_new_column.end(), first_new_column.begin(),
                                  first_new_column.end());
}

void Scheduler::preempt_running(Request& request) {
  kv_cache_.withdraw(request.id);
  free_request_blocks(request);
  request.status = RequestStatus::preempted;
  request.num_computed_tokens = 0;
  request.num_draft_tokens = 0;
  ++request.run;
  enqueue_waiting(request, /*at_front=*/true);
}

void Scheduler::schedule_waiting() {
  if (!output_.preempted.empty()) {
    for (const Request* request : waiting_) skip(*request, SkipReason::preemption_in_step);
    return;
  }
  while (!waiting_.empty() && token_budget_ > 0) {
    if (static_cast<std::int32_t>(running_.size()) >= config_.max_num_seqs) {
      skip(*waiting_.front(), SkipReason::max_num_seqs);
      return;
    }
    if (!admit(*waiting_.front())) break;
  }
}

// Admits the head of the waiting queue; false: it stays, and no request after it is tried.
bool Scheduler::admit(Request& request) {
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

  std::int32_t num_new_tokens = request.num_tokens - hit_tokens;
  const bool padded = pads_one_token_prompt(num_new_tokens);
  if (padded) {
    num_new_tokens = 1 + config_.num_speculative_tokens;
    if (num_new_tokens > token_budget_) return refuse(SkipReason::no_token_budget);
    if (hit_tokens + num_new_tokens > config_.max_model_len)
      return refuse(SkipReason::max_model_len);
  }
  num_new_tokens = clip_to_threshold(num_new_tokens);
  if (!config_.enable_chunked_prefill && num_new_tokens > token_budget_)
    return refuse(SkipReason::chunked_prefill_off);
  num_new_tokens = std::min(num_new_tokens, token_budget_);
  num_new_tokens =
      split(request, num_new_tokens, hit_tokens,
            config_.has_mamba_groups ? hit.num_uncached_common_prefix_tokens.value_or(0) : 0);
  if (num_new_tokens == 0) return refuse(SkipReason::split_to_zero);

  const auto allocation = kv_cache_.allocate_slots(
      cache_view(request), {.num_new_tokens = num_new_tokens,
                            .num_new_computed_tokens = hit_tokens,
                            .new_computed_blocks = &hit,
                            .num_lookahead_tokens = config_.num_lookahead_tokens,
                            .full_sequence_must_fit = config_.scheduler_reserve_full_isl,
                            .has_scheduled_reqs = !running_.empty()});
  if (!allocation.value().granted()) return refuse(SkipReason::allocation_refused);

  record_allocation(allocation.value().first_new_column);
  waiting_.pop_front();
  running_.push_back(&request);
  const bool resumed = request.status == RequestStatus::preempted;
  request.status = RequestStatus::running;
  request.num_computed_tokens = hit_tokens;
  output_.lookups.back().admitted = true;
  // A prefill threshold may have cut the padding; the reference would keep more drafts than tokens.
  const std::int32_t num_placeholders =
      padded ? std::min(config_.num_speculative_tokens, num_new_tokens - 1) : 0;
  output_.scheduled.push_back({.request = &request,
                               .admission = resumed ? Admission::resumed : Admission::new_request,
                               .num_scheduled_tokens = num_new_tokens,
                               .num_draft_tokens = num_placeholders,
                               .num_computed_tokens = hit_tokens,
                               .num_tokens = request.num_tokens,
                               .placeholder_drafts = padded});
  token_budget_ -= num_new_tokens;
  return true;
}

// The tokens of a frame in flight belong to the request and have to be known before it runs again.
// The reference does not ask: after a reset its counts may name frames that never bring tokens.
bool Scheduler::waits_for_its_frame(const Request& request) const {
  return config_.policies.stale_frame == StaleFrame::dropped_by_run &&
         request.num_output_placeholders > 0;
}

// The reference keeps a batch of verify rows uniform by padding a waiting request with one token
// left. It does so if running requests were scheduled and, before this step, none of them was in
// the middle of its prefill (semantics: padded-prompt).
bool Scheduler::pads_one_token_prompt(std::int32_t num_new_tokens) const {
  if (config_.policies.one_token_prompt != OneTokenPrompt::padded_with_placeholders) return false;
  if (config_.num_speculative_tokens == 0 || num_new_tokens != 1) return false;
  bool any_running = false;
  for (const ScheduledRequest& entry : output_.scheduled) {
    if (entry.admission != Admission::running) continue;
    any_running = true;
    if (entry.request->is_prefill_chunk) return false;
  }
  return any_running;
}

std::int32_t Scheduler::clip_to_threshold(std::int32_t num_new_tokens) const {
  const std::int32_t threshold = config_.long_prefill_token_threshold;
  return threshold > 0 ? std::min(num_new_tokens, threshold) : num_new_tokens;
}

std::int32_t Scheduler::split(const Request& request, std::int32_t num_new_tokens,
                              std::int32_t hit_tokens, std::int32_t uncached_common_prefix) const {
  if (!config_.block_aligned_split || num_new_tokens <= 0) return std::max(num_new_tokens, 0);
  return mamba_block_aligned_split(
      config_.policies.aligned_split, config_.aligned_split,
      {.num_computed_tokens = request.num_computed_tokens,
       .num_prompt_tokens = request.num_prompt_tokens,
       .num_tokens = request.num_tokens,
       .num_new_tokens = num_new_tokens,
       .num_new_local_computed_tokens = hit_tokens,
       .shared_prefix_boundary =
           uncached_common_prefix > 0 ? hit_tokens + uncached_common_prefix : 0});
}

void Scheduler::skip(const Request& request, SkipReason reason) {
  output_.skipped.push_back({request.id, reason});
}

void Scheduler::finish(Request& request) {
  if (!remove_one(running_, &request)) remove_one(waiting_, &request);
  request.status = RequestStatus::finished;
  free_request_blocks(request);
  finished_req_ids_.push_back(request.id);
}

void Scheduler::abort(Request& request) {
  if (request.status != RequestStatus::finished) finish(request);
}

bool Scheduler::preempt(Request& request) {
  if (!remove_one(running_, &request)) return false;
  preempt_running(request);
  return true;
}

bool Scheduler::reset_prefix_cache(bool reset_running_requests) {
  if (reset_running_requests) {
    while (!running_.empty()) {
      Request* last = running_.back();
      running_.pop_back();
      preempt_running(*last);
      forget_frame_in_flight(*last);
    }
  }
  return kv_cache_.reset_prefix_cache();
}

}  // namespace hybridscope
