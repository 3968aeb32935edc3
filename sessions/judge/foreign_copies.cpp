#include <algorithm>
#include <numeric>

#include "core/state/mode_copies.h"
#include "sessions/judge/foreign_importer.h"

namespace hybridscope {
// Pre-copies of V1 and V2 (semantics: preprocess-mamba, preprocess-mamba-align, add-request). For
// V2, whose slots have a column from admission on, each row gets one slot here.
void ForeignImporter::decide_pre_copies() {
  const std::int32_t block_size = metadata_.mamba_block_size();
  if (config_.runner == ModelRunner::v1) {
    preprocess_mamba({.block_size = block_size,
                      .req_ids = copy_rows_.req_ids,
                      .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                      .num_computed_tokens = copy_rows_.num_computed_tokens},
                     mamba_state_idx_, copy_rows_.num_accepted_tokens, decisions_)
        .value();
    copying_ = decisions_;
    return;
  }
  const auto num_reqs = static_cast<std::int32_t>(trace_.rows.size());
  AlignSlots slots = make_align_slots(num_reqs);
  identity_.resize(trace_.rows.size());
  std::iota(identity_.begin(), identity_.end(), 0);
  for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
    add_align_slot(slots, {.slot = identity_[r],
                           .num_computed_tokens = copy_rows_.num_computed_tokens[r],
                           .block_size = block_size})
        .value();
    if (const auto column = mamba_state_idx_.find(trace_.rows[r].request))
      slots.state_idx[r] = *column;
    slots.num_accepted_tokens[r] = copy_rows_.num_accepted_tokens[r];
  }
  preprocess_mamba_align({.num_reqs = num_reqs,
                          .block_size = block_size,
                          .idx_mapping = identity_,
                          .num_computed_tokens = copy_rows_.num_computed_tokens,
                          .query_start_loc = trace_.common.query_start_loc},
                         slots, decisions_)
      .value();
  run_fused_precopy(identity_, slots, copying_).value();
  for (std::size_t r = 0; r < trace_.rows.size(); ++r)
    mamba_state_idx_.set(trace_.rows[r].request, slots.state_idx[r]);
}

// Post-copies; V2 gets the count after acceptance (semantics: postprocess-mamba,
// postprocess-mamba-v2). Afterwards `copy_rows_` holds the counts that they leave.
void ForeignImporter::decide_post_copies() {
  const auto num_reqs = static_cast<std::int32_t>(trace_.rows.size());
  columns_.clear();
  for (const RowTrace& row : trace_.rows)
    columns_.push_back(mamba_state_idx_.find(row.request).value_or(-1));
  if (config_.runner == ModelRunner::v1) {
    run_fused_postprocess({.num_reqs = num_reqs,
                           .block_size = metadata_.mamba_block_size(),
                           .num_accepted_tokens = copy_rows_.num_accepted_tokens,
                           .mamba_state_idx = columns_,
                           .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                           .num_computed_tokens = copy_rows_.num_computed_tokens,
                           .num_draft_tokens = copy_rows_.num_draft_tokens},
                          copy_rows_.num_accepted_tokens, decisions_)
        .value();
  } else {
    identity_.resize(trace_.rows.size());
    std::iota(identity_.begin(), identity_.end(), 0);
    new_computed_tokens_.clear();
    for (const RowTrace& row : trace_.rows)
      new_computed_tokens_.push_back(requests_[row.request].exact_computed_tokens);
    run_fused_postprocess_align({.num_reqs = num_reqs,
                                 .block_size = metadata_.mamba_block_size(),
                                 .idx_mapping = identity_,
                                 .state_idx = columns_,
                                 .new_num_computed_tokens = new_computed_tokens_},
                                copy_rows_.num_accepted_tokens, decisions_)
        .value();
  }
  copying_ = decisions_;
}

// Traced copies replace our decisions.
void ForeignImporter::pre_copy(const ForeignStep& step) {
  if (!metadata_.has_mamba()) return;
  copy_rows_.fill(trace_);
  view_mamba_tables(trace_, worker_tables_, mamba_tables_);
  const bool traced = step.preprocess_copies.has_value();
  if (config_.mamba_cache_mode != MambaCacheMode::align) {
    // Our rule makes no copies in the other modes; those of the trace are executed as given.
    decisions_.assign(trace_.rows.size(), {});
    if (traced && !step.preprocess_copies->empty())
      launch_traced(*step.preprocess_copies, trace_.pre_copies);
    return;
  }
  if (!traced) count(Computed::preprocess_copies);
  CopyLaunch& launch = trace_.pre_copies;
  decide_pre_copies();
  for (std::size_t r = 0; r < trace_.rows.size(); ++r)
    if (traced_rows_[r]->mamba_state_idx >= 0)
      mamba_state_idx_.set(trace_.rows[r].request, traced_rows_[r]->mamba_state_idx);
  if (traced)
    launch_traced(*step.preprocess_copies, launch);
  else
    launch_ours(launch);
  for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
    RowTrace& row = trace_.rows[r];
    const std::int32_t traced_after = traced_rows_[r]->num_accepted_tokens_after_preprocess;
    if (traced_after >= 0)
      row.num_accepted_tokens = traced_after;
    else if (launch.decisions[r].decision.copies())
      row.num_accepted_tokens = 1;
  }
}

