// Our scheduler and KV cache under the steps of a trace: what they would decide in each.
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

// A hit that is shorter than ours, or of other blocks, although the tokens are equal.
struct UncomparedHit {
  std::int64_t step = 0;
  RequestId request{};
  std::int32_t ours = 0;  // tokens
  std::int32_t traced = 0;
};

// What is taken for the reason of such a hit.
enum class OtherHit : std::uint8_t {
  other_decision,  // the other engine looked up otherwise
  untold_key,      // keys have parts that the trace does not tell: ours get others too
};

// A trace says what was scheduled, not what was requested. The rest is assumed as follows.
// - A request arrives just before the step that first schedules it. Under policy priority, requests
//   of one step arrive in the order of scheduled_new_reqs.
// - Without max_tokens a request runs until finished_req_ids names it. If it sampled in the step
//   before, it stops there, like at a stop token; otherwise it is aborted afterwards. Blocks of
//   several requests that end are freed in the order of the step, then of the aborts.
// - Drafts: with mtp and draft_model every request that sampled has K drafts, as a draft model
//   always proposes K, unless num_drafts_proposed says otherwise. With ngram it has as many as the
//   trace schedules; this hides drafts that the other engine dropped needlessly, but not those that
//   it should have dropped. A request that got no tokens has K, because its drafts may be the
//   reason why it got no block. With asynchronous scheduling the scheduler itself plans K drafts.
// - With asynchronous scheduling a step's output is taken after the next step was scheduled, so
//   finished_req_ids of a line names requests that ended with the step before the last one.
// - reset_prefix_cache preempts running requests if the hashes cannot be dropped otherwise.
class EngineScheduler {
 public:
  // Errors: those of SchedulerReplay::create.
  static Result<EngineScheduler> create(const EngineConfig& config, OtherHit other_hit);

  // Applies what happened since the last step, then schedules one step. Requires: take_output() was
  // called for the step before. Error: our scheduler cannot continue from here.
  Result<ReplayedSchedule> schedule(const ForeignStep& step);

  // The tokens that the step sampled. The scheduler takes them when the next step is scheduled
  // (asynchronously the one after), because only that step says which requests ended. Requires: for
  // each request at most one token more than its drafts.
  void take_output(const ForeignStep& step);

  // OtherHit::untold_key: hits of requests for which our cache has other keys, so that it answers
  // as the trace says.
  const std::vector<UncomparedHit>& uncompared_hits() const { return uncompared_hits_; }
  // The requests that a command preempted before the last schedule(), reset_prefix_cache too.
  const std::vector<RequestId>& preempted_by_command() const { return preempted_by_command_; }
  // The request's counts after the last schedule(). Requires: it is alive in our scheduler.
  const Request& request(RequestId id) const { return *replay_.find(key_of(id)); }
  bool holds(RequestId id) const { return replay_.find(key_of(id)) != nullptr; }
  GroupBlockIds block_ids(RequestId id) const { return replay_.block_ids(key_of(id)); }

  // In the replay, a request's name is its number.
  static std::string key_of(RequestId id) { return std::to_string(id.value); }
  static RequestId id_of(const std::string& key) { return {std::stoi(key)}; }

 private:
  EngineScheduler(SchedulerReplay replay, OtherHit other_hit);
  Status answer_oldest_step(const ForeignStep& step);
  void reset_prefix_cache();
  void preempt(const std::vector<RequestId>& requests);
  Status admit(const ForeignStep& step);
  void give_other_key(const ForeignStep& step, const ForeignNewRequest& traced,
                      ReplayRequest& request);
  bool answers_as_traced(const ForeignStep& step, const ForeignNewRequest& traced,
                         const ReplayedLookup& ours) const;
  void offer_traced_drafts(const ForeignStep& step);
  void take_proposed_drafts(const ForeignStep& step);

  SchedulerReplay replay_;
  OtherHit other_hit_;
  std::vector<UncomparedHit> uncompared_hits_;
  std::uint64_t num_other_keys_ = 0;
  // Sampled tokens of steps not yet answered, by key.
  std::deque<std::map<std::string, TokenIds>> outputs_;
  std::vector<RequestId> preempted_by_command_;
  std::int64_t num_arrived_ = 0;
};

}  // namespace hybridscope
