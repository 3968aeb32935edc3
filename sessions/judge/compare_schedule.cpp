#include "sessions/judge/engine_comparison.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {
namespace {

bool contains(const std::vector<RequestId>& ids, RequestId id) {
  return std::ranges::find(ids, id) != ids.end();
}

std::vector<RequestId> ids_of(const std::vector<std::string>& keys) {
  std::vector<RequestId> ids;
  for (const std::string& key : keys) ids.push_back(EngineScheduler::id_of(key));
  return ids;
}

const ForeignNewRequest* find_new(const ForeignStep& step, RequestId id) {
  const auto found = std::ranges::find(step.scheduled_new_reqs, id, &ForeignNewRequest::request);
  return found == step.scheduled_new_reqs.end() ? nullptr : &*found;
}

const ForeignCachedRequest* find_cached(const ForeignStep& step, RequestId id) {
  const auto found =
      std::ranges::find(step.scheduled_cached_reqs, id, &ForeignCachedRequest::request);
  return found == step.scheduled_cached_reqs.end() ? nullptr : &*found;
}

std::int32_t count_of(const std::vector<ForeignCount>& counts, RequestId id) {
  const auto found = std::ranges::find(counts, id, &ForeignCount::request);
  return found == counts.end() ? 0 : found->count;
}

EngineDifference yes_or_no(EngineDifference place, bool ours, const std::string& what) {
  place.expected = ours ? what : "not " + what;
  place.traced = ours ? "not " + what : what;
  return place;
}

MaybeDifference compare_finished(const ComparedStep& step, const ReplayedSchedule& ours) {
  for (const RequestId id : ids_of(ours.finished))
    if (!contains(step.traced.finished_req_ids, id))
      return yes_or_no(step.difference(EngineDecision::finished_req_ids, id), true, "finished");
  return std::nullopt;
}

MaybeDifference compare_preempted(const ComparedStep& step, const EngineScheduler& scheduler,
                                  const ReplayedSchedule& ours) {
  const auto found = [&step](RequestId id, bool preempted) {
    return yes_or_no(step.difference(EngineDecision::preempted_req_ids, id), preempted,
                     "preempted");
  };
  const std::vector<RequestId> preempted = ids_of(ours.preempted);
  for (const RequestId id : preempted)
    if (!contains(step.traced.preempted_req_ids, id)) return found(id, true);
  for (const RequestId id : step.traced.preempted_req_ids)
    if (!contains(preempted, id) && !contains(scheduler.preempted_by_command(), id))
      return found(id, false);
  return std::nullopt;
}

MaybeDifference compare_scheduled_set(const ComparedStep& step, const ReplayedSchedule& ours) {
  const auto text = [](std::int32_t tokens) {
    return tokens > 0 ? fmt::format("{} tokens", tokens) : std::string("not scheduled");
  };
  const auto found = [&](RequestId id, std::int32_t expected, std::int32_t traced) {
    EngineDifference difference = step.difference(EngineDecision::scheduled_requests, id);
    difference.expected = text(expected);
    difference.traced = text(traced);
    return difference;
  };
  std::vector<RequestId> scheduled;
  for (const ReplayedRequest& request : ours.scheduled) {
    const RequestId id = EngineScheduler::id_of(request.name);
    scheduled.push_back(id);
    if (count_of(step.traced.num_scheduled_tokens, id) == 0)
      return found(id, request.num_scheduled_tokens, 0);
  }
  for (const ForeignCount& traced : step.traced.num_scheduled_tokens)
    if (!contains(scheduled, traced.request)) return found(traced.request, 0, traced.count);
  return std::nullopt;
}

// Only the lists give the order; a JSON object such as num_scheduled_tokens need not keep one.
MaybeDifference compare_order(const ComparedStep& step, const ReplayedSchedule& ours) {
  std::vector<RequestId> new_requests;
  std::vector<RequestId> cached_requests;
  for (const ReplayedRequest& request : ours.scheduled) {
    const RequestId id = EngineScheduler::id_of(request.name);
    (find_new(step.traced, id) != nullptr ? new_requests : cached_requests).push_back(id);
  }
  const auto compare = [&step](const std::vector<RequestId>& expected,
                               const auto& traced) -> MaybeDifference {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] == traced[i].request) continue;
      EngineDifference place = step.difference(EngineDecision::schedule_order);
      place.index = static_cast<std::int64_t>(i);
      return compare_values(place, step.name_of(expected[i]), step.name_of(traced[i].request));
    }
    return std::nullopt;
  };
  if (auto found = compare(cached_requests, step.traced.scheduled_cached_reqs)) return found;
  return compare(new_requests, step.traced.scheduled_new_reqs);
}

// Compares one scheduled request.
class RequestComparison {
 public:
  RequestComparison(const ComparedStep& step, const EngineScheduler& scheduler,
                    const ReplayedRequest& ours)
      : step_(step),
        scheduler_(scheduler),
        ours_(ours),
        id_(EngineScheduler::id_of(ours.name)),
        traced_new_(find_new(step.traced, id_)),
        traced_cached_(find_cached(step.traced, id_)) {}