// Mode all makes no copies unless the trace has some (semantics: mode-all-with-drafts).
void ForeignImporter::post_copy(const ForeignStep& step) {
  const bool align = config_.mamba_cache_mode == MambaCacheMode::align;
  const bool traced = step.postprocess_copies.has_value();
  for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
    const RowTrace& row = trace_.rows[r];
    ForeignRequest& request = requests_[row.request];
    request.num_accepted_tokens = std::max(row.num_sampled_tokens, 1);
    if (!metadata_.has_mamba()) continue;
    copy_rows_.num_accepted_tokens[r] = request.num_accepted_tokens;
  }
  if (!metadata_.has_mamba()) return;
  // Without drafts too: traced copies are completed from the column.
  if (config_.mamba_cache_mode == MambaCacheMode::all)
    remember_last_scheduled_columns({.num_spec_tokens = std::max(config_.num_speculative_tokens, 1),
                                     .block_size = metadata_.mamba_block_size(),
                                     .req_ids = copy_rows_.req_ids,
                                     .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                                     .num_computed_tokens = copy_rows_.num_computed_tokens},
                                    mamba_state_idx_)
        .value();
  decide_post_copies();
  if (align)
    for (std::size_t r = 0; r < trace_.rows.size(); ++r)
      requests_[trace_.rows[r].request].num_accepted_tokens = copy_rows_.num_accepted_tokens[r];
  const bool computes = align && config_.num_speculative_tokens > 0;
  if (!traced && !computes) return;
  if (!traced) count(Computed::postprocess_copies);
  if (traced)
    launch_traced(*step.postprocess_copies, trace_.post_copies);
  else
    launch_ours(trace_.post_copies);
  if (align) return;
  // A state that moved within its column is later read from the column's start (semantics:
  // mode-all-with-drafts).
  for (const CopyDecisionTrace& decided : trace_.post_copies.decisions)
    if (decided.row >= 0 && decided.decision.outcome == StateCopyOutcome::within_block_shift)
      requests_[decided.request].num_accepted_tokens = 1;
}

// Carries out our decisions.
void ForeignImporter::launch_ours(CopyLaunch& launch) const {
  append_decisions(trace_, decisions_, launch);
  collect_batch_copy_meta(copying_, mamba_tables_, launch.copies);
}

// Carries out the traced copies. The engine's decision replaces ours, unless a group of the row did
// what ours says, or a copy is ours but for one value or for its number: then ours says what is
// wrong. A copy that another request made is carried out for that one, and its decision keeps the
// request that the copy names.
void ForeignImporter::launch_traced(std::vector<ForeignCopy> traced, CopyLaunch& launch) {
  append_decisions(trace_, decisions_, launch);
  for (ForeignCopy& copy : traced) {
    const RequestId owner = owner_of(copy, traced, launch);
    if (owner == copy.request) continue;
    launch.decisions[static_cast<std::size_t>(requests_[owner].row)].request = copy.request;
    copy.request = owner;
  }
  ours_stands_.assign(launch.decisions.size(), false);
  for (const ForeignCopy& copy : traced)
    if (const std::int32_t row = requests_[copy.request].row; row >= 0)
      ours_stands_[static_cast<std::size_t>(row)] = true;
  for (std::size_t r = 0; r < launch.decisions.size(); ++r) {
    StateCopyDecision& decision = launch.decisions[r].decision;
    const auto row = static_cast<std::int32_t>(r);
    ours_stands_[r] = ours_stands_[r] && (some_group_agrees(traced, row, decision) ||
                                          differs_by_one_value(traced, row, decision) ||
                                          has_extra_copy(traced, row, decision));
    if (!ours_stands_[r] && decision.copies()) decision.outcome = StateCopyOutcome::same_column;
  }
  for (const ForeignCopy& copy : traced)
    if (requests_[copy.request].row >= 0)
      place_copy(copy, launch);
    else
      place_rowless_copy(copy, launch);
}

// The request's block in a column of a group; kPadSlotId: it has none.
std::int32_t ForeignImporter::block_at(RequestId request, std::int32_t group,
                                       std::int32_t column) const {
  const auto& lists = requests_.at(request).block_ids;
  const auto g = static_cast<std::size_t>(group);
  return g < lists.size() && column >= 0 && static_cast<std::size_t>(column) < lists[g].size()
             ? lists[g][static_cast<std::size_t>(column)]
             : kPadSlotId;
}

