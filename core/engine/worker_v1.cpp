#include "core/engine/worker.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/base/result.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/copy_rows.h"
#include "core/engine/dummy_run.h"
#include "core/engine/worker_policies.h"
#include "core/state/copy_launch.h"
#include "core/state/mode_copies.h"

namespace hybridscope {
namespace {

// The scheduler's count assumes that all drafts of the row's previous frame are accepted; the
// device knows how many were (semantics: optimistic-and-exact; vLLM
// update_num_computed_tokens_for_batch_change).
std::int32_t computed_tokens_of(const BatchRow& row, const ScheduledTrace& scheduled,
                                const WorkerRequest& worker) {
  return row.previous_row >= 0 && worker.num_draft_tokens > 0 ? worker.num_computed_tokens
                                                              : scheduled.num_computed_tokens;
}

}  // namespace

WorkerV1::WorkerV1(const EngineConfig& config, BatchMetadata metadata)
    : RunnerBase(config, std::move(metadata)),
      rows_(config.max_num_seqs, block_table_columns(config)),
      staged_(make_postprocess_input_buffers(config.max_num_seqs)),
      num_accepted_tokens_out_(static_cast<std::size_t>(config.max_num_seqs), 0),
      prev_last_scheduled_idx_(static_cast<std::size_t>(config.max_num_seqs), -1) {}

void WorkerV1::prepare(StepTrace& trace, const NewBlocks& new_blocks,
                       std::span<const RequestId> finished, RequestList& requests) {
  update_rows(trace, new_blocks, finished, requests);
  inputs_.start_step();
  trace.common = {};
  trace.graph = {};
  if (rows_.rows().empty()) {  // a step without tokens launches nothing else
    add_dummy_run(trace, *config_, metadata_.cudagraphs(), rows_.block_tables());
    return;
  }
  if (config_->batch_order == BatchOrder::by_region) reorder_rows(trace);
  describe_rows(trace, requests);
  const std::span<BlockTable> tables = device_tables();
  metadata_.dispatch(*config_, trace, tables).value();
  pre_copy(trace);
  if (config_->batch_order == BatchOrder::as_condensed) return;
  metadata_.build(*config_, trace, tables, remembered_columns(trace)).value();
}

// Padding nulls rows in the device's tables only (semantics: common-attention-metadata). Only dummy
// runs read what the host's rows keep.
std::span<BlockTable> WorkerV1::device_tables() {
  if (!dummy_runs_name_blocks(*config_)) return rows_.block_tables();
  device_tables_.assign(rows_.block_tables().begin(), rows_.block_tables().end());
  return device_tables_;
}

// Removes, adds and condenses rows (semantics: update-states, input-batch).
void WorkerV1::update_rows(const StepTrace& trace, const NewBlocks& new_blocks,
                           std::span<const RequestId> finished, RequestList& requests) {
  rows_.start_step();
  for (const RequestId id : scheduled_ids_)
    scheduled_of_request_[static_cast<std::size_t>(id.value)] = -1;
  scheduled_ids_.clear();
  scheduled_of_request_.resize(requests.size(), -1);
  for (std::size_t i = 0; i < trace.scheduled.size(); ++i) {
    scheduled_of_request_[static_cast<std::size_t>(trace.scheduled[i].request.value)] =
        static_cast<std::int32_t>(i);
    scheduled_ids_.push_back(trace.scheduled[i].request);
  }

  for (const RequestId id : finished) {
    if (rows_.row_of(id) >= 0) rows_.remove(id);
  }
  forget_columns(trace, finished);
  std::vector<RequestId> leaving;
  for (const BatchRow& row : rows_.rows()) {
    if (row.request.value < 0) continue;
    const std::int32_t i = scheduled_of_request_[static_cast<std::size_t>(row.request.value)];
    if (i < 0 || trace.scheduled[static_cast<std::size_t>(i)].admission == Admission::resumed)
      leaving.push_back(row.request);
  }
  for (const RequestId id : leaving) rows_.remove(id);

  for (std::size_t i = 0; i < trace.scheduled.size(); ++i)
    take_blocks(trace, new_blocks, i, requests);
  // New requests in scheduler order, then those that lost their row, in scheduler order.
  for (const bool new_requests : {true, false})
    for (const ScheduledTrace& scheduled : trace.scheduled)
      if ((scheduled.admission == Admission::new_request) == new_requests &&
          rows_.row_of(scheduled.request) < 0)
        add_row(requests[scheduled.request]);
  rows_.condense();
}

// The worker appends; only a resumed request's list is replaced (semantics: worker-block-table).
void WorkerV1::take_blocks(const StepTrace& trace, const NewBlocks& new_blocks,
                           std::size_t scheduled, RequestList& requests) {
  const ScheduledTrace& entry = trace.scheduled[scheduled];
  WorkerRequest& worker = requests[entry.request].worker;
  const std::size_t groups = config_->kv_cache_config.groups.size();
  if (entry.admission != Admission::running) worker = {};
  worker.block_ids.resize(groups);
  const std::int32_t row = rows_.row_of(entry.request);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::span<const std::int32_t> ids = new_blocks.of(scheduled, groups, g);
    worker.block_ids[g].insert(worker.block_ids[g].end(), ids.begin(), ids.end());
    if (row >= 0) rows_.block_table(static_cast<std::int32_t>(g)).append_row(row, ids);
  }
}