  MaybeDifference compare() const {
    if (auto found = compare_admission()) return found;
    if (auto found = compare_counts()) return found;
    if (auto found = compare_drafts()) return found;
    if (auto found = compare_scheduler_block_ids()) return found;
    return compare_new_block_ids();
  }

 private:
  EngineDifference at(EngineDecision decision) const { return step_.difference(decision, id_); }

  MaybeDifference compare_admission() const {
    Admission traced = Admission::running;
    if (traced_new_ != nullptr)
      traced = ours_.admission == Admission::resumed ? Admission::resumed  // V2 lists both there
                                                     : Admission::new_request;
    else if (traced_cached_->resumed)
      traced = Admission::resumed;
    return compare_values(at(EngineDecision::admission), admission_name(ours_.admission),
                          admission_name(traced));
  }

  MaybeDifference compare_counts() const {
    EngineDifference computed = at(EngineDecision::num_computed_tokens);
    computed.rule = ours_.admission == Admission::running ? "Scheduler.update_from_output"
                                                          : "KVCacheManager.get_computed_blocks";
    const std::int32_t traced = traced_new_ != nullptr ? traced_new_->num_computed_tokens
                                                       : traced_cached_->num_computed_tokens;
    if (auto found = compare_values(computed, ours_.num_computed_tokens, traced)) return found;
    EngineDifference scheduled = at(EngineDecision::num_scheduled_tokens);
    scheduled.rule =
        splits_chunks() ? "Scheduler._mamba_block_aligned_split" : "Scheduler.schedule";
    return compare_values(scheduled, ours_.num_scheduled_tokens,
                          count_of(step_.traced.num_scheduled_tokens, id_));
  }

  // In mode align with prefix caching, for anything but a single token with its drafts.
  bool splits_chunks() const {
    return step_.config.mamba_cache_mode == MambaCacheMode::align &&
           step_.config.enable_prefix_caching &&
           ours_.num_computed_tokens + 1 < scheduler_.request(id_).num_tokens;
  }

  MaybeDifference compare_drafts() const {
    const auto text = [](std::int64_t count, bool placeholders) {
      return fmt::format("{}{}", count, placeholders ? " placeholders" : "");
    };
    const TokenIds& drafts = ours_.draft_token_ids;
    return compare_values(at(EngineDecision::scheduled_spec_decode_tokens),
                          text(std::ssize(drafts), !drafts.empty() && drafts.front() == -1),
                          text(count_of(step_.traced.scheduled_spec_decode_tokens, id_),
                               contains(step_.traced.placeholder_drafts, id_)));
  }

  MaybeDifference compare_scheduler_block_ids() const {
    const auto traced =
        std::ranges::find(step_.traced.scheduler_block_ids, id_, &ForeignBlockIds::request);
    if (traced == step_.traced.scheduler_block_ids.end()) return std::nullopt;
    return compare_lists(step_, at(EngineDecision::scheduler_block_ids), ours_.block_ids,
                         traced->block_ids);
  }

  MaybeDifference compare_new_block_ids() const {
    const bool admitted = ours_.admission != Admission::running;
    return compare_lists(
        step_, at(EngineDecision::new_block_ids),
        admitted ? ours_.block_ids : ours_.new_block_ids(),
        traced_new_ != nullptr ? traced_new_->block_ids : traced_cached_->new_block_ids);
  }

  const ComparedStep& step_;
  const EngineScheduler& scheduler_;
  const ReplayedRequest& ours_;
  RequestId id_;
  const ForeignNewRequest* traced_new_;
  const ForeignCachedRequest* traced_cached_;
};

// Compares the blocks of requests that are not scheduled; those of the others are known to agree.
MaybeDifference compare_other_blocks(const ComparedStep& step, const EngineScheduler& scheduler) {
  for (const ForeignBlockIds& traced : step.traced.scheduler_block_ids)
    if (auto found = compare_lists(
            step, step.difference(EngineDecision::scheduler_block_ids, traced.request),
            scheduler.block_ids(traced.request), traced.block_ids))
      return found;
  return std::nullopt;
}

}  // namespace

MaybeDifference compare_schedule(const ComparedStep& step, const EngineScheduler& scheduler,
                                 const ReplayedSchedule& ours) {
  if (auto found = compare_finished(step, ours)) return found;
  if (auto found = compare_preempted(step, scheduler, ours)) return found;
  if (auto found = compare_scheduled_set(step, ours)) return found;
  if (auto found = compare_order(step, ours)) return found;
  for (const ReplayedRequest& request : ours.scheduled)
    if (auto found = RequestComparison(step, scheduler, request).compare()) return found;
  return compare_other_blocks(step, scheduler);
}

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