// A copy for a request that is not in the batch: it is executed, and is a finding in itself.
void ForeignImporter::place_rowless_copy(const ForeignCopy& traced, CopyLaunch& launch) const {
  CopyDecisionTrace decided{.request = traced.request, .row = -1, .decision = {}};
  decided.decision.outcome = StateCopyOutcome::copy;
  decided.decision.accept_token_bias = std::max(traced.accept_token_bias, 0);
  decided.decision.src_col = traced.src_block_idx;
  decided.decision.dst_col = traced.dest_block_idx;
  const auto index = static_cast<std::int32_t>(launch.decisions.size());
  launch.decisions.push_back(decided);
  for (const GroupTrace& group : trace_.groups) {
    if (!group.is_mamba || (traced.group >= 0 && traced.group != group.group)) continue;
    const auto column_block = [&](std::int32_t column) {
      return block_at(traced.request, group.group, column);
    };
    const bool columns = traced.group < 0;
    launch.copies.push_back(
        {.decision = index,
         .group = group.group,
         .conv_src_block = columns ? column_block(traced.src_block_idx) : traced.conv_src_block_id,
         .temporal_src_block =
             columns ? column_block(traced.src_block_idx + decided.decision.accept_token_bias)
                     : traced.temporal_src_block_id,
         .dst_block = columns ? column_block(traced.dest_block_idx) : traced.dest_block_id,
         .accept_token_bias = decided.decision.accept_token_bias});
  }
}

// Our rule supplies what the copy leaves out: the shift, and the source of a kind of state that the
// engine's layers do not have.
void ForeignImporter::place_copy(const ForeignCopy& traced, CopyLaunch& launch) {
  const std::int32_t index = decision_of(traced, launch);
  const CopyDecisionTrace& decided = launch.decisions[static_cast<std::size_t>(index)];
  const StateCopyDecision& decision = decided.decision;
  if (traced.group < 0)
    return collect_mamba_copy_meta(decision, {.decision = index, .row = decided.row}, mamba_tables_,
                                   launch.copies);
  const auto told_or = [&](std::int32_t told, std::int32_t column) {
    return told >= 0 ? told : block_at(traced.request, traced.group, column);
  };
  launch.copies.push_back(
      {.decision = index,
       .group = traced.group,
       .conv_src_block = told_or(traced.conv_src_block_id, decision.src_col),
       .temporal_src_block =
           told_or(traced.temporal_src_block_id, decision.src_col + decision.accept_token_bias),
       .dst_block = traced.dest_block_id,
       .accept_token_bias =
           traced.accept_token_bias >= 0 ? traced.accept_token_bias : decision.accept_token_bias});
}

// The decision that the copy carries out: the row's own, or, if the row already has another copy,
// one made for another group's copy of the same columns, or a new one.
std::int32_t ForeignImporter::decision_of(const ForeignCopy& traced, CopyLaunch& launch) {
  const std::int32_t row = requests_[traced.request].row;
  const CopyDecisionTrace& base = launch.decisions[static_cast<std::size_t>(row)];
  if (ours_stands_[static_cast<std::size_t>(row)]) return row;
  StateCopyDecision decision = base.decision;
  if (traced.accept_token_bias >= 0) decision.accept_token_bias = traced.accept_token_bias;
  if (traced.group < 0) {
    decision.src_col = traced.src_block_idx;
    decision.dst_col = traced.dest_block_idx;
  } else {
    place_blocks(traced, decision);
  }
  decision.outcome = decision.src_col == decision.dst_col ? StateCopyOutcome::within_block_shift
                                                          : StateCopyOutcome::copy;
  if (!base.decision.copies()) {
    launch.decisions[static_cast<std::size_t>(row)].decision = decision;
    return row;
  }
  const auto same = std::ranges::find_if(launch.decisions, [&](const CopyDecisionTrace& other) {
    return other.row == row && traced.group >= 0 && other.decision == decision;
  });
  const auto index = static_cast<std::int32_t>(same - launch.decisions.begin());
  if (same == launch.decisions.end()) launch.decisions.push_back({traced.request, row, decision});
  return index;
}

// Finds the columns of the traced blocks in the request's list; keeps ours for a block that is not
// in it.
void ForeignImporter::place_blocks(const ForeignCopy& traced, StateCopyDecision& decision) {
  const auto& ids = requests_[traced.request].block_ids[static_cast<std::size_t>(traced.group)];
  const bool conv = traced.conv_src_block_id >= 0;
  const std::int32_t src =
      column_of(ids, conv ? traced.conv_src_block_id : traced.temporal_src_block_id);
  const std::int32_t dst = column_of(ids, traced.dest_block_id);
  if (src >= 0) decision.src_col = conv ? src : src - decision.accept_token_bias;
  if (dst >= 0) decision.dst_col = dst;
  // The sources say by how much the state is shifted; if the shift contradicts them, it is wrong.
  const std::int32_t temporal = column_of(ids, traced.temporal_src_block_id);
  if (conv && src >= 0 && temporal >= src) decision.accept_token_bias = temporal - src;
}

}  // namespace hybridscope
