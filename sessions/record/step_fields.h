// The fields of a step's decisions, as name and member, in one place. Recording, reading, digests,
// comparisons and reports use these lists, so none of them forgets a field. A field's name is its
// column in session files and its word in differences.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/metadata/metadata_description.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Each calls visit(name, member) for every field, in the order of the file's columns, of a value
// that may be const. Requests are RequestIds, enums keep their types.

inline constexpr auto for_each_step_field = [](auto& step, auto&& visit) {
  visit("committed_step", step.committed_step);
  visit("time_us", step.time_us);
  visit("duration_us", step.duration_us);
  visit("token_budget", step.token_budget);
  visit("budget_overridden", step.budget_overridden);
  visit("num_scheduled_tokens", step.num_scheduled_tokens);
  visit("num_running", step.num_running);
  visit("num_waiting", step.num_waiting);
  visit("num_free_blocks", step.num_free_blocks);
  visit("num_unfinished", step.num_unfinished);
  visit("num_pending_commands", step.num_pending_commands);
};

inline constexpr auto for_each_graph_field = [](auto& step, auto&& visit) {
  visit("runtime_mode", step.graph.runtime_mode);
  visit("num_tokens_padded", step.graph.num_tokens_padded);
  visit("num_reqs_padded", step.graph.num_reqs_padded);
  visit("reason", step.graph.reason);
  visit("uniform_decode", step.uniform_decode);
};

inline constexpr auto for_each_command_field = [](auto& command, auto&& visit) {
  visit("command", command.command);
  visit("request", command.request);
  visit("value", command.value);
  visit("outcome", command.outcome);
  visit("reason", command.reason);
};

// The scheduler's decisions about a request. Its c has another name than the row's own c.
inline constexpr auto for_each_scheduled_field = [](auto& scheduled, auto&& visit) {
  visit("request", scheduled.request);
  visit("admission", scheduled.admission);
  visit("run", scheduled.run);
  visit("reported_num_computed_tokens", scheduled.num_computed_tokens);
  visit("num_scheduled_tokens", scheduled.num_scheduled_tokens);
  visit("num_draft_tokens", scheduled.num_draft_tokens);
  visit("num_drafts_offered", scheduled.num_drafts_offered);
  visit("num_tokens", scheduled.num_tokens);
  visit("num_output_placeholders", scheduled.num_output_placeholders);
  visit("num_prompt_tokens", scheduled.num_prompt_tokens);
  visit("placeholder_drafts", scheduled.placeholder_drafts);
  visit("num_hit_tokens", scheduled.num_hit_tokens);
};

// The worker's row, without its place in the batch.
inline constexpr auto for_each_row_field = [](auto& row, auto&& visit) {
  visit("num_computed_tokens", row.num_computed_tokens);
  visit("row_class", row.row_class);
  visit("is_prefilling", row.is_prefilling);
  visit("num_accepted_tokens_before", row.num_accepted_tokens_before);
  visit("num_accepted_tokens", row.num_accepted_tokens);
  visit("accepted_from", row.accepted_from);
  visit("num_draft_count", row.num_draft_count);
  visit("num_sampled_tokens", row.num_sampled_tokens);
};

// The row's place in the batch.
inline constexpr auto for_each_layout_field = [](auto& row, auto&& visit) {
  visit("slot", row.slot);
  visit("previous_row", row.previous_row);
  visit("origin", row.origin);
};

inline constexpr auto for_each_commit_field = [](auto& commit, auto&& visit) {
  visit("request", commit.request);
  visit("outcome", commit.outcome);
  visit("num_computed_tokens", commit.num_computed_tokens);
  visit("num_tokens", commit.num_tokens);
  visit("num_output_placeholders", commit.num_output_placeholders);
  visit("num_appended_tokens", commit.num_appended_tokens);
  visit("num_drafts_next", commit.num_drafts_next);
  visit("finished", commit.finished);
};

inline constexpr auto for_each_skipped_field = [](auto& skipped, auto&& visit) {
  visit("request", skipped.request);
  visit("reason", skipped.reason);
};

inline constexpr auto for_each_terms_field = [](auto& terms, auto&& visit) {
  visit("request", terms.request);
  visit("budget_left", terms.budget_left);
  visit("prefill_threshold", terms.prefill_threshold);
  visit("shared_prefix_boundary", terms.shared_prefix_boundary);
  visit("num_computed_tokens", terms.num_computed_tokens);
  visit("num_new_tokens", terms.num_new_tokens);
};

inline constexpr auto for_each_lookup_field = [](auto& lookup, auto&& visit) {
  visit("request", lookup.request);
  visit("num_hit_tokens", lookup.num_hit_tokens);
  visit("admitted", lookup.admitted);
  visit("max_cache_hit_length", lookup.explanation.max_cache_hit_length);
  visit("longest_hit_length", lookup.explanation.longest_hit_length);
  visit("num_rounds", lookup.explanation.num_rounds);
};

inline constexpr auto for_each_group_lookup_field = [](auto& group, auto&& visit) {
  visit("present_length", group.present_length);
  visit("hit_length", group.hit_length);
  visit("miss_block", group.miss_block);
  visit("planned_column", group.planned_column);
  visit("stop", group.stop);
};

inline constexpr auto for_each_cache_event_field = [](auto& event, auto&& visit) {
  visit("kind", event.kind);
  visit("group", event.group);
  visit("request", event.request);
  visit("col", event.column);
  visit("block", event.block);
  visit("ref_cnt", event.ref_cnt);
  visit("num_tokens", event.num_tokens);
  visit("block_hash", event.block_hash);
};