void WorkerV1::add_row(EngineRequest& request) {
  const std::int32_t row = rows_.add(request.scheduling.id);
  for (std::size_t g = 0; g < request.worker.block_ids.size(); ++g)
    rows_.block_table(static_cast<std::int32_t>(g)).add_row(row, request.worker.block_ids[g]);
}

RowClass WorkerV1::class_of(const ScheduledTrace& scheduled) const {
  return row_class_of(scheduled, config_->policies.get<RowClassing>(),
                      config_->num_speculative_tokens);
}

// Orders rows by regions, which follow from the row's class instead of its shape
// (semantics: reorder-batch, row-class).
void WorkerV1::reorder_rows(const StepTrace& trace) {
  regions_.clear();
  for (const BatchRow& row : rows_.rows()) {
    const ScheduledTrace& scheduled = trace.scheduled[static_cast<std::size_t>(
        scheduled_of_request_[static_cast<std::size_t>(row.request.value)])];
    if (class_of(scheduled) != RowClass::prefill)
      regions_.push_back(RowRegion::decode);
    else if (scheduled.num_computed_tokens == 0)
      regions_.push_back(RowRegion::prefill);
    else
      regions_.push_back(scheduled.num_scheduled_tokens <= metadata_.reorder_batch_threshold()
                             ? RowRegion::short_extend
                             : RowRegion::long_extend);
  }
  rows_.reorder(regions_);
}

// Each row's accepted count of the frame before (semantics: accepted-counts-v1).
void WorkerV1::take_counts(const RequestList& requests) {
  const auto num_rows = static_cast<std::int32_t>(rows_.rows().size());
  const bool reads_old_counts = config_->policies.is(AcceptedCountRead::before_the_copy) &&
                                config_->async_scheduling &&
                                config_->mamba_cache_mode != MambaCacheMode::align;
  if (config_->policies.is(AcceptedCountOwner::request)) {
    for (std::int32_t r = 0; r < num_rows; ++r) {
      BatchRow& row = rows_.row(r);
      const WorkerRequest& worker = requests[row.request].worker;
      row.accepted = reads_old_counts ? worker.previously_accepted : worker.accepted;
      row.accepted.from = row.request;
    }
    return;
  }
  // Without drafts nothing counts what was accepted, so there is nothing to gather.
  const bool moved_twice = config_->num_speculative_tokens > 0 && config_->async_scheduling &&
                           config_->mamba_cache_mode == MambaCacheMode::align &&
                           config_->policies.is(AcceptedCountLanding::before_row_moves);
  for (std::int32_t r = 0; r < num_rows && reads_old_counts; ++r) {
    BatchRow& row = rows_.row(r);
    if (row.previous_row >= 0)
      row.accepted.num_accepted_tokens =
          requests[row.request].worker.previously_accepted.num_accepted_tokens;
  }
  if (!moved_twice) return;  // the counts moved with their rows
  gathered_.clear();
  for (const BatchRow& row : rows_.rows())
    gathered_.push_back(row.previous_row < 0 || row.was_discarded
                            ? row.accepted
                            : rows_.left_at(row.previous_row).accepted);
  for (std::int32_t r = 0; r < num_rows; ++r)
    rows_.row(r).accepted = gathered_[static_cast<std::size_t>(r)];
}

