"""One-line mistakes that scripts/mutations plants in the program, one at a time.

Each is a plausible mistake: off by one, < for <=, another operand, a forgotten reset, a dropped
condition. None is in core/check, which judges the runs (tests/ is not run), and none only costs
speed: a graph that is used less often is not corrupted state.
"""

from dataclasses import dataclass

COPY = "copy decision"
PADDING = "padding"
SPLIT = "split"
ROWS = "row moves"
BLOCKS = "block freeing"
AREAS = (COPY, PADDING, SPLIT, ROWS, BLOCKS)


@dataclass(frozen=True)
class Mutation:
    name: str
    area: str
    file: str
    before: str  # text of the file, without a line break
    after: str   # replaces `before`; may be empty
    # If `before` occurs more than once: text that occurs once; the first `before` after it is
    # meant.
    behind: str = ""


DECISION = "core/state/copy_decision.h"
SAFE_DECISION = "core/state/safe_copy_decision.h"
PREFIX_INDICES = "core/metadata/prefix_block_indices.h"
PREPROCESS = "core/state/align_preprocess.cpp"
PRECOPY = "core/state/align_precopy.cpp"
POSTPROCESS = "core/state/align_postprocess.cpp"
STAGE = "core/state/stage_inputs.cpp"
COLLECT = "core/state/collect_copies.cpp"
STATE_IDX = "core/state/mamba_state_idx.cpp"
ALL_MODE = "core/state/all_mode.cpp"
ALL_MODE_HEADER = "core/state/all_mode.h"
COPY_ROWS = "core/engine/copy_rows.cpp"
ALL_MODE_COPIES = "core/engine/all_mode_copies.cpp"
BUILD = "core/engine/batch_metadata_build.cpp"
BATCH = "core/engine/batch_metadata.cpp"
V1 = "core/engine/worker_v1.cpp"
V2 = "core/engine/worker_v2.cpp"
V1_ROWS = "core/engine/batch_rows_v1.cpp"
V2_SLOTS = "core/engine/batch_slots_v2.cpp"
BLOCK_TABLE = "core/engine/block_table.cpp"
ROW_INPUTS = "core/engine/row_inputs.cpp"
ALIGNED = "core/engine/aligned_split.cpp"
SCHEDULER = "core/engine/scheduler.cpp"
RETURNS = "core/engine/scheduler_returns.cpp"
BATCH_SPLIT = "core/metadata/batch_split.cpp"
GDN_CLASSES = "core/metadata/gdn_row_classes.cpp"
GDN_BUILDER = "core/metadata/gdn_builder.cpp"
GDN_BUFFERS = "core/metadata/gdn_decode_buffers.cpp"
MAMBA_BUILDER = "core/metadata/mamba_builder.cpp"
MAMBA_BUFFERS = "core/metadata/mamba_decode_buffers.cpp"
CHUNKS = "core/metadata/chunk_metadata.cpp"
GATHER = "core/metadata/block_table_gather.cpp"
PADDED_SIZE = "core/metadata/graph_padding.cpp"
POOL = "core/caching/block_pool.cpp"
SINGLE = "core/caching/single_type_manager.cpp"
MAMBA_MANAGER = "core/caching/mamba_manager.cpp"
KEY_MAP = "core/caching/block_key_map.cpp"

# Headers with mutated inline functions: the names by which a source uses them. Most of the program
# includes these headers, but only sources that use a name are compiled again.
HEADER_USERS = {
    DECISION: r"\bdecide_\w+",
    SAFE_DECISION: r"\b(?:decide_all_mode_boundary_copy|all_mode_boundaries)\b",
    ALL_MODE_HEADER: r"\blast_scheduled_column\b",
    PREFIX_INDICES: r"\bcompute_prefix_block_indices\b",
}

