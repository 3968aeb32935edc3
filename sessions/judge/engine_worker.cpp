#include "sessions/judge/engine_worker.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {

Result<EngineWorker> EngineWorker::create(const EngineConfig& config, RequestName name_of) {
  auto own_config = std::make_unique<const EngineConfig>(config);
  auto worker = Worker::create(*own_config);
  if (!worker.ok()) return worker.error();
  return EngineWorker(std::move(own_config), std::move(worker).value(), std::move(name_of));
}

EngineWorker::EngineWorker(std::unique_ptr<const EngineConfig> config, Worker worker,
                           RequestName name_of)
    : config_(std::move(config)), worker_(std::move(worker)), name_of_(std::move(name_of)) {
  trace_.groups = make_group_traces(config_->kv_cache_config);
}

Result<const StepTrace*> EngineWorker::run(const ForeignStep& step,
                                           const EngineScheduler& scheduler,
                                           const ReplayedSchedule& schedule) {
  trace_.clear();
  trace_.step = step.step;
  trace_.committed_step = step.step;
  trace_.preempted = scheduler.preempted_by_command();
  for (const std::string& key : schedule.preempted)
    trace_.preempted.push_back(EngineScheduler::id_of(key));
  describe(scheduler, schedule);
  script_acceptance(step);
  try {
    worker_.prepare(trace_, new_blocks_, step.finished_req_ids, requests_);
    worker_.sample(trace_, requests_);
  } catch (const ContractViolation& violation) {
    return invalid_input(violation.what());
  }
  for (const RequestId id : step.finished_req_ids)
    if (requests_.holds(id)) requests_.release(id);
  return &trace_;
}

std::int32_t EngineWorker::num_accepted_tokens_before(std::size_t row) const {
  if (trace_.pre_copies.decisions.empty()) return trace_.rows[row].num_accepted_tokens;
  return trace_.pre_copies.decisions[row].decision.num_accepted_tokens;
}

// Adds the worker's copy of a request. The worker decides by counts alone, so any tokens will do.
void EngineWorker::introduce(RequestId id, std::int32_t num_prompt_tokens) {
  while (!requests_.contains(id)) requests_.add(name_of_(RequestId{num_requests_++}));
  EngineRequest& request = requests_[id];
  if (request.tokens.num_prompt_tokens() > 0) return;
  request.tokens = TokenSequence({{.length = num_prompt_tokens}}, 0, 0);
  request.prefix = PrefixFingerprints(0, config_->hash_block_size);
}

void EngineWorker::describe(const EngineScheduler& scheduler, const ReplayedSchedule& schedule) {
  new_blocks_.ids.clear();
  new_blocks_.starts.assign(1, 0);
  trace_.num_scheduled_tokens = schedule.total_num_scheduled_tokens;
  for (const ReplayedRequest& scheduled : schedule.scheduled) {
    const RequestId id = EngineScheduler::id_of(scheduled.name);
    const Request& request = scheduler.request(id);
    const auto num_drafts = static_cast<std::int32_t>(scheduled.draft_token_ids.size());
    introduce(id, request.num_prompt_tokens);
    requests_[id].prefix.extend_to(requests_[id].tokens, request.num_tokens);
    trace_.scheduled.push_back(
        {.request = id,
         .admission = scheduled.admission,
         .run = request.run,
         .num_computed_tokens = scheduled.num_computed_tokens,
         .num_scheduled_tokens = scheduled.num_scheduled_tokens,
         .num_draft_tokens = num_drafts,
         .num_drafts_offered = num_drafts,
         .num_tokens = request.num_tokens,
         .num_output_placeholders = scheduled.num_output_placeholders,
         .num_prompt_tokens = request.num_prompt_tokens,
         .placeholder_drafts = num_drafts > 0 && scheduled.draft_token_ids.front() == -1,
         .checkpoint_position = scheduled.checkpoint.first,
         .checkpoint_column = scheduled.checkpoint.second});
    append_new_blocks(scheduled);
  }
}

// An admitted request gets its complete lists.
void EngineWorker::append_new_blocks(const ReplayedRequest& request) {
  const GroupBlockIds lists =
      request.admission == Admission::running ? request.new_block_ids() : request.block_ids;
  for (const std::vector<std::int32_t>& ids : lists) {
    new_blocks_.ids.insert(new_blocks_.ids.end(), ids.begin(), ids.end());
    new_blocks_.starts.push_back(new_blocks_.ids.size());
  }
}

// A prefill chunk that samples nothing has no accepted count.
void EngineWorker::script_acceptance(const ForeignStep& step) {
  for (const ScheduledTrace& scheduled : trace_.scheduled)
    requests_[scheduled.request].scripted_num_accepted_tokens.reset();
  if (!step.sampled_token_ids) return;
  for (const ForeignStep::Sampled& sampled : *step.sampled_token_ids)
    requests_[sampled.request].scripted_num_accepted_tokens =
        std::max(static_cast<std::int32_t>(sampled.token_ids.count), 1);
}

}  // namespace hybridscope
