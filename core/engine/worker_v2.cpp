#include "core/engine/worker.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/copy_rows.h"
#include "core/engine/dummy_run.h"
#include "core/engine/worker_policies.h"
#include "core/state/copy_launch.h"
#include "core/state/mode_copies.h"

namespace hybridscope {

std::vector<std::int32_t> order_rows_v2(const RowOrderInput& input, RowOrder order,
                                        FullRowsFirst full_rows_first) {
  const bool every_row = full_rows_first == FullRowsFirst::every_row;
  const auto key = [&](std::int32_t index) -> std::tuple<bool, bool, std::int32_t> {
    const auto i = static_cast<std::size_t>(index);
    const std::int32_t query_len = input.scheduled[i].num_scheduled_tokens;
    const bool has_drafts = input.scheduled[i].num_draft_tokens > 0;
    const bool is_prefill = input.row_classes[i] == RowClass::prefill;
    const bool is_full = query_len == 1 + input.num_speculative_tokens;
    const bool is_first = is_full && (has_drafts || every_row);
    // A padded prompt, which has drafts, comes first by the newer orders only (known bug 12b).
    const bool is_first_anyway = every_row && is_full && !(is_prefill && has_drafts);
    switch (order) {
      case RowOrder::decodes_then_query_len:
        return {every_row && !is_first_anyway, is_prefill, query_len};
      case RowOrder::query_len: return {every_row && !is_first_anyway, false, query_len};
      case RowOrder::drafts_then_query_len: return {!has_drafts, !is_first, query_len};
      case RowOrder::verify_then_query_len: return {!is_first, false, query_len};
    }
    return {};
  };
  std::vector<std::int32_t> rows(input.scheduled.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::ranges::stable_sort(rows, {}, key);
  return rows;
}

WorkerV2::WorkerV2(const EngineConfig& config, BatchMetadata metadata)
    : RunnerBase(config, std::move(metadata)),
      slots_(config.max_num_seqs, block_table_columns(config)) {}

// Dispatch reads only the scheduler's output, so it may come after the rows (semantics: v2-step).
void WorkerV2::prepare(StepTrace& trace, const NewBlocks& new_blocks,
                       std::span<const RequestId> finished, RequestList& requests) {
  slots_.start_step();
  free_slots(trace, finished, requests);
  update_slots(trace, new_blocks);
  inputs_.start_step();
  trace.common = {};
  trace.graph = {};
  if (trace.scheduled.empty()) {  // a step without tokens launches nothing else
    add_dummy_run(trace, *config_, metadata_.cudagraphs(), slots_.input_block_tables());
    return;
  }
  describe_rows(trace, requests);
  metadata_.dispatch(*config_, trace, slots_.input_block_tables()).value();
  slots_.gather(idx_mapping_);
  pre_copy(trace);
  find_remembered_columns();
  metadata_.build(*config_, trace, slots_.input_block_tables(), remembered_columns_).value();
}

// In the order of names, so that every rank of the reference frees the same slots in the same
// order.
void WorkerV2::free_slots(const StepTrace& trace, std::span<const RequestId> finished,
                          const RequestList& requests) {
  leaving_.assign(finished.begin(), finished.end());
  leaving_.insert(leaving_.end(), trace.preempted.begin(), trace.preempted.end());
  std::ranges::sort(leaving_, {},
                    [&](RequestId id) -> std::string_view { return requests.name_of(id); });
  for (const RequestId id : leaving_)
    if (slots_.slot_of(id) >= 0) slots_.free(id);
}

// New requests get their slots before resumed ones. A request that was reset may be resumed without
// having been reported as preempted.
void WorkerV2::update_slots(const StepTrace& trace, const NewBlocks& new_blocks) {
  for (const Admission admission : {Admission::new_request, Admission::resumed})
    for (const ScheduledTrace& scheduled : trace.scheduled) {
      if (scheduled.admission != admission) continue;
      if (slots_.slot_of(scheduled.request) >= 0) slots_.free(scheduled.request);
      admit(scheduled);
    }
  const std::size_t groups = config_->kv_cache_config.groups.size();
  for (std::size_t i = 0; i < trace.scheduled.size(); ++i) {
    const ScheduledTrace& scheduled = trace.scheduled[i];
    const std::int32_t slot = slots_.slot_of(scheduled.request);
    slots_.slot(slot).num_computed_tokens_reported = scheduled.num_computed_tokens;
    for (std::size_t g = 0; g < groups; ++g) {
      const auto group = static_cast<std::int32_t>(g);
      const std::span<const std::int32_t> ids = new_blocks.of(i, groups, g);
      if (scheduled.admission == Admission::running)
        slots_.append_block_ids(slot, group, ids);
      else
        slots_.set_block_ids(slot, group, ids);
    }
  }
}

// Counts and columns that the slot starts with (semantics: add-request).
void WorkerV2::admit(const ScheduledTrace& scheduled) {
  const std::int32_t index = slots_.add({.request = scheduled.request,
                                         .num_computed_tokens = scheduled.num_computed_tokens,
                                         .num_tokens = scheduled.num_tokens});
  const bool align = config_->mamba_cache_mode == MambaCacheMode::align;
  // A count of 1 is what every request starts with, so it counts as the request's own.
  if (align || config_->policies.is(SlotCountReset::every_mode) ||
      slots_.accepted(index).num_accepted_tokens == 1)
    slots_.set_accepted(index, {1, scheduled.request});
  if (!align || !metadata_.has_mamba()) return;
  const std::int32_t unit = config_->policies.is(InitialStateColumn::mamba_block_size)
                                ? metadata_.mamba_block_size()
                                : config_->block_size;
  add_align_slot(
      slots_.align(),
      {.slot = index, .num_computed_tokens = scheduled.num_computed_tokens, .block_size = unit})
      .value();
}

// Is the row prefilling, as the builders are told?
bool WorkerV2::is_prefilling(const ScheduledTrace& scheduled) const {
  if (!slots_.slot(slots_.slot_of(scheduled.request)).is_prefilling()) return false;
  return config_->policies.is(OneTokenChunk::prefills) || scheduled.num_computed_tokens == 0 ||
         scheduled.num_scheduled_tokens - scheduled.num_draft_tokens != 1;
}

// By shape, a row has the class that the builders give it: they find prefills by V2's
// is_prefilling.
RowClass WorkerV2::class_of(const ScheduledTrace& scheduled) const {
  const RowClassing classing = config_->policies.get<RowClassing>();
  if (classing == RowClassing::by_meaning ||
      !slots_.slot(slots_.slot_of(scheduled.request)).is_prefilling())
    return row_class_of(scheduled, classing, config_->num_speculative_tokens);
  if (is_prefilling(scheduled)) return RowClass::prefill;
  return config_->num_speculative_tokens > 0 ? RowClass::verify : RowClass::decode;
}

void WorkerV2::describe_rows(StepTrace& trace, RequestList& requests) {
  row_classes_.clear();
  for (const ScheduledTrace& scheduled : trace.scheduled)
    row_classes_.push_back(class_of(scheduled));
  idx_mapping_.clear();
  const RowOrderInput to_order{.scheduled = trace.scheduled,
                               .row_classes = row_classes_,
                               .num_speculative_tokens = config_->num_speculative_tokens};
  for (const std::int32_t index : order_rows_v2(to_order, config_->policies.get<RowOrder>(),
                                                config_->policies.get<FullRowsFirst>())) {
    const ScheduledTrace& scheduled = trace.scheduled[static_cast<std::size_t>(index)];
    const auto r = static_cast<std::int32_t>(idx_mapping_.size());
    idx_mapping_.push_back(slots_.slot_of(scheduled.request));
    const RequestSlot& slot = slots_.slot(idx_mapping_.back());
    const auto s = static_cast<std::size_t>(idx_mapping_.back());
    RowTrace row{.request = scheduled.request,
                 .scheduled = index,
                 .slot = idx_mapping_.back(),
                 .slot_owner = scheduled.request,
                 .num_computed_tokens = slots_.num_computed_tokens()[s],
                 .previous_row = slot.previous_row,
                 .origin = row_origin_of(slot.previous_row, r, scheduled.admission),
                 .row_class = row_classes_[static_cast<std::size_t>(index)],
                 .is_prefilling = is_prefilling(scheduled),
                 .num_draft_count = num_draft_count_of(scheduled, slot.is_prefilling(), *config_)};
    start_with(row, slots_.accepted(row.slot));
    inputs_.add(trace, row, requests[scheduled.request], config_->policies);
    trace.rows.push_back(row);
  }
}

// Mode all with drafts: where each row's last step ended (semantics: mode-all-with-drafts).
void WorkerV2::find_remembered_columns() {
  remembered_columns_.clear();
  if (config_->mamba_cache_mode != MambaCacheMode::all || config_->num_speculative_tokens == 0)
    return;
  for (const std::int32_t slot : idx_mapping_)
    remembered_columns_.push_back(slots_.slot(slot).last_scheduled_col);
}

// What the device knows after sampling (semantics: accepted-counts-v2).
void WorkerV2::sample(StepTrace& trace, RequestList&) {
  inputs_.sample(trace);
  for (const RowTrace& row : trace.rows) {
    slots_.num_computed_tokens()[static_cast<std::size_t>(row.slot)] =
        num_computed_tokens_after(row, trace.scheduled_of(row));
    slots_.set_accepted(row.slot, accepted_count_after(row));
  }
  // Without drafts every count is 1, and there is nothing to copy.
  if (config_->num_speculative_tokens == 0 || !metadata_.has_mamba()) return;
  if (config_->mamba_cache_mode == MambaCacheMode::align) post_copy_align(trace);
  if (config_->mamba_cache_mode == MambaCacheMode::all) post_copy_all(trace);
}

// The advance kernel, then the pre-copy kernel, which takes the slot's columns
// (semantics: preprocess-mamba-align, precopy-mamba-align). The trace lists the advance's decision.
void WorkerV2::pre_copy(StepTrace& trace) {
  if (config_->mamba_cache_mode == MambaCacheMode::none || !metadata_.has_mamba()) return;
  view_mamba_tables(trace, slots_.input_block_tables(), mamba_tables_);
  if (config_->mamba_cache_mode != MambaCacheMode::align) return;
  AlignSlots& align = slots_.align();
  preprocess_mamba_align({.num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                          .block_size = metadata_.mamba_block_size(),
                          .idx_mapping = idx_mapping_,
                          .num_computed_tokens = slots_.num_computed_tokens(),
                          .query_start_loc = trace.common.query_start_loc},
                         align, decisions_)
      .value();
  append_decisions(trace, decisions_, trace.pre_copies);
  run_fused_precopy(idx_mapping_, align, decisions_).value();
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.pre_copies.copies);
  for (RowTrace& row : trace.rows)
    row.num_accepted_tokens = slots_.accepted(row.slot).num_accepted_tokens;
}

// Boundary snapshots after acceptance, with the new count given (semantics: postprocess-mamba-v2).
void WorkerV2::post_copy_align(StepTrace& trace) {
  AlignSlots& align = slots_.align();
  run_fused_postprocess_align({.num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                               .block_size = metadata_.mamba_block_size(),
                               .idx_mapping = idx_mapping_,
                               .state_idx = align.state_idx,
                               .new_num_computed_tokens = slots_.num_computed_tokens()},
                              align.num_accepted_tokens, decisions_)
      .value();
  add_post_copies(trace);
}

// The reference's V2 remembers no column and stores no boundaries
// (semantics: mode-all-with-drafts).
void WorkerV2::post_copy_all(StepTrace& trace) {
  const bool safe = config_->policies.is(AllModeSpeculation::remembered_column_and_boundary_copies);
  const std::int32_t block_size = metadata_.mamba_block_size();
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    slots_.slot(row.slot).last_scheduled_col =
        safe ? last_scheduled_column(row.num_computed_tokens,
                                     trace.scheduled_of(row).num_scheduled_tokens, block_size)
             : -1;
    if (safe)
      slots_.align().num_accepted_tokens[static_cast<std::size_t>(row.slot)] = add_boundary_copies(
          trace, static_cast<std::int32_t>(r), block_size, mamba_tables_, decisions_);
  }
}

}  // namespace hybridscope
