#include "sessions/judge/engine_scheduler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/fingerprint.h"

namespace hybridscope {

Result<EngineScheduler> EngineScheduler::create(const EngineConfig& config, OtherHit other_hit) {
  auto replay = SchedulerReplay::create(config);
  if (!replay.ok()) return replay.error();
  return EngineScheduler(std::move(replay).value(), other_hit);
}

EngineScheduler::EngineScheduler(SchedulerReplay replay, OtherHit other_hit)
    : replay_(std::move(replay)), other_hit_(other_hit) {}

Result<ReplayedSchedule> EngineScheduler::schedule(const ForeignStep& step) {
  if (Status answered = answer_oldest_step(step); !answered.ok()) return answered.error();
  for (const RequestId id : step.finished_req_ids) replay_.abort(key_of(id));
  preempted_by_command_.clear();
  if (step.reset_prefix_cache) reset_prefix_cache();
  preempt(step.preempted_by_command);
  if (Status admitted = admit(step); !admitted.ok()) return admitted.error();
  if (draft_lists_vary(replay_.config())) offer_traced_drafts(step);
  take_proposed_drafts(step);
  return replay_.schedule(step.token_budget);
}

void EngineScheduler::take_output(const ForeignStep& step) {
  std::map<std::string, TokenIds>& output = outputs_.emplace_back();
  for (const ForeignCount& scheduled : step.num_scheduled_tokens) output[key_of(scheduled.request)];
  if (!step.sampled_token_ids) return;
  for (const ForeignStep::Sampled& sampled : *step.sampled_token_ids) {
    const std::span<const std::int32_t> ids = step.at(sampled.token_ids);
    output[key_of(sampled.request)].assign(ids.begin(), ids.end());
  }
}

Status EngineScheduler::answer_oldest_step(const ForeignStep& step) {
  const bool asynchronous = replay_.config().async_scheduling;
  if (outputs_.size() <= (asynchronous ? 1U : 0U)) return Ok{};
  std::map<std::string, TokenIds> output = std::move(outputs_.front());
  outputs_.pop_front();
  std::set<std::string> stopped;
  for (const RequestId id : step.finished_req_ids) {
    const auto sampled = output.find(key_of(id));
    if (sampled != output.end() && !sampled->second.empty()) stopped.insert(sampled->first);
  }
  if (Status updated = replay_.update_from_output(output, stopped); !updated.ok()) return updated;
  if (asynchronous || draft_lists_vary(replay_.config())) return Ok{};
  const auto num_drafts = static_cast<std::size_t>(replay_.config().num_speculative_tokens);
  std::map<std::string, TokenIds> drafts;
  for (const auto& [key, sampled] : output)
    if (!sampled.empty()) drafts[key].resize(num_drafts);
  replay_.update_draft_token_ids(drafts);
  return Ok{};
}

void EngineScheduler::reset_prefix_cache() {
  if (replay_.reset_prefix_cache(false)) return;
  for (const std::string& key : replay_.running()) preempted_by_command_.push_back(id_of(key));
  replay_.reset_prefix_cache(true);
}

void EngineScheduler::preempt(const std::vector<RequestId>& requests) {
  for (const RequestId id : requests)
    if (replay_.preempt(key_of(id))) preempted_by_command_.push_back(id);
}

Status EngineScheduler::admit(const ForeignStep& step) {
  const std::int32_t most = replay_.config().max_model_len;
  for (const ForeignNewRequest& traced : step.scheduled_new_reqs) {
    if (holds(traced.request)) continue;  // V2: resumed
    const std::span<const std::int32_t> prompt = step.at(traced.prompt_token_ids);
    ReplayRequest request{
        .name = key_of(traced.request),
        .prompt_token_ids = {prompt.begin(), prompt.end()},
        .max_tokens = traced.max_tokens < 0 ? most : std::min(traced.max_tokens, most),
        .priority = traced.priority,
        .arrival_time = num_arrived_++,
        .cache_salt = traced.cache_salt};
    if (other_hit_ == OtherHit::untold_key) give_other_key(step, traced, request);
    if (Status added = replay_.add_request(request); !added.ok()) return added;
  }
  return Ok{};
}

// The first of the keys given so far, or else a new one, under which our hit is the trace's.
void EngineScheduler::give_other_key(const ForeignStep& step, const ForeignNewRequest& traced,
                                     ReplayRequest& request) {
  const ReplayedLookup ours = replay_.lookup(request);
  if (ours.num_hit_tokens < traced.num_computed_tokens) return;
  if (answers_as_traced(step, traced, ours)) return;
  ReplayRequest other = request;
  for (std::uint64_t key = 1; key <= num_other_keys_ + 1; ++key) {
    other.cache_salt = mix(traced.cache_salt, key);
    if (!answers_as_traced(step, traced, replay_.lookup(other))) continue;
    request.cache_salt = other.cache_salt;
    num_other_keys_ = std::max(num_other_keys_, key);
    uncompared_hits_.push_back({.step = step.step,
                                .request = traced.request,
                                .ours = ours.num_hit_tokens,
                                .traced = traced.num_computed_tokens});
    return;
  }
}

// Does our lookup hit as many tokens as the traced one, in the same blocks of attention? The last
// one may be copied.
bool EngineScheduler::answers_as_traced(const ForeignStep& step, const ForeignNewRequest& traced,
                                        const ReplayedLookup& ours) const {
  if (ours.num_hit_tokens != traced.num_computed_tokens) return false;
  const auto& groups = replay_.config().kv_cache_config.groups;
  for (std::size_t g = 0; g < groups.size() && g < ours.block_ids.size(); ++g) {
    if (groups[g].is_mamba()) continue;
    const auto whole = static_cast<std::size_t>(ours.num_hit_tokens / groups[g].block_size());
    const std::span<const std::int32_t> theirs = step.list(traced.block_ids, g);
    const std::size_t count = std::min({whole, ours.block_ids[g].size(), theirs.size()});
    if (!std::equal(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(count),
                    ours.block_ids[g].begin()))
      return false;
  }
  return true;
}

void EngineScheduler::offer_traced_drafts(const ForeignStep& step) {
  std::map<std::string, TokenIds> drafts;
  const auto most = static_cast<std::size_t>(replay_.config().num_speculative_tokens);
  for (const std::string& key : replay_.live()) drafts[key].resize(most);
  for (const ForeignCount& scheduled : step.num_scheduled_tokens)
    drafts[key_of(scheduled.request)].clear();
  for (const ForeignCount& traced : step.scheduled_spec_decode_tokens)
    drafts[key_of(traced.request)].resize(std::min(static_cast<std::size_t>(traced.count), most));
  replay_.update_draft_token_ids(drafts);
}

void EngineScheduler::take_proposed_drafts(const ForeignStep& step) {
  std::map<std::string, TokenIds> drafts;
  for (const ForeignCount& proposed : step.num_drafts_proposed)
    drafts[key_of(proposed.request)].resize(static_cast<std::size_t>(proposed.count));
  replay_.update_draft_token_ids(drafts);
}

}  // namespace hybridscope
