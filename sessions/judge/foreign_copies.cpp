#include <algorithm>

#include "core/state/copy_decision.h"
#include "sessions/judge/foreign_importer.h"

namespace hybridscope {
namespace {

// The column of a request's list that holds the block, the last one if several do; -1: none.
std::int32_t column_of(std::span<const std::int32_t> ids, std::int32_t block) {
  const auto found = std::find(ids.rbegin(), ids.rend(), block);
  return static_cast<std::int32_t>(ids.rend() - found) - 1;
}

}  // namespace

// Pre-copies of V1, and of V2, whose slot has a column from the admission on
// (semantics: preprocess-mamba, preprocess-mamba-align, add-request).
StateCopyDecision ForeignImporter::decide_pre_copy(const RowTrace& row,
                                                   const ForeignRequest& request) const {
  const std::int32_t block_size = metadata_.mamba_block_size();
  const std::int32_t num_scheduled_tokens = trace_.scheduled_of(row).num_scheduled_tokens;
  if (config_.runner == ModelRunner::v2)
    return decide_align_advance_v2({.state_idx = request.mamba_state_idx.value_or(
                                        floor_div(row.num_computed_tokens - 1, block_size)),
                                    .num_accepted_tokens = row.num_accepted_tokens,
                                    .num_computed_tokens = row.num_computed_tokens,
                                    .query_len = num_scheduled_tokens,
                                    .block_size = block_size});
  return decide_preprocess_v1({.has_mamba_state_idx = request.mamba_state_idx.has_value(),
                               .mamba_state_idx = request.mamba_state_idx.value_or(-1),
                               .num_computed_tokens = row.num_computed_tokens,
                               .num_scheduled_tokens = num_scheduled_tokens,
                               .num_accepted_tokens = row.num_accepted_tokens,
                               .block_size = block_size});
}

// Post-copies; V2 is given the count after acceptance (semantics: postprocess-mamba,
// postprocess-mamba-v2).
StateCopyDecision ForeignImporter::decide_post_copy(const RowTrace& row,
                                                    const ForeignRequest& request) const {
  const ScheduledTrace& scheduled = trace_.scheduled_of(row);
  if (config_.runner == ModelRunner::v2)
    return decide_postprocess_v2({.num_accepted_tokens = request.num_accepted_tokens,
                                  .state_idx = request.mamba_state_idx.value_or(-1),
                                  .new_num_computed_tokens = request.exact_computed_tokens,
                                  .block_size = metadata_.mamba_block_size()});
  return decide_postprocess_v1({.num_accepted_tokens = request.num_accepted_tokens,
                                .mamba_state_idx = request.mamba_state_idx.value_or(-1),
                                .num_scheduled_tokens = scheduled.num_scheduled_tokens,
                                .num_computed_tokens = row.num_computed_tokens,
                                .num_draft_tokens = scheduled.num_draft_tokens,
                                .block_size = metadata_.mamba_block_size()});
}

// Decisions that the engine told replace ours.
void ForeignImporter::pre_copy(const ForeignStep& step) {
  if (!metadata_.has_mamba()) return;
  const bool told = step.preprocess_copies.has_value();
  if (config_.mamba_cache_mode != MambaCacheMode::align) {
    // Our rule makes none in the other modes; an engine that does is executed as it says.
    if (told && !step.preprocess_copies->empty())
      launch_copies(std::vector<StateCopyDecision>(trace_.rows.size()), &*step.preprocess_copies,
                    trace_.pre_copies);
    return;
  }
  if (!told) count(Computed::preprocess_copies);
  CopyLaunch& launch = trace_.pre_copies;
  std::vector<StateCopyDecision> decisions;
  for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
    const RowTrace& row = trace_.rows[r];
    ForeignRequest& request = requests_[row.request];
    decisions.push_back(decide_pre_copy(row, request));
    const std::int32_t told_column = told_rows_[r]->mamba_state_idx;
    request.mamba_state_idx = told_column >= 0 ? told_column : decisions.back().dst_col;
  }
  launch_copies(decisions, told ? &*step.preprocess_copies : nullptr, launch);
  for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
    RowTrace& row = trace_.rows[r];
    const std::int32_t told_after = told_rows_[r]->num_accepted_tokens_after_preprocess;
    if (told_after >= 0)
      row.num_accepted_tokens = told_after;
    else if (launch.decisions[r].decision.copies())
      row.num_accepted_tokens = 1;
  }
}

