// Compares another engine's decisions with ours: our scheduler and our worker take the same steps,
// and the first difference is kept. Later differences are not compared, because they may only
// follow from the first.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/engine/worker.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/scenario/engine_profile.h"

namespace hybridscope {

// The first place where another engine decided differently from ours, as a value and in words.

// The decisions that are compared, in the order of a step; named after the trace's member if there
// is one.
enum class EngineDecision : std::uint8_t {
  finished_req_ids,
  preempted_req_ids,
  scheduled_requests,
  schedule_order,
  admission,
  num_computed_tokens,
  num_scheduled_tokens,
  scheduled_spec_decode_tokens,
  scheduler_block_ids,
  new_block_ids,
  row_order,
  idx_mapping,
  worker_block_ids,
  row_num_computed_tokens,
  num_accepted_tokens,
  cudagraph,
  preprocess_copies,
  num_accepted_tokens_after_preprocess,
  mamba_state_idx,
  attn_metadata,
  sampled_token_ids,
  postprocess_copies,
  our_engine,  // our engine refuses to continue from the state that the trace led it to
};

// Name, phase of the step ("schedule", "prepare", "sample"), and the reference's function that has
// the rule, unless it varies.
struct EngineDecisionRow {
  EngineDecision decision{};
  std::string_view name;
  std::string_view phase;
  std::string_view rule;
};
const EngineDecisionRow& engine_decision_row(EngineDecision decision);

// Members that are -1 or empty do not apply.
struct EngineDifference {
  std::int64_t step = 0;
  std::int64_t line = 0;  // number of the trace's line
  EngineDecision decision = EngineDecision::our_engine;
  std::string request{};     // its name
  std::int32_t row = -1;     // of the batch
  std::int32_t group = -1;   // KV cache group
  std::int32_t column = -1;  // of the request's block list
  std::string field{};       // metadata field
  std::int64_t index = -1;   // into the list or array, in row-major order
  std::string expected{};    // our engine's decision
  std::string traced{};
  std::string rule{};  // the reference's function
  friend bool operator==(const EngineDifference&, const EngineDifference&) = default;
};

// An example of the text: "step 7, request r3, group 1, column 2: scheduler_block_ids: ours block
// 5, trace block 6 (rule: KVCacheManager.allocate_slots)".
std::string format_difference(const EngineDifference& difference);

// {step, line, phase, decision, ...}; members that do not apply are left out.
nlohmann::ordered_json difference_to_json(const EngineDifference& difference);

// One traced step under comparison, with what is needed to describe a difference.

using RequestName = std::function<std::string(RequestId)>;

struct ComparedStep {
  const ForeignStep& traced;
  const EngineConfig& config;  // of our engine, with the profile's policies
  const RequestName& name_of;

  // The difference without its `expected` and `traced`.
  EngineDifference difference(EngineDecision decision) const {
    return {.step = traced.step,
            .line = traced.line,
            .decision = decision,
            .rule = std::string(engine_decision_row(decision).rule)};
  }
  EngineDifference difference(EngineDecision decision, RequestId request) const {
    EngineDifference found = difference(decision);
    found.request = name_of(request);
    return found;
  }
};

// The first difference; empty: the two agree.
using MaybeDifference = std::optional<EngineDifference>;

// The difference between two numbers or names, if any.
template <class T>
MaybeDifference compare_values(EngineDifference place, const T& expected, const T& traced) {
  if (expected == traced) return std::nullopt;
  place.expected = fmt::format("{}", expected);
  place.traced = fmt::format("{}", traced);
  return place;
}

// Compares the block lists of all groups, column by column. Absent lists are empty.
MaybeDifference compare_lists(const ComparedStep& step, EngineDifference place,
                              const GroupBlockIds& expected, BlockLists traced);

// Our scheduler and KV cache under the steps of a trace: what they would decide in each.

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

// Our worker under the steps of a trace, with the trace's runner: the rows, copies, graph and
// metadata that it would make of the schedule, with the traced numbers of sampled tokens.

class EngineWorker {
 public:
  // `name_of`: runner V2 frees slots in the order of names. Errors: those of Worker::create.
  static Result<EngineWorker> create(const EngineConfig& config, RequestName name_of);