// The counts for the next step go to the requests and to the rows that they have now.
void WorkerV1::keep_counts(const StepTrace& trace, RequestList& requests) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    WorkerRequest& worker = requests[trace.rows[r].request].worker;
    worker.previously_accepted = worker.accepted;
    worker.accepted = accepted_[r];
    rows_.row(static_cast<std::int32_t>(r)).accepted = accepted_[r];
  }
}

void WorkerV1::describe_rows(StepTrace& trace, RequestList& requests) {
  take_counts(requests);
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(rows_.rows().size()); ++r) {
    BatchRow& batch_row = rows_.row(r);
    EngineRequest& request = requests[batch_row.request];
    const std::int32_t index =
        scheduled_of_request_[static_cast<std::size_t>(batch_row.request.value)];
    const ScheduledTrace& scheduled = trace.scheduled[static_cast<std::size_t>(index)];
    RowTrace row{.request = batch_row.request,
                 .scheduled = index,
                 .num_computed_tokens = computed_tokens_of(batch_row, scheduled, request.worker),
                 .previous_row = batch_row.previous_row,
                 .row_class = class_of(scheduled),
                 .is_prefilling = scheduled.num_computed_tokens < scheduled.num_prompt_tokens};
    start_with(row, batch_row.accepted);
    row.origin = row_origin_of(batch_row.previous_row, r, scheduled.admission);
    row.num_draft_count = num_draft_count_of(scheduled, row.is_prefilling, *config_);
    inputs_.add(trace, row, request, config_->policies);
    trace.rows.push_back(row);
  }
}

void WorkerV1::sample(StepTrace& trace, RequestList& requests) {
  inputs_.sample(trace);
  accepted_.clear();
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    WorkerRequest& worker = requests[row.request].worker;
    worker.num_computed_tokens = num_computed_tokens_after(row, trace.scheduled_of(row));
    worker.num_draft_tokens = trace.scheduled_of(row).num_draft_tokens;
    rows_.row(static_cast<std::int32_t>(r)).was_discarded = row.num_sampled_tokens == 0;
    accepted_.push_back(accepted_count_after(row));
  }
  if (config_->num_speculative_tokens > 0 && metadata_.has_mamba() && !trace.rows.empty()) {
    if (config_->mamba_cache_mode == MambaCacheMode::align) post_copy_align(trace);
    if (config_->mamba_cache_mode == MambaCacheMode::all) post_copy_all(trace);
  }
  keep_counts(trace, requests);
}

// Forgets the remembered columns of requests that lost their state
// (semantics: cleanup-mamba-state-idx).
void WorkerV1::forget_columns(const StepTrace& trace, std::span<const RequestId> finished) {
  if (config_->mamba_cache_mode == MambaCacheMode::none) return;
  const bool remembers = config_->policies.is(ResumedStateColumn::remembered);
  preempted_.clear();
  resumed_.clear();
  for (const RequestId id : trace.preempted) {
    const auto i = static_cast<std::size_t>(id.value);
    const bool resumed_at_once = i < scheduled_of_request_.size() && scheduled_of_request_[i] >= 0;
    if (!remembers || !resumed_at_once) preempted_.push_back(id);
  }
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (!remembers && scheduled.admission != Admission::running)
      resumed_.push_back(scheduled.request);
  cleanup_mamba_state_idx(
      {.finished_req_ids = finished, .preempted_req_ids = preempted_, .resumed_req_ids = resumed_},
      mamba_state_idx_);
}