// Mode all makes no copies unless the engine told some (semantics: mode-all-with-drafts).
void ForeignImporter::post_copy(const ForeignStep& step) {
  const bool align = config_.mamba_cache_mode == MambaCacheMode::align;
  const bool told = step.postprocess_copies.has_value();
  std::vector<StateCopyDecision> decisions;
  for (const RowTrace& row : trace_.rows) {
    const ScheduledTrace& scheduled = trace_.scheduled_of(row);
    ForeignRequest& request = requests_[row.request];
    request.num_accepted_tokens = std::max(row.num_sampled_tokens, 1);
    if (!metadata_.has_mamba()) continue;
    if (config_.mamba_cache_mode == MambaCacheMode::all)
      request.mamba_state_idx =
          std::max(row.num_computed_tokens + scheduled.num_scheduled_tokens - 1, 0) /
          metadata_.mamba_block_size();
    decisions.push_back(decide_post_copy(row, request));
    if (align) request.num_accepted_tokens = decisions.back().num_accepted_tokens_after();
  }
  const bool computes = align && config_.num_speculative_tokens > 0;
  if (!metadata_.has_mamba() || (!told && !computes)) return;
  if (!told) count(Computed::postprocess_copies);
  launch_copies(decisions, told ? &*step.postprocess_copies : nullptr, trace_.post_copies);
  if (align) return;
  // A state that moved within its column is read from the column's start
  // (semantics: mode-all-with-drafts).
  for (const CopyDecisionTrace& decided : trace_.post_copies.decisions)
    if (decided.row >= 0 && decided.decision.outcome == StateCopyOutcome::within_block_shift)
      requests_[decided.request].num_accepted_tokens = 1;
}

// One decision a row. `told`: null, our decisions are carried out; else the engine's copies are,
// and a decision of ours that made another one gives way.
void ForeignImporter::launch_copies(std::span<const StateCopyDecision> decisions,
                                    const std::vector<ForeignCopy>* told, CopyLaunch& launch) {
  for (std::size_t r = 0; r < decisions.size(); ++r) {
    CopyDecisionTrace decided{trace_.rows[r].request, static_cast<std::int32_t>(r), decisions[r]};
    if (told != nullptr) {
      if (decided.decision.copies()) decided.decision.outcome = StateCopyOutcome::same_column;
      launch.decisions.push_back(decided);
    } else {
      add_state_copies(launch, trace_, worker_tables_, decided);
    }
  }
  if (told == nullptr) return;
  for (const ForeignCopy& copy : *told)
    if (requests_[copy.request].row >= 0)
      place_copy(copy, launch);
    else
      place_rowless_copy(copy, launch);
}

// A copy of a request that is not in the batch: executed, and a finding by itself.
void ForeignImporter::place_rowless_copy(const ForeignCopy& told, CopyLaunch& launch) const {
  CopyDecisionTrace decided{.request = told.request, .row = -1, .decision = {}};
  decided.decision.outcome = StateCopyOutcome::copy;
  decided.decision.accept_token_bias = std::max(told.accept_token_bias, 0);
  decided.decision.src_col = told.src_block_idx;
  decided.decision.dst_col = told.dest_block_idx;
  const auto index = static_cast<std::int32_t>(launch.decisions.size());
  launch.decisions.push_back(decided);
  for (const GroupTrace& group : trace_.groups) {
    if (!group.is_mamba || (told.group >= 0 && told.group != group.group)) continue;
    const auto& lists = requests_.at(told.request).block_ids;
    const auto block_at = [&](std::int32_t column) {
      const auto g = static_cast<std::size_t>(group.group);
      return g < lists.size() && column >= 0 && static_cast<std::size_t>(column) < lists[g].size()
                 ? lists[g][static_cast<std::size_t>(column)]
                 : kPadSlotId;
    };
    const bool columns = told.group < 0;
    launch.copies.push_back(
        {.decision = index,
         .group = group.group,
         .conv_src_block = columns ? block_at(told.src_block_idx) : told.conv_src_block_id,
         .temporal_src_block =
             columns ? block_at(told.src_block_idx + decided.decision.accept_token_bias)
                     : told.temporal_src_block_id,
         .dst_block = columns ? block_at(told.dest_block_idx) : told.dest_block_id,
         .accept_token_bias = decided.decision.accept_token_bias});
  }
}

