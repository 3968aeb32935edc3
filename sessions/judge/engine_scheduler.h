// Our scheduler and KV cache under the steps that a trace tells: what it would decide in each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/replay/scheduler_replay.h"

namespace hybridscope {

// A trace tells what was scheduled, not what was asked for; the rest is taken as follows.
// - A request arrives just before the step that schedules it first. Under policy priority those of
//   one step arrive in the order of scheduled_new_reqs.
// - Without max_tokens a request goes on until finished_req_ids names it. One that sampled in the
//   step before stops there, in the order of that step, as a stop token makes it; any other is
//   aborted afterwards. Blocks of several that end are freed in this order.
// - Draft lists: with method mtp each request that sampled has K drafts, as its draft model gives
//   them. With ngram their number is the told one, which hides drafts that the other engine dropped
//   without need, but not those it should have dropped; a request that got no tokens has K, for it
//   may be its drafts that no block was left for.
//   Asynchronously the scheduler itself plans K drafts.
// - Asynchronously a step is taken over when the one after it was scheduled, so that
//   finished_req_ids of a line tells who ended with the step before the last one.
// - reset_prefix_cache preempts running requests if hashes could not be dropped otherwise.
class EngineScheduler {
 public:
  // Errors: those of SchedulerReplay::create.
  static Result<EngineScheduler> create(const EngineConfig& config);

  // What came in between, then one step of ours. Requires: take_output() for the step before.
  // Error: our scheduler cannot go on from here.
  Result<ReplayedSchedule> schedule(const ForeignStep& step);

  // What the step sampled; taken over when the next one is scheduled (asynchronously the one after
  // that), which tells who ended.
  // Requires: for each request at most one more than its drafts.
  void take_output(const ForeignStep& step);

  // Preempted by reset_prefix_cache before the last schedule().
  const std::vector<RequestId>& preempted_by_reset() const { return preempted_by_reset_; }
  // Counts after the last schedule(). Requires: alive in our scheduler.
  const Request& request(RequestId id) const { return *replay_.find(key_of(id)); }
  bool holds(RequestId id) const { return replay_.find(key_of(id)) != nullptr; }
  GroupBlockIds block_ids(RequestId id) const { return replay_.block_ids(key_of(id)); }

  // Requests go by number in the replay.
  static std::string key_of(RequestId id) { return std::to_string(id.value); }
  static RequestId id_of(const std::string& key) { return {std::stoi(key)}; }

 private:
  explicit EngineScheduler(SchedulerReplay replay);
  Status answer_oldest_step(const ForeignStep& step);
  void reset_prefix_cache();
  Status admit(const ForeignStep& step);
  void offer_told_drafts(const ForeignStep& step);

  SchedulerReplay replay_;
  std::deque<std::map<std::string, TokenIds>> outputs_;  // of steps not yet answered, by key
  std::vector<RequestId> preempted_by_reset_;
  std::int64_t num_arrived_ = 0;
};

}  // namespace hybridscope
