#include "sessions/conformance/pipeline_worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/state/mode_copies.h"

namespace hybridscope {

namespace {

using nlohmann::json;

std::vector<TensorView<std::int32_t>> block_ids_of(std::span<const MambaBlockTable> tables) {
  std::vector<TensorView<std::int32_t>> ids;
  for (const MambaBlockTable& table : tables) ids.push_back(table.ids);
  return ids;
}

const ReplayedRequest& scheduled_as(const ReplayedSchedule& schedule, const std::string& name) {
  return *std::ranges::find(schedule.scheduled, name, &ReplayedRequest::name);
}

}  // namespace

// The batch gets no block tables: block lists are compared by request name.
WorkerBatch::WorkerBatch(const EngineConfig& config)
    : config_(config), rows_(config.max_num_seqs, {}) {}

void WorkerBatch::leave(const std::string& name) {
  const RequestId id = requests_.id(name);
  if (rows_.row_of(id) >= 0) rows_.remove(id);
}

void WorkerBatch::take(const ReplayedRequest& request) {
  Known& known = known_[request.name];
  known.num_computed_tokens = request.num_computed_tokens;
  if (request.admission != Admission::running) {
    known.block_ids = request.block_ids;
    return;
  }
  const GroupBlockIds added = request.new_block_ids();
  known.block_ids.resize(added.size());
  for (std::size_t group = 0; group < added.size(); ++group)
    known.block_ids[group].insert(known.block_ids[group].end(), added[group].begin(),
                                  added[group].end());
}

void WorkerBatch::update(const ReplayedSchedule& schedule) {
  for (const std::string& name : schedule.finished) {
    leave(name);
    known_.erase(name);
  }
  std::set<std::string> staying;
  for (const ReplayedRequest& request : schedule.scheduled)
    if (request.admission == Admission::running) staying.insert(request.name);
  for (const std::string& name : row_names())
    if (!staying.contains(name)) leave(name);

  for (const ReplayedRequest& request : schedule.scheduled) take(request);
  for (const bool new_requests : {true, false})
    for (const ReplayedRequest& request : schedule.scheduled) {
      const RequestId id = requests_.id(request.name);
      names_[id] = request.name;
      if ((request.admission == Admission::new_request) == new_requests && rows_.row_of(id) < 0)
        rows_.add(id);
    }
  rows_.condense();
}

std::vector<std::string> WorkerBatch::row_names() const {
  std::vector<std::string> names;
  for (const BatchRow& row : rows_.rows())
    if (row.request != RequestId{}) names.push_back(names_.at(row.request));
  return names;
}

void WorkerBatch::check(const JsonValue& call) const {
  const std::vector<std::string> names = row_names();
  const JsonValue req_ids = call["req_ids"];
  if (req_ids.strings() != names)
    req_ids.fail(fmt::format("what was scheduled leads to the rows {}", names));

  const JsonValue accepted = call["num_accepted_tokens_cpu"];
  const JsonValue computed = call["num_computed_tokens"];
  const JsonValue block_ids = call["block_ids"];
  for (std::size_t row = 0; row < names.size(); ++row) {
    const Known& known = known_.at(names[row]);
    if (accepted[row].int32() != rows_.rows()[row].accepted.num_accepted_tokens)
      accepted[row].fail(fmt::format("the steps before lead to {}",
                                     rows_.rows()[row].accepted.num_accepted_tokens));
    if (computed[names[row]].int32() != known.num_computed_tokens)
      computed[names[row]].fail(
          fmt::format("the scheduler reported {}", known.num_computed_tokens));
    const JsonValue lists = block_ids[names[row]];
    if (lists.size() != known.block_ids.size())
      lists.fail(fmt::format("expected lists of {} groups", known.block_ids.size()));
    for (std::size_t group = 0; group < known.block_ids.size(); ++group) {
      const bool is_mamba = config_.kv_cache_config.groups[group].is_mamba();
      if (lists[group].int32s() !=
          (is_mamba ? known.block_ids[group] : std::vector<std::int32_t>{}))
        lists[group].fail(fmt::format("the scheduler reported {}", known.block_ids[group]));
    }
  }
}

void WorkerBatch::set_num_accepted_tokens(std::span<const std::int32_t> num_accepted_tokens) {
  for (std::size_t row = 0; row < rows_.rows().size(); ++row)
    rows_.row(static_cast<std::int32_t>(row)).accepted.num_accepted_tokens =
        num_accepted_tokens[row];
}

PipelineWorker::PipelineWorker(const JsonValue& config, const EngineConfig& engine_config,
                               const VectorKernels& kernels)
    : max_num_reqs_(engine_config.max_num_seqs),
      num_speculative_tokens_(engine_config.num_speculative_tokens),
      block_table_columns_(config["block_table_columns"].int32({0, kMaxVectorRequests})),
      tensors_(read_mamba_state_tensors(config)),
      memory_(config, tensors_),
      kernels_(kernels),
      buffers_(make_postprocess_input_buffers(max_num_reqs_)),
      batch_(engine_config) {}

json PipelineWorker::step(const JsonValue& call, const ReplayedSchedule& schedule,
                          ResumedRequests resumed_requests) {
  batch_.update(schedule);
  batch_.check(call);
  Step step = read_step(call, schedule);
  json answer;
  if (Status status = preprocess(step, schedule, resumed_requests, answer); !status)
    return error_json(status.error());
  std::ranges::copy(step.num_accepted_sampled, step.num_accepted_tokens_cpu.begin());
  if (num_speculative_tokens_ > 0 && !step.names.empty())
    if (Status status = postprocess(step, answer); !status) return error_json(status.error());
  answer["num_accepted_tokens_cpu_after"] = step.num_accepted_tokens_cpu;
  answer["raw_crc32_after_step"] = memory_.raw_crc32();
  batch_.set_num_accepted_tokens(step.num_accepted_tokens_cpu);
  return answer;
}

PipelineWorker::Step PipelineWorker::read_step(const JsonValue& call,
                                               const ReplayedSchedule& schedule) {
  Step step;
  step.names = call["req_ids"].strings();
  step.req_ids = requests_.ids(step.names);
  for (const std::string& name : step.names) {
    const ReplayedRequest& request = scheduled_as(schedule, name);
    step.num_scheduled_tokens.push_back(request.num_scheduled_tokens);
    step.num_computed_tokens.push_back(request.num_computed_tokens);
    step.num_draft_tokens.push_back(static_cast<std::int32_t>(request.draft_token_ids.size()));
    step.block_ids.emplace_back();
    const JsonValue groups = call["block_ids"][name];
    for (const JsonValue& group : groups.elements()) {
      if (std::ssize(group.json()) > block_table_columns_)
        group.fail(fmt::format("more blocks than block_table_columns {}", block_table_columns_));
      step.block_ids.back().push_back(group.int32s());
    }
  }
  step.num_accepted_tokens_cpu = read_counts(call["num_accepted_tokens_cpu"], max_num_reqs_);
  step.num_accepted_sampled = read_counts(call["num_accepted_sampled"], std::ssize(step.names));
  return step;
}

Status PipelineWorker::preprocess(Step& step, const ReplayedSchedule& schedule,
                                  ResumedRequests resumed_requests, json& answer) {
  std::vector<std::string> resumed;
  for (const ReplayedRequest& request : schedule.scheduled)
    if (request.admission == Admission::resumed && resumed_requests == ResumedRequests::cached)
      resumed.push_back(request.name);
  const auto finished_ids = requests_.ids(schedule.finished);
  const auto preempted_ids = requests_.ids(schedule.preempted);
  const auto resumed_ids = requests_.ids(resumed);
  cleanup_mamba_state_idx({finished_ids, preempted_ids, resumed_ids}, mamba_state_idx_);
  std::vector<StateCopyDecision> decisions;
  if (Status status = preprocess_mamba({.block_size = tensors_.block_size,
                                        .req_ids = step.req_ids,
                                        .num_scheduled_tokens = step.num_scheduled_tokens,
                                        .num_computed_tokens = step.num_computed_tokens},
                                       mamba_state_idx_, step.num_accepted_tokens_cpu, decisions);
      !status)
    return status;
  const RequestBlockTables tables(step.block_ids, tensors_.mamba_group_ids);
  const auto copies = plan_batched_copies(tensors_, launch_of(decisions, tables.lists()));
  if (!copies) return copies.error();
  memory_.execute(copies.value(), kernels_);
  answer["preprocess_copies"] = state_copies_json(tensors_, copies.value());
  answer["preprocess_hazard"] = memory_.conflict(copies.value());
  answer["mamba_state_idx"] = requests_.state_idx_json(mamba_state_idx_);
  answer["num_accepted_tokens_after_preprocess"] = step.num_accepted_tokens_cpu;
  answer["raw_crc32_after_preprocess"] = memory_.raw_crc32();
  return Ok{};
}

Status PipelineWorker::postprocess(Step& step, json& answer) {
  const std::vector<std::int64_t> strides(tensors_.mamba_group_ids.size(), block_table_columns_);
  const auto layout = make_state_layout(tensors_, strides);
  if (!layout) return layout.error();
  if (Status staged = stage_postprocess_inputs({.req_ids = step.req_ids,
                                                .num_scheduled_tokens = step.num_scheduled_tokens,
                                                .num_computed_tokens = step.num_computed_tokens,
                                                .num_draft_tokens = step.num_draft_tokens},
                                               mamba_state_idx_, buffers_);
      !staged)
    return staged;
  std::vector<std::int32_t> num_accepted_tokens_out = step.num_accepted_tokens_cpu;
  std::vector<StateCopyDecision> decisions;
  const PostprocessV1Inputs inputs{.num_reqs = static_cast<std::int32_t>(step.names.size()),
                                   .block_size = tensors_.block_size,
                                   .num_accepted_tokens = step.num_accepted_tokens_cpu,
                                   .mamba_state_idx = buffers_.mamba_state_idx,
                                   .num_scheduled_tokens = buffers_.num_scheduled_tokens,
                                   .num_computed_tokens = buffers_.num_computed_tokens,
                                   .num_draft_tokens = buffers_.num_draft_tokens};
  if (Status status = run_fused_postprocess(inputs, num_accepted_tokens_out, decisions); !status)
    return status;
  const RequestBlockTables tables(step.block_ids, tensors_.mamba_group_ids, block_table_columns_);
  const auto row_copies = plan_fused_copies(layout.value(), launch_of(decisions, tables.padded()));
  if (!row_copies) return row_copies.error();
  const std::vector<StateCopy> copies = without_rows(row_copies.value());
  const bool hazard = memory_.conflict(copies);
  // Copies that conflict have an order on the host alone.
  if (kernels_.fused_postprocess && !hazard) {
    const auto bytes = memory_.bytes_for(copies);
    const auto block_tables = block_ids_of(tables.padded());
    num_accepted_tokens_out = step.num_accepted_tokens_cpu;
    expect_launched(kernels_.fused_postprocess(
        {.layout = layout.value(), .bytes = bytes, .block_tables = block_tables}, inputs,
        num_accepted_tokens_out));
  } else {
    memory_.execute(copies, kernels_);
  }
  step.num_accepted_tokens_cpu = std::move(num_accepted_tokens_out);
  answer["postprocess_copies"] = row_copies_json(row_copies.value());
  answer["postprocess_hazard"] = hazard;
  return Ok{};
}

}  // namespace hybridscope
