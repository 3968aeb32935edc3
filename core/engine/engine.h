// A serving engine's bookkeeping, stepped by hand: schedule -> prepare -> sample -> commit. The
// forward in between is left to the code that executes the trace. With asynchronous scheduling the
// frame that commits is the one before the frame that was sampled. Deterministic: the same
// configuration, commands and seed give the same traces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/engine/scheduler.h"
#include "core/engine/worker.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// One scheduler output with everything computed from it.
struct Frame {
  StepTrace trace;
  NewBlocks new_blocks;
  std::vector<RequestId> finished;  // ended since the last schedule
};

// What a frame returns to the scheduler.
struct FrameOutput {
  struct Row {
    RequestId request;
    ReturnedRow returned;
  };
  std::int64_t step = 0;  // 0: there is no frame
  std::int32_t num_scheduled_tokens = 0;
  std::vector<Row> rows;  // [scheduled]
};

// How long steps take, for callers with a model of their own.
class StepClock {
 public:
  virtual ~StepClock() = default;
  // Microseconds, at least 0. `trace`: the step with everything that was decided.
  virtual std::int64_t duration_us(const StepTrace& trace) const = 0;
};

class Engine {
 public:
  // Errors: settings that contradict each other, with the numbers.
  static Result<Engine> create(const EngineConfig& config);

  // An independent copy of the current state; given the same commands, both engines make the same
  // steps. Views of the last trace still point into `other`.
  Engine(const Engine& other);
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = default;

  // Adds a request, which joins the waiting queue before the next step. `folded`: fold_prompt of it
  // with this configuration, for callers that run many engines on the same requests; null: it is
  // folded here. A request that never fits into the pool waits or is preempted for ever. Errors:
  // those of check_request.
  Result<RequestId> add_request(const AddRequest& request,
                                const PrefixFingerprints* folded = nullptr);

  // Applied before the next step is scheduled, in the order in which they come. Errors: a request
  // that was never added, a value out of range.
  Status apply(const Command& command);

  // Runs one step; the trace is valid until the next call.
  const StepTrace& step();

  // Requests that were added and have not finished.
  std::int32_t num_unfinished() const { return num_unfinished_; }
  // Asynchronous: the last step's frame has rows that have not returned; keep stepping until they
  // have, even with nothing to schedule.
  bool has_frame_in_flight() const { return config_->async_scheduling && !output_.rows.empty(); }
  std::int64_t now_us() const { return now_us_; }
  // Says from now on how long steps take, for copies of the engine too; null: step_cost of the
  // configuration does.
  void set_step_clock(std::shared_ptr<const StepClock> clock) { step_clock_ = std::move(clock); }
  // Advances the clock; never backwards.
  void advance_to(std::int64_t time_us);
  // Skips steps in which nothing would happen: the next one is number `step` or later.
  void advance_to_step(std::int64_t step);
  // Commands the caller holds back for later steps; the trace records the number, so that an idle
  // step before them is not a fault.
  void set_num_pending_commands(std::int32_t count) { num_pending_commands_ = count; }

  const std::string& name_of(RequestId request) const { return requests_.name_of(request); }
  // A token of a request, generated or not yet. Requires: the request has not been released, which
  // happens in the step after the one that finished it.
  TokenContent token(RequestId request, std::int32_t position) const {
    return requests_[request].tokens.token(position);
  }
  // Output tokens after which a request ends. Requires: it has not been released.
  std::int32_t max_tokens(RequestId request) const {
    return requests_[request].scheduling.max_tokens;
  }
  // Priority and salt are those of AddRequest. Requires: the request has not been released.
  std::int32_t priority(RequestId request) const { return requests_[request].scheduling.priority; }
  std::uint64_t cache_salt(RequestId request) const { return requests_[request].cache_salt; }
  std::int32_t num_requests() const { return static_cast<std::int32_t>(requests_.size()); }
  // What the engine runs with now: commands change the policies. Valid as long as the engine or the
  // one that it was moved to.
  const EngineConfig& config() const { return *config_; }
  const KVCacheManager& kv_cache() const { return *kv_cache_; }
  const CudagraphResolution& cudagraphs() const { return worker_.cudagraphs(); }

 private:
  Engine(std::unique_ptr<EngineConfig> config, std::unique_ptr<KVCacheManager> kv_cache,
         Worker worker);

  void schedule(Frame& frame);
  void prepare(Frame& frame);
  void take_output(const StepTrace& trace);
  void commit(StepTrace& trace, const FrameOutput& output);
  CommitTrace commit_row(const FrameOutput::Row& row);

  struct CommandRules;  // one pair of functions per type of command
  void apply_pending(StepTrace& trace);
  void drop_unused_accepts(StepTrace& trace);
  void describe_schedule(Frame& frame, const ScheduleOutput& output);
  void describe_checkpoint(ScheduledTrace& scheduled) const;
  void describe_labels(const StepTrace& trace, std::span<CacheEvent> events,
                       std::vector<Fingerprint>& history);
  std::int32_t next_draft_count(const EngineRequest& request) const;

  // The only one: scheduler and worker read it here, so it does not move with the engine.
  std::unique_ptr<EngineConfig> config_;
  std::unique_ptr<KVCacheManager> kv_cache_;
  std::unique_ptr<Scheduler> scheduler_;
  Worker worker_;
  RequestList requests_;
  Frame frame_;
  FrameOutput output_;     // of the frame that was sampled last
  FrameOutput in_flight_;  // asynchronous: of the frame before it
  std::vector<DeferredCommand> pending_;
  std::vector<RequestId> preempted_by_command_;
  std::vector<RequestId> scripted_accepts_;
  std::vector<CommandTrace> added_;  // requests added since the last step
  std::int32_t step_budget_ = -1;    // of the next step, -1: max_num_batched_tokens
  std::int32_t num_unfinished_ = 0;
  std::int32_t num_pending_commands_ = 0;
  std::int64_t step_ = 0;
  std::int64_t now_us_ = 0;
  std::shared_ptr<const StepClock> step_clock_;
};

// Tokens of the request at its end.
std::int64_t longest_length(const EngineConfig& config, const AddRequest& request);

// Does the engine take the request? Error, naming it and the numbers: an empty prompt, max_tokens
// below 1, a prompt of max_model_len tokens or more, more tokens than the token budget without
// chunked prefill.
Status check_request(const EngineConfig& config, const AddRequest& request);

// Could the request ever finish? Error: that of check_request; more blocks than the pool has.
Status check_request_fits(const EngineConfig& config, const AddRequest& request);

// Blocks that one request can hold at once over all groups, at `num_tokens` tokens.
std::int64_t blocks_one_request_needs(const EngineConfig& config, std::int64_t num_tokens);

}  // namespace hybridscope
