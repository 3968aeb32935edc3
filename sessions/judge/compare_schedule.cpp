#include "sessions/judge/compare_schedule.h"

#include <algorithm>
#include <vector>

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

  MaybeDifference compare_lists(EngineDecision decision, const GroupBlockIds& expected,
                                BlockLists traced) const {
    for (std::size_t g = 0; g < expected.size(); ++g) {
      EngineDifference place = at(decision);
      place.group = static_cast<std::int32_t>(g);
      const auto ids =
          traced.present() ? step_.traced.list(traced, g) : std::span<const std::int32_t>();
      if (auto found = compare_blocks(place, expected[g], ids)) return found;
    }
    return std::nullopt;
  }

  MaybeDifference compare_scheduler_block_ids() const {
    const auto traced =
        std::ranges::find(step_.traced.scheduler_block_ids, id_, &ForeignBlockIds::request);
    if (traced == step_.traced.scheduler_block_ids.end()) return std::nullopt;
    return compare_lists(EngineDecision::scheduler_block_ids, ours_.block_ids, traced->block_ids);
  }

  MaybeDifference compare_new_block_ids() const {
    const bool admitted = ours_.admission != Admission::running;
    return compare_lists(
        EngineDecision::new_block_ids, admitted ? ours_.block_ids : ours_.new_block_ids(),
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
  for (const ForeignBlockIds& traced : step.traced.scheduler_block_ids) {
    const GroupBlockIds ours = scheduler.block_ids(traced.request);
    for (std::size_t g = 0; g < ours.size(); ++g) {
      EngineDifference place = step.difference(EngineDecision::scheduler_block_ids, traced.request);
      place.group = static_cast<std::int32_t>(g);
      if (auto found = compare_blocks(place, ours[g], step.traced.list(traced.block_ids, g)))
        return found;
    }
  }
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

}  // namespace hybridscope