// Every term of a copy decision; the file stores `row` beside them.
inline constexpr auto for_each_decision_field = [](auto& decided, auto&& visit) {
  auto& decision = decided.decision;
  visit("request", decided.request);
  visit("rule", decision.rule);
  visit("outcome", decision.outcome);
  visit("resets_accepted_count", decision.resets_accepted_count);
  visit("has_mamba_state_idx", decision.has_mamba_state_idx);
  visit("mamba_state_idx", decision.mamba_state_idx);
  visit("num_accepted_tokens", decision.num_accepted_tokens);
  visit("num_scheduled_tokens", decision.num_scheduled_tokens);
  visit("num_computed_tokens", decision.num_computed_tokens);
  visit("num_draft_tokens", decision.num_draft_tokens);
  visit("block_size", decision.block_size);
  visit("computed_after", decision.computed_after);
  visit("num_tokens_running_state", decision.num_tokens_running_state);
  visit("new_num_computed_tokens", decision.new_num_computed_tokens);
  visit("aligned_new_computed", decision.aligned_new_computed);
  visit("accept_token_bias", decision.accept_token_bias);
  visit("src_col", decision.src_col);
  visit("dst_col", decision.dst_col);
};

inline constexpr auto for_each_copy_field = [](auto& copy, auto&& visit) {
  visit("decision", copy.decision);
  visit("group", copy.group);
  visit("conv_src_block", copy.conv_src_block);
  visit("temporal_src_block", copy.temporal_src_block);
  visit("dst_block", copy.dst_block);
  visit("accept_token_bias", copy.accept_token_bias);
};

inline constexpr auto for_each_group_field = [](auto& group, auto&& visit) {
  visit("accepted_counts_given", group.accepted_counts_given);
  visit("reused_metadata", group.reused_metadata);
  visit("persistent_buffers_step", group.persistent_buffers_step);
};

inline constexpr auto for_each_attention_write_field = [](auto& write, auto&& visit) {
  visit("row", write.row);
  visit("col", write.column);
  visit("block", write.block);
  visit("first_slot", write.first_slot);
  visit("num_slots", write.num_slots);
  visit("first_token", write.first_token);
};

inline constexpr auto for_each_finding_field = [](auto& finding, auto&& visit) {
  visit("rule", finding.rule);
  visit("request", finding.request);
  visit("row", finding.row);
  visit("group", finding.group);
  visit("content", finding.content);
  visit("col", finding.column);
  visit("block", finding.block);
  visit("expected", finding.expected);
  visit("seen", finding.seen);
  visit("detail", finding.detail);
  visit("cause_kind", finding.cause.kind);
  visit("cause_step", finding.cause.step);
  visit("cause_ordinal", finding.cause.ordinal);
  visit("cause_request", finding.cause.request);
  visit("cause_num_tokens", finding.cause.num_tokens);
};

// A write's ordinal is its index in the list.
inline constexpr auto for_each_write_field = [](auto& write, auto&& visit) {
  visit("kind", write.event.kind);
  visit("ordinal", write.event.ordinal);
  visit("request", write.event.request);
  visit("num_tokens", write.event.num_tokens);
  visit("group", write.group);
  visit("content", write.content);
  visit("col", write.column);
  visit("block", write.block);
  visit("fingerprint", write.fingerprint);
};

// The metadata arrays of a step: converts between the views of a StepTrace and the owning arrays of
// a record.

// Calls visit(group, name, value, dtype) for each field of one group's metadata; `value` is a
// TensorView or a plain number.
template <class Visit>
struct GroupArrays {
  std::int32_t group;
  Visit& visit;

  template <class T>
  void operator()(const MetadataField& field, const T& value) {
    if (!is_left_out(field, value)) visit(group, field.name, value, field.dtype);
  }
  void operator()(const MetadataField&, TokenIndxDtype) {}
  void operator()(const MetadataField& field, const CausalConv1dMetadata& conv1d) {
    if (!conv1d.present)
      return visit(group, field.name, TensorView<std::int32_t>{}, ArrayDtype::int32);
    visit(group, "nums_dict.8.nums", conv1d.nums, ArrayDtype::int32);
    visit(group, "nums_dict.8.tot", conv1d.tot, ArrayDtype::host_int);
    visit(group, "batch_ptr", vector_view(conv1d.batch_ptr.data, conv1d.tot), ArrayDtype::int32);
    visit(group, "token_chunk_offset_ptr",
          vector_view(conv1d.token_chunk_offset_ptr.data, conv1d.tot), ArrayDtype::int32);
  }
};

// Calls visit(group, name, value, dtype) for the batch's arrays (query_start_loc, seq_lens; group
// -1), then for each group: the columns that decode rows of mode all read from, if the trace has
// them, and the arrays of its builder's metadata under the reference's names. Arrays that end in
// unwritten elements of -1 (batch_ptr, token_chunk_offset_ptr) are visited up to the written part.
// Records and digests both use this list.
template <class Visit>
void for_each_array(const StepTrace& trace, Visit&& visit) {
  const auto batch = [&](std::string_view name, std::span<const std::int32_t> values) {
    visit(-1, name, vector_view(values.data(), static_cast<std::int32_t>(values.size())),
          ArrayDtype::int32);
  };
  batch("query_start_loc", trace.common.query_start_loc);
  batch("seq_lens", trace.common.seq_lens);
  for (const GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    if (group.temporal_source_column.present)
      visit(group.group, "temporal_source_column", group.temporal_source_column, ArrayDtype::int32);
    if (group.conv_source_column.present)
      visit(group.group, "conv_source_column", group.conv_source_column, ArrayDtype::int32);
    GroupArrays<std::remove_reference_t<Visit>> show{group.group, visit};
    for_each_field(*group.metadata, show);
  }
}

// Appends the arrays that for_each_array visits.
void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays);

}  // namespace hybridscope