// What the copy does not tell is as our rule has it: the shift, and the source of a kind of state
// that the engine's layers do not have.
void ForeignImporter::place_copy(const ForeignCopy& told, CopyLaunch& launch) {
  const std::int32_t index = decision_of(told, launch);
  if (told.group < 0) return append_group_copies(launch, trace_, worker_tables_, index);
  const StateCopyDecision& decision = launch.decisions[static_cast<std::size_t>(index)].decision;
  const auto& ids = requests_[told.request].block_ids[static_cast<std::size_t>(told.group)];
  const auto block_at = [&](std::int32_t column) {
    return column >= 0 && static_cast<std::size_t>(column) < ids.size()
               ? ids[static_cast<std::size_t>(column)]
               : kPadSlotId;
  };
  launch.copies.push_back(
      {.decision = index,
       .group = told.group,
       .conv_src_block =
           told.conv_src_block_id >= 0 ? told.conv_src_block_id : block_at(decision.src_col),
       .temporal_src_block = told.temporal_src_block_id >= 0
                                 ? told.temporal_src_block_id
                                 : block_at(decision.src_col + decision.accept_token_bias),
       .dst_block = told.dest_block_id,
       .accept_token_bias = decision.accept_token_bias});
}

// The decision that the copy carries out: the row's, unless that has another copy already, or one
// that another group's copy of the same columns has made.
std::int32_t ForeignImporter::decision_of(const ForeignCopy& told, CopyLaunch& launch) {
  const std::int32_t row = requests_[told.request].row;
  const CopyDecisionTrace& base = launch.decisions[static_cast<std::size_t>(row)];
  StateCopyDecision decision = base.decision;
  if (told.accept_token_bias >= 0) decision.accept_token_bias = told.accept_token_bias;
  if (told.group < 0) {
    decision.src_col = told.src_block_idx;
    decision.dst_col = told.dest_block_idx;
  } else {
    place_blocks(told, decision);
  }
  decision.outcome = decision.src_col == decision.dst_col ? StateCopyOutcome::within_block_shift
                                                          : StateCopyOutcome::copy;
  if (!base.decision.copies()) {
    launch.decisions[static_cast<std::size_t>(row)].decision = decision;
    return row;
  }
  const auto same = std::ranges::find_if(launch.decisions, [&](const CopyDecisionTrace& other) {
    return other.row == row && told.group >= 0 && other.decision == decision;
  });
  const auto index = static_cast<std::int32_t>(same - launch.decisions.begin());
  if (same == launch.decisions.end()) launch.decisions.push_back({told.request, row, decision});
  return index;
}

// Columns in which the request has the told blocks; ours where it has them nowhere.
void ForeignImporter::place_blocks(const ForeignCopy& told, StateCopyDecision& decision) {
  const auto& ids = requests_[told.request].block_ids[static_cast<std::size_t>(told.group)];
  const bool conv = told.conv_src_block_id >= 0;
  const std::int32_t src =
      column_of(ids, conv ? told.conv_src_block_id : told.temporal_src_block_id);
  const std::int32_t dst = column_of(ids, told.dest_block_id);
  if (src >= 0) decision.src_col = conv ? src : src - decision.accept_token_bias;
  if (dst >= 0) decision.dst_col = dst;
}

}  // namespace hybridscope
