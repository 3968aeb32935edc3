#include "core/engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "core/base/result.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/scheduler_policies.h"

namespace hybridscope {
namespace {

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
          .num_in_flight_tokens = request.num_in_flight_tokens,
          .status = request.status,
          .prompt = {.num_prompt_tokens = request.num_prompt_tokens,
                     .shared_prefix_boundary = request.shared_prefix_boundary,
                     .num_computed_tokens = request.num_computed_tokens}};
}

Scheduler::Scheduler(SchedulerConfig config, Uses uses)
    : config_(config), policies_(uses.policies), kv_cache_(uses.kv_cache) {}

Scheduler::Scheduler(const Scheduler& other, Uses uses, const FindRequest& request_of)
    : config_(other.config_),
      policies_(uses.policies),
      kv_cache_(uses.kv_cache),
      finished_req_ids_(other.finished_req_ids_),
      num_frames_scheduled_(other.num_frames_scheduled_),
      num_frames_returned_(other.num_frames_returned_),
      deferred_frees_(other.deferred_frees_) {
  for (const Request* request : other.running_) running_.push_back(&request_of(request->id));
  for (const Request* request : other.waiting_) waiting_.push_back(&request_of(request->id));
  for (const Request* request : other.skipped_waiting_)
    skipped_waiting_.push_back(&request_of(request->id));
}

bool Scheduler::drains_stale_frames() const {
  return policies_.is(StaleFrame::drained_by_scheduled_tokens);
}

void Scheduler::add_request(Request& request) { enqueue(waiting_, request, /*at_front=*/false); }

const ScheduleOutput& Scheduler::schedule(std::int32_t token_budget) {
  kv_cache_.new_step_starts();
  output_.scheduled.clear();
  output_.first_new_column.clear();
  output_.preempted.clear();
  output_.skipped.clear();
  output_.token_terms.clear();
  output_.lookups.clear();
  output_.hits.clear();
  output_.finished_req_ids.swap(finished_req_ids_);
  finished_req_ids_.clear();
  output_.token_budget = token_budget;
  drafts_needed_ = false;
  slots_a_row_ = policies_.is(DraftSlots::counted) ? config_.num_draft_slots : 0;
  token_budget_ = token_budget - slots_a_row_;
  const bool cuts = policies_.is(LongPrefillThreshold::always) ||
                    static_cast<std::int32_t>(running_.size()) + num_waiting() > 1;
  long_prefill_token_threshold_ = cuts ? config_.long_prefill_token_threshold : 0;

  schedule_running();
  schedule_waiting();
  output_.num_common_prefix_blocks.clear();
  if (config_.counts_common_prefix && !running_.empty() &&
      policies_.is(CommonPrefixBlocks::counted))
    output_.num_common_prefix_blocks = kv_cache_.get_num_common_prefix_blocks(running_.front()->id);
  take_block_copies();  // their references count in the line above

  output_.skip_drafts = policies_.is(UnusedDrafts::skipped) && config_.runner_v2 &&
                        config_.num_lookahead_tokens > 0 && !drafts_needed_;

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
  request.num_in_flight_tokens += entry.num_scheduled_tokens;
  request.is_prefill_chunk =
      request.num_computed_tokens < request.num_tokens + request.num_output_placeholders;
  if (!config_.async_scheduling || request.is_prefill_chunk) return;
  request.num_output_placeholders += 1 + entry.num_draft_tokens;
  request.num_draft_tokens = config_.num_speculative_tokens;
}

