#include "sessions/judge/engine_comparison.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/result.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {
namespace {

Error in_header(const Error& error) { return {error.kind, "/config: " + error.message}; }

EngineDifference refusal(const ComparedStep& step, const Error& error) {
  EngineDifference found = step.difference(EngineDecision::our_engine);
  found.expected = "refuses: " + error.message;
  found.traced = "a step";
  return found;
}

}  // namespace

PolicySet compared_policies(const ForeignHeader& header, const EngineProfile& profile) {
  EngineSettings settings;
  settings.engine = profile;
  settings.runner = header.config.runner;
  settings.policies = header.policies;
  return resolve_policies(settings);
}

Result<EngineComparison> EngineComparison::create(const ForeignHeader& header,
                                                  const PolicySet& policies, RequestName name_of,
                                                  OtherHit other_hit) {
  EngineConfig config = header.config;
  config.policies = policies;
  auto scheduler = EngineScheduler::create(config, other_hit);
  if (!scheduler.ok()) return in_header(scheduler.error());
  auto worker = EngineWorker::create(config, name_of);
  if (!worker.ok()) return in_header(worker.error());
  return EngineComparison(config, std::move(scheduler).value(), std::move(worker).value(),
                          std::move(name_of));
}

EngineComparison::EngineComparison(const EngineConfig& config, EngineScheduler scheduler,
                                   EngineWorker worker, RequestName name_of)
    : config_(config),
      scheduler_(std::move(scheduler)),
      worker_(std::move(worker)),
      name_of_(std::move(name_of)) {}

void EngineComparison::compare(const ForeignStep& step) {
  if (first_difference_) return;
  ++num_steps_;
  first_difference_ = compare_step(step);
  if (!first_difference_) scheduler_.take_output(step);
}

MaybeDifference EngineComparison::compare_step(const ForeignStep& traced) {
  const ComparedStep step{.traced = traced, .config = config_, .name_of = name_of_};
  const auto schedule = scheduler_.schedule(traced);
  if (!schedule.ok()) return refusal(step, schedule.error());
  if (auto found = compare_schedule(step, scheduler_, schedule.value())) return found;
  const auto trace = worker_.run(traced, scheduler_, schedule.value());
  if (!trace.ok()) return refusal(step, trace.error());
  return compare_worker(step, worker_, *trace.value());
}

namespace {

using enum EngineDecision;

// In the order of the enum.
constexpr EngineDecisionRow kRows[] = {
    {finished_req_ids, "finished_req_ids", "schedule", "Scheduler.update_from_output"},
    {preempted_req_ids, "preempted_req_ids", "schedule", "Scheduler.schedule"},
    {scheduled_requests, "scheduled requests", "schedule", "Scheduler.schedule"},
    {schedule_order, "order of scheduled requests", "schedule", "Scheduler.schedule"},
    {admission, "admission", "schedule", "Scheduler.schedule"},
    {num_computed_tokens, "num_computed_tokens", "schedule", ""},
    {num_scheduled_tokens, "num_scheduled_tokens", "schedule", ""},
    {scheduled_spec_decode_tokens, "scheduled_spec_decode_tokens", "schedule",
     "Scheduler.schedule"},
    {scheduler_block_ids, "scheduler_block_ids", "schedule", "KVCacheManager.allocate_slots"},
    {new_block_ids, "new_block_ids", "schedule", "KVCacheManager.allocate_slots"},
    {row_order, "input_batch.req_ids", "prepare", ""},
    {idx_mapping, "input_batch.idx_mapping", "prepare", "RequestState.add_request"},
    {worker_block_ids, "input_batch.block_ids", "prepare", "GPUModelRunner._update_states"},
    {row_num_computed_tokens, "input_batch.num_computed_tokens", "prepare",
     "GPUModelRunner._prepare_inputs"},
    {num_accepted_tokens, "num_accepted_tokens_cpu", "prepare",
     "InputBatch.add_request, GPUModelRunner._update_states_after_model_execute"},
    {cudagraph, "cudagraph", "prepare", "CudagraphDispatcher.dispatch"},
    {preprocess_copies, "preprocess_copies", "prepare", "preprocess_mamba"},
    {num_accepted_tokens_after_preprocess, "num_accepted_tokens_after_preprocess", "prepare",
     "preprocess_mamba"},
    {mamba_state_idx, "mamba_state_idx", "prepare", "preprocess_mamba"},
    {attn_metadata, "attn_metadata", "prepare", ""},
    {sampled_token_ids, "sampled_token_ids", "sample", "Scheduler.update_from_output"},
    {postprocess_copies, "postprocess_copies", "sample", "postprocess_mamba_fused_kernel"},
    {our_engine, "our engine", "schedule", ""},
};

std::string place_of(const EngineDifference& difference) {
  std::string text = fmt::format("step {}", difference.step);
  if (!difference.request.empty()) text += ", request " + difference.request;
  const auto append = [&](std::string_view name, std::int64_t value) {
    if (value >= 0) text += fmt::format(", {} {}", name, value);
  };
  append("row", difference.row);
  append("group", difference.group);
  append("column", difference.column);
  if (!difference.field.empty()) text += ", " + difference.field;
  append("index", difference.index);
  return text;
}

}  // namespace

const EngineDecisionRow& engine_decision_row(EngineDecision decision) {
  const EngineDecisionRow& row = kRows[static_cast<std::size_t>(decision)];
  HS_EXPECT(row.decision == decision);
  return row;
}

std::string format_difference(const EngineDifference& difference) {
  std::string text = fmt::format("{}: {}: ours {}, trace {}", place_of(difference),
                                 engine_decision_row(difference.decision).name, difference.expected,
                                 difference.traced);
  if (!difference.rule.empty()) text += fmt::format(" (rule: {})", difference.rule);
  return text;
}

nlohmann::ordered_json difference_to_json(const EngineDifference& difference) {
  const EngineDecisionRow& row = engine_decision_row(difference.decision);
  nlohmann::ordered_json json = {{"step", difference.step},
                                 {"line", difference.line},
                                 {"phase", row.phase},
                                 {"decision", row.name}};
  if (!difference.request.empty()) json["request"] = difference.request;
  const auto number = [&](const char* name, std::int64_t value) {
    if (value >= 0) json[name] = value;
  };
  number("row", difference.row);
  number("group", difference.group);
  number("column", difference.column);
  if (!difference.field.empty()) json["field"] = difference.field;
  number("index", difference.index);
  json["ours"] = difference.expected;
  json["trace"] = difference.traced;
  if (!difference.rule.empty()) json["rule"] = difference.rule;
  return json;
}

namespace {

std::string block_text(std::span<const std::int32_t> ids, std::size_t column) {
  return column < ids.size() ? fmt::format("block {}", ids[column]) : std::string("no block");
}

}  // namespace

MaybeDifference compare_lists(const ComparedStep& step, EngineDifference place,
                              const GroupBlockIds& expected, BlockLists traced) {
  for (std::size_t g = 0; g < expected.size(); ++g) {
    const auto ids =
        traced.present() ? step.traced.list(traced, g) : std::span<const std::int32_t>();
    const auto [ours, theirs] = std::ranges::mismatch(expected[g], ids);
    if (ours == expected[g].end() && theirs == ids.end()) continue;
    const auto column = static_cast<std::size_t>(ours - expected[g].begin());
    place.group = static_cast<std::int32_t>(g);
    place.column = static_cast<std::int32_t>(column);
    place.expected = block_text(expected[g], column);
    place.traced = block_text(ids, column);
    return place;
  }
  return std::nullopt;
}

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