  // Prepares and samples one step; the answer is valid until the next call. Requires: our schedule
  // and the traced step agree. Error: the metadata builders refuse the batch.
  Result<const StepTrace*> run(const ForeignStep& step, const EngineScheduler& scheduler,
                               const ReplayedSchedule& schedule);

  // Runner V1: block lists of an unfinished request, after run(). [groups][columns]
  const std::vector<std::vector<std::int32_t>>& block_ids(RequestId id) const {
    return requests_[id].worker.block_ids;
  }
  // The accepted count of a row at the beginning of the last step, before its pre-copies.
  std::int32_t num_accepted_tokens_before(std::size_t row) const;

 private:
  EngineWorker(std::unique_ptr<const EngineConfig> config, Worker worker, RequestName name_of);
  void introduce(RequestId id, std::int32_t num_prompt_tokens);
  void describe(const EngineScheduler& scheduler, const ReplayedSchedule& schedule);
  void append_new_blocks(const ReplayedRequest& request);
  void script_acceptance(const ForeignStep& step);

  std::unique_ptr<const EngineConfig> config_;  // the worker reads it here
  Worker worker_;
  RequestName name_of_;
  RequestList requests_;
  std::int32_t num_requests_ = 0;  // of requests_, those that left included
  NewBlocks new_blocks_;
  StepTrace trace_;
};

// The policies that our engine has under this profile when it is compared with such a trace.
PolicySet compared_policies(const ForeignHeader& header, const EngineProfile& profile);

// Compares what the trace has, in the order of a step's phases (EngineDecision). Up to the first
// difference our engine is in the same state as the other one, so each decision has the same
// inputs. Our runner is the trace's.
class EngineComparison {
 public:
  // `policies`: those of a profile. `name_of` must also answer for requests that have left. Errors:
  // settings that our engine refuses, with a pointer into the header.
  static Result<EngineComparison> create(const ForeignHeader& header, const PolicySet& policies,
                                         RequestName name_of,
                                         OtherHit other_hit = OtherHit::other_decision);

  // Takes the next step of the trace. Requires: the reader accepted the step.
  void compare(const ForeignStep& step);

  const std::optional<EngineDifference>& first_difference() const { return first_difference_; }
  const std::vector<UncomparedHit>& uncompared_hits() const { return scheduler_.uncompared_hits(); }
  // The number of steps compared, including the one with the difference.
  std::int64_t num_steps() const { return num_steps_; }

 private:
  EngineComparison(const EngineConfig& config, EngineScheduler scheduler, EngineWorker worker,
                   RequestName name_of);
  MaybeDifference compare_step(const ForeignStep& step);

  EngineConfig config_;
  EngineScheduler scheduler_;
  EngineWorker worker_;
  RequestName name_of_;
  std::optional<EngineDifference> first_difference_;
  std::int64_t num_steps_ = 0;
};

// Compares our scheduler's decisions with those of the trace.

// Compares, in this order: finished requests, preempted requests, scheduled requests and their
// order; then for each request in our order its admission, counts and blocks; then the blocks of
// requests that are not scheduled. `ours` is the scheduler's answer for this step.
MaybeDifference compare_schedule(const ComparedStep& step, const EngineScheduler& scheduler,
                                 const ReplayedSchedule& ours);

// Compares our worker's step with that of the trace.

// Compares, in this order: order of rows, the worker's block lists, accepted counts, graph,
// pre-copies with the counts and columns they leave, metadata, numbers of sampled tokens,
// post-copies. Only what the trace has is compared. `ours` is the worker's answer for this step.
MaybeDifference compare_worker(const ComparedStep& step, const EngineWorker& worker,
                               const StepTrace& ours);

// The parts in compare_worker.cpp.
MaybeDifference compare_copies(const ComparedStep& step, const StepTrace& ours,
                               EngineDecision launch);
MaybeDifference compare_metadata(const ComparedStep& step, const StepTrace& ours);

}  // namespace hybridscope