MUTATIONS = (
    # Whether a state is copied, and from where to where.
    Mutation("v1_precopy_bias", COPY, DECISION,
             "d.accept_token_bias = in.num_accepted_tokens - 1;",
             "d.accept_token_bias = in.num_accepted_tokens;"),
    Mutation("v1_precopy_column", COPY, DECISION,
             "d.dst_col = cdiv(d.computed_after, in.block_size) - 1;",
             "d.dst_col = floor_div(d.computed_after, in.block_size);",
             behind="decide_preprocess_v1(const"),
    Mutation("v1_precopy_keeps_count", COPY, DECISION,
             "d.resets_accepted_count = true;", "", behind="decide_preprocess_v1(const"),
    Mutation("v2_advance_bias", COPY, DECISION,
             "in.num_accepted_tokens > 1 ? in.num_accepted_tokens - 1 : 0;",
             "in.num_accepted_tokens > 2 ? in.num_accepted_tokens - 1 : 0;"),
    Mutation("v2_advance_fresh", COPY, DECISION, "if (d.src_col < 0) {", "if (d.src_col <= 0) {"),
    Mutation("v2_advance_reach", COPY, DECISION,
             "d.computed_after = in.num_computed_tokens + in.query_len;",
             "d.computed_after = in.num_computed_tokens + in.query_len - 1;"),
    Mutation("snapshot_at_running_state", COPY, DECISION,
             "if (d.aligned_new_computed < d.num_tokens_running_state) {",
             "if (d.aligned_new_computed <= d.num_tokens_running_state) {"),
    Mutation("snapshot_keeps_count", COPY, DECISION,
             "d.resets_accepted_count = d.src_col == d.dst_col;", ""),
    Mutation("snapshot_skips_shift_by_one", COPY, DECISION,
             "} else if (d.accept_token_bias == 0) {", "} else if (d.accept_token_bias <= 1) {"),
    Mutation("snapshot_column", COPY, DECISION,
             "d.dst_col = floor_div(d.aligned_new_computed, d.block_size) - 1;",
             "d.dst_col = floor_div(d.aligned_new_computed, d.block_size);"),
    Mutation("v1_postcopy_counts_drafts", COPY, DECISION,
             "in.num_computed_tokens + in.num_scheduled_tokens - in.num_draft_tokens;",
             "in.num_computed_tokens + in.num_scheduled_tokens;"),
    Mutation("v1_postcopy_counts_bonus_twice", COPY, DECISION,
             "d.num_tokens_running_state + in.num_accepted_tokens - 1;",
             "d.num_tokens_running_state + in.num_accepted_tokens;"),
    Mutation("v2_postcopy_running_state", COPY, DECISION,
             "in.new_num_computed_tokens - in.num_accepted_tokens + 1;",
             "in.new_num_computed_tokens - in.num_accepted_tokens;"),
    Mutation("v2_postcopy_misses_boundary", COPY, DECISION,
             "floor_div(in.new_num_computed_tokens, in.block_size) * in.block_size;",
             "floor_div(in.new_num_computed_tokens - 1, in.block_size) * in.block_size;"),
    Mutation("all_mode_misses_last_boundary", COPY, SAFE_DECISION,
             "floor_div(in.num_computed_tokens + in.num_accepted_tokens, in.block_size);",
             "floor_div(in.num_computed_tokens + in.num_accepted_tokens - 1, in.block_size);"),
    Mutation("all_mode_bias", COPY, SAFE_DECISION,
             "d.num_tokens_running_state = in.num_computed_tokens + 1;",
             "d.num_tokens_running_state = in.num_computed_tokens;"),
    Mutation("all_mode_last_column", COPY, ALL_MODE_HEADER,
             "last = num_computed_tokens + num_scheduled_tokens - 1;",
             "last = num_computed_tokens + num_scheduled_tokens;"),
    Mutation("all_mode_remembers_any_step", COPY, ALL_MODE,
             "inputs.num_scheduled_tokens[row] == 1 + inputs.num_spec_tokens)",
             "inputs.num_scheduled_tokens[row] >= 1)"),
    Mutation("all_mode_resets_at_any_copy", COPY, ALL_MODE,
             "if (decisions.back().resets_accepted_count) num_accepted_tokens = 1;",
             "if (decisions.back().copies()) num_accepted_tokens = 1;"),
    Mutation("all_mode_column_of_row", COPY, ALL_MODE,
             "mamba_state_idx.find(req_ids[row])", "mamba_state_idx.find(req_ids[0])"),
    Mutation("all_mode_copies_of_prefills", COPY, ALL_MODE_COPIES,
             "if (row.row_class == RowClass::prefill) return num_accepted_tokens;", ""),
    Mutation("all_mode_reads_next_column", COPY, BUILD,
             "std::max(computed - 1, 0) / mamba_block_size_;", "computed / mamba_block_size_;"),
    Mutation("gone_requests_keep_columns", COPY, STATE_IDX,
             "for (const RequestId id : ids) mamba_state_idx.erase(id);",
             "static_cast<void>(mamba_state_idx), static_cast<void>(ids);"),
    Mutation("v1_remembers_old_column", COPY, PREPROCESS,
             "mamba_state_idx.set(inputs.req_ids[row], decision.dst_col);",
             "mamba_state_idx.set(inputs.req_ids[row], decision.src_col);"),
    Mutation("v1_row_keeps_count", COPY, PREPROCESS,
             "num_accepted_tokens_cpu[row] = decision.num_accepted_tokens_after();", ""),
    Mutation("v1_precopy_count_of_first_row", COPY, PREPROCESS,
             ".num_accepted_tokens = num_accepted_tokens_cpu[row],",
             ".num_accepted_tokens = num_accepted_tokens_cpu[0],"),
    Mutation("v1_stages_no_drafts", COPY, STAGE,
             "std::ranges::copy(inputs.num_draft_tokens, buffers.num_draft_tokens.begin());", ""),
    Mutation("v1_stages_first_column", COPY, STAGE,
             "*mamba_state_idx.find(inputs.req_ids[row]);",
             "*mamba_state_idx.find(inputs.req_ids[0]);"),
    Mutation("v1_postcopy_scheduler_count", COPY, COPY_ROWS,
             "num_computed_tokens.push_back(row.num_computed_tokens);",
             "num_computed_tokens.push_back(scheduled.num_computed_tokens);"),
    Mutation("v1_postcopy_forgets_reset", COPY, POSTPROCESS,
             "num_accepted_tokens_out[row] = decision.num_accepted_tokens_after();",
             "num_accepted_tokens_out[row] = decision.num_accepted_tokens;"),
    Mutation("v2_query_is_offset", COPY, PRECOPY,
             ".query_len = inputs.query_start_loc[row + 1] - inputs.query_start_loc[row],",
             ".query_len = inputs.query_start_loc[row + 1],"),
    Mutation("v2_advance_keeps_bias", COPY, PRECOPY,
             "slots.src_off[slot] = decision.accept_token_bias;", ""),
    Mutation("v2_advance_keeps_count", COPY, PRECOPY,
             "slots.num_accepted_tokens[slot] = decision.num_accepted_tokens_after();", ""),
    Mutation("v2_precopy_column_of_row", COPY, PRECOPY,
             "{.src_col = slots.src_col[slot],", "{.src_col = slots.src_col[row],"),
    Mutation("v2_postcopy_count_of_row", COPY, POSTPROCESS,
             ".new_num_computed_tokens = inputs.new_num_computed_tokens[slot],",
             ".new_num_computed_tokens = inputs.new_num_computed_tokens[decisions.size()],"),
    Mutation("v2_postcopy_forgets_reset", COPY, POSTPROCESS,
             "num_accepted_tokens[slot] = decision.num_accepted_tokens_after();",
             "static_cast<void>(decision);",
             behind="run_fused_postprocess_align("),
    Mutation("v2_column_of_next_token", COPY, PRECOPY,
             "floor_div(added.num_computed_tokens - 1, added.block_size);",
             "floor_div(added.num_computed_tokens, added.block_size);"),
    Mutation("temporal_source_without_bias", COPY, COLLECT,
             "decision.src_col + decision.accept_token_bias),", "decision.src_col),"),
    Mutation("copy_shift_forgotten", COPY, COLLECT,
             ".accept_token_bias = decision.accept_token_bias});", ".accept_token_bias = 0});"),
    Mutation("copy_blocks_of_first_group", COPY, COLLECT,
             ".dst_block = table.block_at(decided.row, decision.dst_col),",
             ".dst_block = tables.front().block_at(decided.row, decision.dst_col),"),
    Mutation("copy_blocks_of_first_row", COPY, COLLECT,
             "{.decision = row, .row = row}", "{.decision = row, .row = 0}"),
    Mutation("rejected_counts_bonus", COPY, ROW_INPUTS,
             "(scheduled.num_draft_tokens - (row.num_sampled_tokens - 1))",
             "(scheduled.num_draft_tokens - row.num_sampled_tokens)"),

    # Rows and tokens that pad a captured graph.
    Mutation("padding_offsets_zero", PADDING, BATCH,
             "query_start_loc_.resize(static_cast<std::size_t>(padded_reqs) + 1, num_tokens);",
             "query_start_loc_.resize(static_cast<std::size_t>(padded_reqs) + 1, 0);"),
    Mutation("padding_seq_len_one", PADDING, BATCH,
             "seq_lens_.resize(static_cast<std::size_t>(padded_reqs), 0);",
             "seq_lens_.resize(static_cast<std::size_t>(padded_reqs), 1);"),
    Mutation("first_padding_row_keeps_blocks", PADDING, BATCH,
             "table.null_rows(num_reqs, padded_reqs);",
             "table.null_rows(num_reqs + 1, padded_reqs);"),
    Mutation("padded_tokens_not_counted", PADDING, BATCH,
             ".num_actual_tokens = pads ? trace.graph.num_tokens_padded : num_tokens,",
             ".num_actual_tokens = num_tokens,"),
    Mutation("uniform_for_short_rows", PADDING, BATCH,
             "return row.row_class != RowClass::prefill &&",
             "return row.row_class != RowClass::prefill ||"),
    Mutation("uniform_rows_of_tokens", PADDING, PADDED_SIZE,
             "std::min(size / (config.num_spec + 1), config.max_num_seqs);",
             "std::min(size, config.max_num_seqs);"),
    Mutation("padding_rows_are_decodes", PADDING, BUILD,
             "row_classes_.assign(num_reqs, RowClass::padding);",
             "row_classes_.assign(num_reqs, RowClass::decode);"),
    Mutation("padding_rows_are_prefills", PADDING, BATCH_SPLIT,
             "std::ranges::lower_bound(batch.row_classes, rank_of(RowClass::padding), {}, "
             "rank_of);",
             "std::ranges::upper_bound(batch.row_classes, rank_of(RowClass::padding), {}, "
             "rank_of);"),
    Mutation("gdn_padding_counts_as_prefill", PADDING, GDN_BUILDER,
             "other_rows += !spec && len != 0 ? 1 : 0;", "other_rows += !spec ? 1 : 0;"),
    Mutation("gdn_offsets_end_early", PADDING, GDN_BUFFERS,
             "target.fill_rows(n + 1, padded + 1,", "target.fill_rows(n + 1, padded,"),
    Mutation("gdn_first_padding_row_stale", PADDING, GDN_BUFFERS,
             "spec_state_indices_tensor_.fill_rows(n, padded, kNullBlock);",
             "spec_state_indices_tensor_.fill_rows(n + 1, padded, kNullBlock);",
             behind="GdnDecodeBuffers::write_spec"),
    Mutation("gdn_last_row_stale", PADDING, GDN_BUFFERS,
             "copy_window_rows(window, {.count = n}, states);",
             "copy_window_rows(window, {.count = n - 1}, states);"),
    Mutation("gdn_largest_graph_without_buffers", PADDING, GDN_BUILDER,
             "metadata.num_spec_decode_tokens <= decode_cudagraph_max_bs_) {",
             "metadata.num_spec_decode_tokens < decode_cudagraph_max_bs_) {"),
    Mutation("mamba_largest_graph_without_buffers", PADDING, MAMBA_BUILDER,
             "metadata.num_decodes <= decode_cudagraph_max_bs_;",
             "metadata.num_decodes < decode_cudagraph_max_bs_;"),
    Mutation("mamba_last_row_stale", PADDING, MAMBA_BUFFERS,
             "copy_window_rows(window, {.count = n, .width = cols},",
             "copy_window_rows(window, {.count = n - 1, .width = cols},"),
    Mutation("mamba_counts_of_batch_before", PADDING, MAMBA_BUFFERS,
             "copy_head(metadata.num_accepted_tokens, n, decode_num_accepted_tokens_);", ""),

    # Chunks of a prompt, and decodes apart from prefills.
    Mutation("grid_ends_at_prompt", SPLIT, ALIGNED,
             "if (end >= inputs.num_tokens) return num_new_tokens;",
             "if (end >= inputs.num_prompt_tokens) return num_new_tokens;"),
    Mutation("later_chunks_not_split", SPLIT, SCHEDULER,
             "num_new_tokens = split(request, num_new_tokens, 0, 0);",
             "num_new_tokens = std::max(num_new_tokens, 0);"),
    Mutation("grid_only_for_prompts", SPLIT, ALIGNED,
             "if (computed >= std::max(inputs.num_prompt_tokens, inputs.num_tokens - 1)) "
             "return num_new_tokens;",
             "if (computed >= std::min(inputs.num_prompt_tokens, inputs.num_tokens - 1)) "
             "return num_new_tokens;",
             behind="mamba_block_aligned_split_on_grid(const"),
    Mutation("admission_over_budget", SPLIT, SCHEDULER,
             "num_new_tokens = std::min(num_new_tokens, token_budget_);", "",
             behind="bool Scheduler::admit"),
    Mutation("split_hit_off_by_one", SPLIT, SCHEDULER,
             ".num_new_local_computed_tokens = hit_tokens,",
             ".num_new_local_computed_tokens = hit_tokens - 1,"),
    Mutation("first_decode_is_prefill", SPLIT, BATCH,
             "if (scheduled.num_computed_tokens < scheduled.num_prompt_tokens) return",
             "if (scheduled.num_computed_tokens <= scheduled.num_prompt_tokens) return"),
    Mutation("known_without_placeholders", SPLIT, BATCH,
             "known = scheduled.num_tokens + scheduled.num_output_placeholders;",
             "known = scheduled.num_tokens;"),
    Mutation("split_tokens_of_next_row", SPLIT, BATCH_SPLIT,
             "common.query_start_loc[static_cast<std::size_t>(first_prefill)];",
             "common.query_start_loc[static_cast<std::size_t>(first_prefill) + 1];"),
    Mutation("gdn_prefills_are_spec_rows", SPLIT, GDN_CLASSES,
             "row_classes[row] <= RowClass::verify);", "row_classes[row] <= RowClass::prefill);"),
    Mutation("v1_verify_rows_not_in_front", SPLIT, V1,
             "if (class_of(scheduled) != RowClass::prefill)",
             "if (class_of(scheduled) == RowClass::decode)"),
    Mutation("v2_decodes_told_by_length", SPLIT, V2,
             "return {input.row_classes[i] == RowClass::prefill, false, query_len};",
             "return {query_len > 1 + input.num_speculative_tokens, false, query_len};"),
    Mutation("window_of_drafts_only", SPLIT, GATHER,
             "const std::int32_t width = 1 + input.config.num_speculative_blocks;",
             "const std::int32_t width = std::max(1, input.config.num_speculative_blocks);"),
    Mutation("initial_state_after_two_tokens", SPLIT, MAMBA_BUILDER,
             "has_initial_states[i] = computed[i] > 0 ? 1 : 0;",
             "has_initial_states[i] = computed[i] > 1 ? 1 : 0;"),
    Mutation("gdn_initial_state_always", SPLIT, GDN_BUILDER,
             "*has_initial_state++ = num_computed_tokens(common, r) > 0 ? 1 : 0;",
             "*has_initial_state++ = num_computed_tokens(common, r) >= 0 ? 1 : 0;"),
    Mutation("prefill_offsets_of_batch", SPLIT, MAMBA_BUILDER,
             "common.query_start_loc[static_cast<std::size_t>(first + i)] - "
             "metadata.num_decode_tokens;",
             "common.query_start_loc[static_cast<std::size_t>(first + i)];"),
    Mutation("prefill_states_of_decodes", SPLIT, MAMBA_BUILDER,
             "copy_window_rows(window, {.first = decodes, .count = prefills, .width = 1}, out);",
             "copy_window_rows(window, {.first = 0, .count = prefills, .width = 1}, out);"),
    Mutation("gdn_token_positions", SPLIT, GDN_BUILDER, "position += len;", "++position;"),
    Mutation("all_mode_column_of_boundary_token", SPLIT, PREFIX_INDICES,
             "return floor_div(n - 1, row.block_size);", "return floor_div(n, row.block_size);"),
    Mutation("chunk_longer_than_row", SPLIT, CHUNKS,
             "if (missing > 0) append(std::min(missing, left));",
             "if (missing > 0) append(missing);"),

    # Rows and slots of the batch, and their tables.
    Mutation("v1_holes_unsorted", ROWS, V1_ROWS,
             "holes_.insert(std::lower_bound(holes_.begin(), holes_.end(), row), row);",
             "holes_.push_back(row);"),
    Mutation("v1_takes_last_hole", ROWS, V1_ROWS,
             "row = holes_.front();", "row = holes_.back();"),
    Mutation("v1_condense_moves_back", ROWS, V1_ROWS,
             "table.move_row(last, hole);", "table.move_row(hole, last);"),
    Mutation("v1_condense_forgets_row", ROWS, V1_ROWS,
             "set_row_of(rows_.back().request, hole);", "set_row_of(rows_.back().request, last);"),
    Mutation("v1_swap_tables_of_first_group", ROWS, V1_ROWS,
             "for (BlockTable& table : tables_) table.swap_row(a, b);",
             "tables_.front().swap_row(a, b);"),
    Mutation("v1_reorder_backwards", ROWS, V1_ROWS,
             "destination[static_cast<std::size_t>(sources[k])] = places[k];",
             "destination[static_cast<std::size_t>(places[k])] = sources[k];"),
    Mutation("swap_as_long_as_first_row", ROWS, BLOCK_TABLE,
             "std::swap_ranges(begin_of(a), begin_of(a) + columns_, begin_of(b));",
             "std::swap_ranges(begin_of(a), begin_of(a) + "
             "num_blocks_per_row_[static_cast<std::size_t>(a)], begin_of(b));"),
    Mutation("move_without_last_block", ROWS, BLOCK_TABLE,
             "std::copy_n(begin_of(from), length, begin_of(to));",
             "std::copy_n(begin_of(from), length - 1, begin_of(to));"),
    Mutation("v1_resumed_keeps_row", ROWS, V1,
             "if (i < 0 || trace.scheduled[static_cast<std::size_t>(i)].admission == "
             "Admission::resumed)",
             "if (i < 0)"),
    Mutation("v1_resumed_keeps_counts", ROWS, V1, "worker = {};", "worker.block_ids.clear();"),
    Mutation("v1_count_by_new_drafts", ROWS, V1,
             "return row.previous_row >= 0 && worker.num_draft_tokens > 0 ?",
             "return row.previous_row >= 0 && scheduled.num_draft_tokens > 0 ?"),
    Mutation("v2_gathers_row_of_row", ROWS, V2_SLOTS,
             "tables_[g].row(idx_mapping[r])", "tables_[g].row(row)"),
    Mutation("v2_slot_keeps_blocks", ROWS, V2,
             "slots_.set_block_ids(slot, group, ids);",
             "slots_.append_block_ids(slot, group, ids);"),
    Mutation("v2_preempted_keeps_slot", ROWS, V2,
             "std::ranges::for_each(trace.preempted, free);", ""),

    # Blocks that are freed, moved or kept.
    Mutation("shared_block_freed", BLOCKS, POOL,
             "if (freed.ref_cnt > 0) continue;", "if (freed.ref_cnt > 1) continue;"),
    Mutation("touch_does_not_count", BLOCKS, POOL, "++touched.ref_cnt;", "touched.ref_cnt = 1;"),
    Mutation("reused_block_keeps_key", BLOCKS, POOL,
             "if (at(block).key.block_hash != 0) drop_key(block, CacheEventKind::evicted);", "",
             behind="BlockPool::get_new_block"),
    Mutation("skips_block_of_last_token", BLOCKS, SINGLE,
             "std::min(skipped_tokens / block_size, edit.table.size());",
             "std::min((skipped_tokens + 1) / block_size, edit.table.size());"),
    Mutation("hit_not_held", BLOCKS, SINGLE,
             "edit.pool.touch(new_computed_blocks[i], edit.owner);", ""),
    Mutation("registers_begun_block", BLOCKS, SINGLE,
             "num_full = num_tokens / parameters.block_size;",
             "num_full = cdiv(num_tokens, parameters.block_size);"),
    Mutation("table_keeps_got_blocks", BLOCKS, SINGLE, "table.got_blocks = false;", ""),
    Mutation("frees_before_acceptance", BLOCKS, MAMBA_MANAGER,
             "std::max(0, num_computed_tokens - config_.num_speculative_blocks);",
             "std::max(0, num_computed_tokens);"),
    Mutation("frees_running_state", BLOCKS, MAMBA_MANAGER,
             "last >= cdiv(computed, block_size) - 1", "last >= cdiv(computed, block_size)"),
    Mutation("frees_last_state_twice", BLOCKS, MAMBA_MANAGER, "edit.set(last, kNullBlock);", ""),
    Mutation("moved_block_stays_behind", BLOCKS, MAMBA_MANAGER,
             "edit.set(first_speculative + i, kNullBlock);", ""),
    Mutation("last_state_is_last_block", BLOCKS, MAMBA_MANAGER,
             "edit.table.last_state_block_idx = before - 1 - spec;",
             "edit.table.last_state_block_idx = before - 1;"),
    Mutation("one_block_for_all_drafts", BLOCKS, MAMBA_MANAGER,
             "num_tokens + std::int64_t{config_.parameters.block_size} * "
             "config_.num_speculative_blocks;",
             "num_tokens + config_.num_speculative_blocks;"),
    Mutation("need_without_evictable", BLOCKS, MAMBA_MANAGER,
             "return fresh + num_evictable_blocks(args.pool, hit);", "return fresh;"),
    Mutation("key_lost_behind_gap", BLOCKS, KEY_MAP,
             "if (distance_from_home < ((i - gap) & mask)) continue;",
             "if (distance_from_home <= ((i - gap) & mask)) continue;"),
    Mutation("preempted_run_counts_on", BLOCKS, SCHEDULER, "++request.run;", ""),
    Mutation("preempted_plan_published", BLOCKS, SCHEDULER, "kv_cache_.withdraw(request.id);", ""),
    Mutation("first_columns_of_wrong_request", BLOCKS, SCHEDULER,
             "output_.first_new_column.begin() + place * groups;",
             "output_.first_new_column.begin() + place;"),
    Mutation("placeholders_of_rejected", BLOCKS, RETURNS,
             "if (request.num_output_placeholders > 0) "
             "request.num_output_placeholders -= rejected;", ""),
    Mutation("frees_under_frame_in_flight", BLOCKS, RETURNS,
             "request.last_frame > num_frames_returned_)",
             "request.last_frame > num_frames_returned_ + 1)"),
)