// The running state moves with the running column (semantics: preprocess-mamba).
void WorkerV1::pre_copy(StepTrace& trace) {
  if (config_->mamba_cache_mode == MambaCacheMode::none || !metadata_.has_mamba()) return;
  copy_rows_.fill(trace);
  view_mamba_tables(trace, rows_.block_tables(), mamba_tables_);
  if (config_->mamba_cache_mode != MambaCacheMode::align) return;
  const bool exact = config_->policies.is(RunningColumn::of_exact_count);
  if (!exact) {  // RunningColumn::of_optimistic_count: as the scheduler counts
    optimistic_computed_tokens_.clear();
    for (const RowTrace& row : trace.rows)
      optimistic_computed_tokens_.push_back(trace.scheduled_of(row).num_computed_tokens);
  }
  preprocess_mamba(
      {.enable_prefix_caching = config_->enable_prefix_caching,
       .block_size = metadata_.mamba_block_size(),
       .req_ids = copy_rows_.req_ids,
       .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
       .num_computed_tokens = exact ? copy_rows_.num_computed_tokens : optimistic_computed_tokens_},
      mamba_state_idx_, copy_rows_.num_accepted_tokens, decisions_)
      .value();
  append_decisions(trace, decisions_, trace.pre_copies);
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.pre_copies.copies);
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    trace.rows[r].num_accepted_tokens = copy_rows_.num_accepted_tokens[r];
  if (config_->num_speculative_tokens == 0) return;
  stage_postprocess_inputs({.req_ids = copy_rows_.req_ids,
                            .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                            .num_computed_tokens = copy_rows_.num_computed_tokens,
                            .num_draft_tokens = copy_rows_.num_draft_tokens},
                           mamba_state_idx_, staged_)
      .value();
}

// Boundary snapshots after acceptance (semantics: postprocess-mamba).
void WorkerV1::post_copy_align(StepTrace& trace) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    copy_rows_.num_accepted_tokens[r] = accepted_[r].num_accepted_tokens;
  run_fused_postprocess({.num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                         .block_size = metadata_.mamba_block_size(),
                         .num_accepted_tokens = copy_rows_.num_accepted_tokens,
                         .mamba_state_idx = staged_.mamba_state_idx,
                         .num_scheduled_tokens = staged_.num_scheduled_tokens,
                         .num_computed_tokens = staged_.num_computed_tokens,
                         .num_draft_tokens = staged_.num_draft_tokens},
                        num_accepted_tokens_out_, decisions_)
      .value();
  add_post_copies(trace);
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    accepted_[r].num_accepted_tokens = num_accepted_tokens_out_[r];
}

// The last scheduled column is remembered, and boundary states that lie in scratch columns are
// stored in the columns whose hash stands for them (semantics: mode-all-with-drafts).
void WorkerV1::post_copy_all(StepTrace& trace) {
  const PostprocessMambaAllInputs inputs{.num_spec_tokens = config_->num_speculative_tokens,
                                         .block_size = metadata_.mamba_block_size(),
                                         .req_ids = copy_rows_.req_ids,
                                         .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                                         .num_computed_tokens = copy_rows_.num_computed_tokens};
  if (!config_->policies.is(AllModeSpeculation::remembered_column_and_boundary_copies)) {
    postprocess_mamba_all(inputs, mamba_state_idx_).value();
    return;
  }
  remember_last_scheduled_columns(inputs, mamba_state_idx_).value();
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    accepted_[r].num_accepted_tokens =
        add_boundary_copies(trace, static_cast<std::int32_t>(r), metadata_.mamba_block_size(),
                            mamba_tables_, decisions_);
}

// Mode all with drafts: where each row's last step ended
// (semantics: preprocess-mamba-all-specdec).
std::span<const std::int32_t> WorkerV1::remembered_columns(const StepTrace& trace) {
  if (config_->mamba_cache_mode != MambaCacheMode::all || config_->num_speculative_tokens == 0)
    return {};
  preprocess_mamba_all_specdec(copy_rows_.req_ids, mamba_state_idx_, prev_last_scheduled_idx_)
      .value();
  return std::span(prev_last_scheduled_idx_).first(trace.rows.size());
}

}  // namespace hybridscope