void Scheduler::schedule_running() {
  for (std::size_t index = 0; index < running_.size();) {
    Request& request = *running_[index];
    if (token_budget_ <= 0 || ends_in_flight(request)) {
      skip(request, token_budget_ <= 0 ? SkipReason::no_token_budget : SkipReason::ends_in_flight);
      ++index;
      continue;
    }
    const std::int32_t known = request.num_tokens + request.num_output_placeholders;
    std::int32_t num_new_tokens =
        clip_to_threshold(known + request.num_draft_tokens - request.num_computed_tokens);
    num_new_tokens = std::min(num_new_tokens, token_budget_);
    num_new_tokens =
        std::min(num_new_tokens, config_.max_model_len - 1 - request.num_computed_tokens);
    note_terms(request, request.num_computed_tokens, num_new_tokens, kept_junction(request));
    const bool wanted = num_new_tokens > 0;
    num_new_tokens = split(request, num_new_tokens, 0, kept_junction(request));
    if (num_new_tokens == 0) {
      skip(request, wanted ? SkipReason::split_to_zero : SkipReason::max_model_len);
      ++index;
      continue;
    }
    const Allocated allocated = allocate_or_preempt(request, num_new_tokens, index);
    if (allocated == Allocated::preempted_itself) {
      if (config_.policy == SchedulingPolicy::priority &&
          policies_.is(PreemptionIndex::goes_on_after_itself))
        continue;
      break;
    }
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
    add_row(entry);
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
    if (!deferred_frees_.empty() && policies_.is(DeferredFreeRefusal::wait_for_the_frame))
      return Allocated::waits;
    Request* victim = preemption_victim();
    const bool was_scheduled = take_out_of_step(*victim);
    const auto place = std::ranges::find(running_, victim);
    const bool was_before = place - running_.begin() < static_cast<std::ptrdiff_t>(index);
    if (policies_.is(PreemptionIndex::if_scheduled) ? was_scheduled : was_before) --index;
    running_.erase(place);
    preempt_running(*victim, /*is_reset=*/false);
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

// False: it had no tokens in the step.
bool Scheduler::take_out_of_step(const Request& request) {
  const auto found = std::find_if(output_.scheduled.begin(), output_.scheduled.end(),
                                  [&](const ScheduledRequest& e) { return e.request == &request; });
  if (found == output_.scheduled.end()) return false;
  const auto place = found - output_.scheduled.begin();
  const auto groups = static_cast<std::ptrdiff_t>(output_.first_new_column.size()) /
                      static_cast<std::ptrdiff_t>(output_.scheduled.size());
  const auto columns = output_.first_new_column.begin() + place * groups;
  output_.first_new_column.erase(columns, columns + groups);
  token_budget_ += found->num_scheduled_tokens + slots_a_row_;
  output_.scheduled.erase(found);
  return true;
}

void Scheduler::add_row(const ScheduledRequest& entry) {
  output_.scheduled.push_back(entry);
  token_budget_ -= entry.num_scheduled_tokens + slots_a_row_;
  drafts_needed_ = drafts_needed_ || !drafts_unused(entry);
}

void Scheduler::record_allocation(std::span<const std::int32_t> first_new_column) {
  output_.first_new_column.insert(output_.first_new_column.end(), first_new_column.begin(),
                                  first_new_column.end());
}

void Scheduler::preempt_running(Request& request, bool is_reset) {
  kv_cache_.withdraw(request.id);
  free_request_blocks(request);
  request.status = RequestStatus::preempted;
  request.num_computed_tokens = 0;
  request.num_draft_tokens = 0;
  ++request.run;
  if (drains_stale_frames())
    mark_stale(request, is_reset);
  else if (is_reset)
    forget_frame_in_flight(request);
  enqueue(waiting_, request, /*at_front=*/true);
}

// The junction of the request's last lookup, in releases where later chunks stop there too.
std::int32_t Scheduler::kept_junction(const Request& request) const {
  return policies_.get<AlignedSplit>() >= AlignedSplit::stops_until_last_cache_position
             ? request.shared_prefix_boundary
             : 0;
}

std::int32_t Scheduler::clip_to_threshold(std::int32_t num_new_tokens) const {
  const std::int32_t threshold = long_prefill_token_threshold_;
  return threshold > 0 ? std::min(num_new_tokens, threshold) : num_new_tokens;
}

void Scheduler::note_terms(const Request& request, std::int32_t num_computed_tokens,
                           std::int32_t num_new_tokens, std::int32_t shared_prefix_boundary) {
  output_.token_terms.push_back({.request = request.id,
                                 .budget_left = token_budget_,
                                 .prefill_threshold = long_prefill_token_threshold_,
                                 .shared_prefix_boundary = shared_prefix_boundary,
                                 .num_computed_tokens = num_computed_tokens,
                                 .num_new_tokens = num_new_tokens});
}

// A step that does not reach the last known token samples nothing; one that brings the last output
// token is followed by none.
bool Scheduler::drafts_unused(const ScheduledRequest& entry) const {
  if (entry.num_computed_tokens + entry.num_scheduled_tokens < entry.num_tokens) return true;
  const std::int32_t sure_output_tokens = entry.num_tokens - entry.request->num_prompt_tokens + 1 +
                                          (entry.num_output_placeholders > 0 ? 1 : 0);
  return sure_output_tokens >= entry.request->max_tokens;
}

void Scheduler::take_block_copies() {
  KVCacheManager::BlockCopies taken = kv_cache_.take_block_copies();
  output_.block_copies = taken.copies;
  if (taken.empty()) return;
  if (!config_.defer_frees) return kv_cache_.free_blocks(taken);
  kv_cache_.defer(taken);
  const std::int64_t fence = num_frames_scheduled_ + 1;  // the frame that is being scheduled
  deferred_frees_.push_back({fence, {}, std::move(taken)});
}

std::int32_t Scheduler::split(const Request& request, std::int32_t num_new_tokens,
                              std::int32_t hit_tokens, std::int32_t shared_prefix_boundary) const {
  if (!config_.block_aligned_split || num_new_tokens <= 0) return std::max(num_new_tokens, 0);
  return mamba_block_aligned_split(policies_.get<AlignedSplit>(), config_.aligned_split,
                                   {.num_computed_tokens = request.num_computed_tokens,
                                    .num_prompt_tokens = request.num_prompt_tokens,
                                    .num_tokens = request.num_tokens,
                                    .num_new_tokens = num_new_tokens,
                                    .num_new_local_computed_tokens = hit_tokens,
                                    .shared_prefix_boundary = shared_prefix_boundary});
}

void Scheduler::skip(const Request& request, SkipReason reason) {
  output_.skipped.push_back({request.id, reason});
}

void Scheduler::finish(Request& request) {
  if (!remove_one(running_, &request) && !remove_one(waiting_, &request))
    remove_one(skipped_waiting_, &request);
  request.status = RequestStatus::finished;
  free_request_blocks(request);
  finished_req_ids_.push_back(request.id);
}

void Scheduler::abort(Request& request) {
  if (request.status != RequestStatus::finished) finish(request);
}

bool Scheduler::preempt(Request& request) {
  if (!remove_one(running_, &request)) return false;
  preempt_running(request, /*is_reset=*/false);
  return true;
}

bool Scheduler::reset_prefix_cache(bool reset_running_requests) {
  if (reset_running_requests) {
    while (!running_.empty()) {
      Request* last = running_.back();
      running_.pop_back();
      preempt_running(*last, /*is_reset=*/true);
    }
  }
  return kv_cache_.reset_prefix_cache();
}

}  // namespace hybridscope