# Reasons why the matrix does not find these.
MISSED: dict[str, str] = {
    "all_mode_remembers_any_step":
        "the function is the reference's and profile `safe` does not call it: it remembers the "
        "column after every step.",
    "gdn_offsets_end_early":
        "the last padding row ends where a row of an earlier batch did. It has the null block, so "
        "no state is read or written for it, and the checker looks at the offsets of rows that "
        "hold a request.",
    "last_state_is_last_block":
        "with drafts, the state before a chunk that skips columns is held until the request ends. "
        "Nothing wrong is read and all is given back; it would show as a request that never gets "
        "its blocks, in a pool that is just large enough. No rule bounds how many blocks of state "
        "a request may hold.",
    "grid_ends_at_prompt":
        "nothing is wrong in the end: a chunk of a preempted request's answer ends off the grid, "
        "which is a warning, and the branch above lets the next one end at the boundary.",
    "frees_under_frame_in_flight":
        "blocks of a KV consumer are free while a frame in flight still writes them. Later frames "
        "run behind it, so only a connector's writes can go wrong, and they are not modelled "
        "(`hybridscope matrix --list`).",
}


def place(mutation: Mutation, text: str) -> int:
    """Offset of the mutation's line in the file's text; ValueError if it is ambiguous."""
    start = 0
    if mutation.behind:
        if (times := text.count(mutation.behind)) != 1:
            raise ValueError(f"{mutation.name}: {mutation.file} has {mutation.behind!r} {times} "
                             "times (expected once)")
        start = text.index(mutation.behind)
        found = text.find(mutation.before, start)
        if found < 0:
            raise ValueError(f"{mutation.name}: {mutation.file} has no {mutation.before!r} behind "
                             f"{mutation.behind!r}")
        return found
    if (times := text.count(mutation.before)) != 1:
        raise ValueError(f"{mutation.name}: {mutation.file} has {mutation.before!r} {times} times "
                         "(expected once)")
    return text.index(mutation.before)


def mutated(mutation: Mutation, text: str) -> str:
    begin = place(mutation, text)
    return text[:begin] + mutation.after + text[begin + len(mutation.before):]
