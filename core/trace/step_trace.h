// Everything one step decided, as plain values; the type that all parts of the program exchange.
// The engine fills it phase by phase and reuses it; copy what has to outlive the step. Views
// (TensorView, span) point into the engine and stay valid until its next step.
//
// A step is one turn of the engine: frame number `step` is scheduled, prepared, executed and
// sampled; then frame number `committed_step` returns to the scheduler. With synchronous scheduling
// both are the same frame; with asynchronous scheduling the previous frame returns, so a step's
// frame is scheduled before it is known what the previous frame accepted (semantics: frame-phases).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/base/tensor_view.h"
#include "core/caching/cache_events.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/copy_launch.h"

namespace hybridscope {

// What one call of the scheduler decided, as values for the step's trace.

// How a request came into a step.
enum class Admission : std::uint8_t {
  running,      // it was running already
  new_request,  // admitted for the first time
  resumed,      // admitted again after a preemption
};

// Why a request got no tokens in a step.
enum class SkipReason : std::uint8_t {
  no_token_budget,         // too little of the budget is left
  split_to_zero,           // mode align: the tokens that it could get reach no block boundary
  max_model_len,           // what it would run does not fit below max_model_len, or it has nothing
  chunked_prefill_off,     // the prompt does not fit the budget as a whole
  allocation_refused,      // too few free blocks, or a hit block is written in this very step
  max_num_seqs,            // max_num_seqs requests already run
  behind_refused_request,  // an earlier waiting request was refused
  preemption_in_step,      // a step that preempts a request admits none
  ends_in_flight,          // a frame in flight returns its last token even if no draft is accepted
  frees_deferred,          // blocks that were freed are not in the pool yet
  frame_in_flight,         // preempted while a frame was in flight, which has to return first
};

struct SkippedRequest {
  RequestId request{};
  SkipReason reason = SkipReason::no_token_budget;
};

// What limited the tokens that the scheduler could give a request in a step, in the order in which
// it applies the limits. Only for requests that it got as far as counting tokens for.
struct TokenTerms {
  RequestId request{};
  std::int32_t budget_left = 0;        // of the step, for this request; a drafter's slots taken off
  std::int32_t prefill_threshold = 0;  // long_prefill_token_threshold; 0: it does not cut here
  std::int32_t shared_prefix_boundary = 0;  // AlignedSplitInputs::shared_prefix_boundary
  std::int32_t num_computed_tokens = 0;     // c before the step, or the hit of an admission
  std::int32_t num_new_tokens = 0;          // that the aligned split was asked about
  friend bool operator==(const TokenTerms&, const TokenTerms&) = default;
};

// What the scheduler did with a row of a frame that returned.
enum class CommitOutcome : std::uint8_t {
  taken,            // rejected drafts taken back, tokens appended
  chunk,            // an unfinished prefill chunk: nothing to append
  preempted,        // preempted since it was scheduled: tokens, if any, count; the state is gone
  stale_run,        // reset since it was scheduled: its tokens are dropped
  left_the_engine,  // finished or aborted since it was scheduled
};

// One prefix-cache lookup of a waiting request.
struct AdmissionLookup {
  RequestId request{};
  std::int32_t num_hit_tokens = 0;
  bool admitted = false;
  LookupExplanation explanation;
};

// Widest convolution kernel the trace has room for.
inline constexpr std::int32_t kMaxConvKernel = 8;

// How a row came to its position in the persistent batch.
enum class RowOrigin : std::uint8_t {
  kept,      // same row as in the step before
  moved,     // condensed into a hole or swapped
  added,     // new or resumed
  returned,  // ran before, but not in the step before
};

// One request's part in the step, decided at schedule. With a frame in flight the scheduler assumes
// that all its drafts are accepted: c is then optimistic, while RowTrace has the exact c
// (semantics: optimistic-and-exact).
struct ScheduledTrace {
  RequestId request{};
  Admission admission = Admission::running;
  std::int32_t run = 0;                   // how often it had been preempted
  std::int32_t num_computed_tokens = 0;   // c as reported to the worker, before the step
  std::int32_t num_scheduled_tokens = 0;  // q
  std::int32_t num_draft_tokens = 0;      // d, among q
  std::int32_t num_drafts_offered = 0;    // length of its draft list before cutting
  std::int32_t num_tokens = 0;            // known: prompt and generated tokens that have returned
  std::int32_t num_output_placeholders = 0;  // tokens of frames in flight, before this frame's own
  std::int32_t num_prompt_tokens = 0;
  // With all its output, in the trace of another engine; 0: not known. Not recorded.
  std::int32_t max_num_tokens = 0;
  bool placeholder_drafts = false;  // a padded one-token prompt: its drafts are -1
  std::int32_t num_hit_tokens = 0;  // admitted: served by the prefix cache
  // The chunk stores the state after so many tokens on its way (0: none), in this column
  // (semantics: prefill-checkpoint). Not recorded.
  std::int32_t checkpoint_position = 0;
  std::int32_t checkpoint_column = -1;

  // Does the row reach the last known or in-flight token, so that its sample counts?
  bool samples() const {
    return num_computed_tokens + num_scheduled_tokens >= num_tokens + num_output_placeholders;
  }
};

// One row of the batch, decided at prepare; the last members are known after sampling.
struct RowTrace {
  RequestId request{};
  std::int32_t scheduled = -1;           // index into StepTrace::scheduled
  std::int32_t slot = -1;                // V2: idx_mapping of the row
  RequestId slot_owner{};                // V2: whose slot that is; not recorded
  std::int32_t num_computed_tokens = 0;  // exact c, before the step
  std::int32_t previous_row = -1;        // in the step before, -1: none
  RowOrigin origin = RowOrigin::kept;
  RowClass row_class = RowClass::prefill;
  bool is_prefilling = false;  // as given to the builders (semantics: is-prefilling)
  std::int32_t num_accepted_tokens_before = 1;  // count at the start of the step, before pre-copies
  std::int32_t num_accepted_tokens = 1;         // a, as given to the builders, after pre-copies
  RequestId accepted_from{};                    // the request this count was taken from
  std::int32_t num_draft_count = -1;            // num_decode_draft_tokens of the row
  bool lost_drafts = false;  // no row in the step before, so its draft ids are -1 (known bug 53)
  // history[i]: fingerprint of the prefix that ends at token number c - (conv_kernel - 2) + i;
  // 0 before the first token; the last one is F(c).
  std::array<Fingerprint, kMaxConvKernel> history{};
  // The member below is filled after sampling.
  std::int32_t num_sampled_tokens = 0;  // a of this step, bonus token included; 0: discarded
};

// Where keys and values of a row's tokens go: a run of slots in one block (slot_mapping, run by
// run).
struct AttentionWrite {
  std::int32_t row = -1;
  std::int32_t column = 0;
  std::int32_t block = 0;
  std::int32_t first_slot = 0;  // within the block
  std::int32_t num_slots = 0;
  std::int32_t first_token = 0;  // within the row
};

// One KV-cache group's metadata of the step.
struct GroupTrace {
  std::int32_t group = -1;
  bool is_mamba = false;
  std::int32_t block_size = 0;
  std::vector<AttentionWrite> attention_writes;  // attention groups
  std::optional<BuilderMetadata> metadata;       // mamba groups
  bool accepted_counts_given = true;             // the builder was given each row's accepted count
  bool reused_metadata = false;                  // through update_block_table
  // What a replayed graph reads of the group, and the step whose build wrote it last (0: only the
  // capture did).
  std::span<const std::string_view> replayed_arrays{};
  std::int64_t persistent_buffers_step = 0;
  TensorView<std::int32_t> block_table;  // [num_reqs, columns], the worker's
  // Mode all with drafts: columns that decode rows read from; absent:
  // block_idx_last_computed_token.
  TensorView<std::int32_t> temporal_source_column;  // [num_decodes]
  TensorView<std::int32_t> conv_source_column;      // [num_decodes]
};

struct StepTrace;

// What the kernels of a mamba group are given besides its metadata.
ForwardContext forward_context(const StepTrace& trace, const GroupTrace& group,
                               MambaCacheMode mamba_cache_mode);

// What became of a request that was scheduled in the frame that returned, decided at commit.
struct CommitTrace {
  RequestId request{};
  CommitOutcome outcome = CommitOutcome::taken;
  std::int32_t num_computed_tokens = 0;      // after the commit, counting drafts in flight
  std::int32_t num_tokens = 0;               // after the commit
  std::int32_t num_output_placeholders = 0;  // after the commit: tokens of frames in flight
  std::int32_t num_appended_tokens = 0;      // output tokens it added
  // How many of the appended tokens the scheduler of another engine turned out not to have. Not
  // recorded.
  std::int32_t num_lost_tokens = 0;
  std::int32_t num_drafts_next = 0;  // length of the draft list for the next step
  bool finished = false;
};

enum class CommandKind : std::uint8_t {
  add_request,
  preempt,
  abort,
  reset_prefix_cache,
  set_step_budget,
  set_accepted_tokens,
  set_draft_tokens,
  set_policies,
};

enum class CommandOutcome : std::uint8_t { done, ignored };

// Why a command was ignored.
enum class IgnoredReason : std::uint8_t {
  none,                  // not ignored
  not_running,           // nothing to preempt
  has_finished,          // the request is gone
  drafts_planned_ahead,  // asynchronous: draft lists are planned before drafts are known
  no_draft_list,         // the request is not past its prompt
  samples_nothing,       // the request samples nothing in this step
  no_drafts_to_accept,   // a padded one-token prompt: its drafts are -1
  count_out_of_range,    // outside 1..1+drafts of this step: cut to that range
  blocks_in_use,         // the prefix cache cannot be reset
  frees_deferred,        // same: frames in flight with a consuming KV connector
};

// A phrase, not a sentence; empty for `none`.
std::string_view ignored_reason_words(IgnoredReason reason);

// A command that was applied before the step was scheduled.
struct CommandTrace {
  CommandKind command = CommandKind::add_request;
  RequestId request{};
  std::int64_t value = 0;  // prompt tokens, budget, count, 1 for a reset with running requests
  CommandOutcome outcome = CommandOutcome::done;
  IgnoredReason reason = IgnoredReason::none;
};

// One element per group, with the fields that never change filled in.
std::vector<GroupTrace> make_group_traces(const KVCacheConfig& config);

// Kernel behaviour in which engines have differed (core/engine/kernel_policies.h: SameBlockShift,
// GdnGates, ConvRoll, ConvBoundaries, KdaGateStride, NullRows); the defaults are correct.
struct KernelVariants {
  bool shifts_last_position_first = false;  // conv windows within one block
  bool gates_in_batch_order = false;        // of GDN's spec tokens in a mixed batch
  bool rolls_conv_by_window = false;        // verify rows, as if they had 1 + K tokens
  bool stores_boundaries_by_piece = false;  // conv windows of prompt rows, mode all
  bool steps_kda_gates_by_head = false;     // of verify rows
  bool runs_null_rows = false;              // padding rows of decodes
  bool varies_post_copies = false;          // decided or carried out otherwise than by core/state
  friend bool operator==(const KernelVariants&, const KernelVariants&) = default;
};

// A row of a dummy run (core/engine/dummy_run.h) that names a block where the null block belongs.
struct DummyRow {
  std::int32_t row = -1;  // in the dummy batch
  std::int32_t group = -1;
  std::int32_t block = 0;  // in column 0 of its block table
  friend bool operator==(const DummyRow&, const DummyRow&) = default;
};

struct StepTrace {
  std::int64_t step = 0;            // number of the frame, from 1
  std::int64_t committed_step = 0;  // of the frame that returned in this step; 0: none did
  std::int64_t time_us = 0;         // when it starts
  std::int64_t duration_us = 0;

  // Decided at schedule.
  std::vector<CommandTrace> commands;
  std::int32_t token_budget = 0;
  bool budget_overridden = false;
  std::int32_t num_scheduled_tokens = 0;  // T
  std::vector<ScheduledTrace> scheduled;  // running in queue order, then admitted
  std::vector<SkippedRequest> skipped;
  // A request that was preempted later in the step has terms too. Empty in the trace of another
  // engine and in recordings of earlier programs.
  std::vector<TokenTerms> token_terms;
  std::vector<AdmissionLookup> lookups;
  std::vector<RequestId> preempted;
  std::vector<CacheEvent> cache_events;  // up to the end of schedule, in order
  std::vector<Fingerprint> hit_hashes;   // fingerprint at each hash block end of each hit, in order
  // [conv_kernel - 1] elements per registered event of a mamba group, in event order: fingerprints
  // of the last tokens of the prefix that the block stands for.
  std::vector<Fingerprint> label_history;
  // Filled with zeros after they were given out and before anything else touches them
  // (SchedulerOutput.new_block_ids_to_zero of another engine). Not recorded.
  std::vector<std::int32_t> zeroed_blocks;
  std::int32_t num_running = 0;  // after schedule
  std::int32_t num_waiting = 0;
  std::int32_t num_free_blocks = 0;

  // Decided at prepare.
  std::vector<RowTrace> rows;        // [num_reqs] real rows; padding rows are not listed
  CommonAttentionMetadata common;    // without a block table
  std::vector<TokenContent> tokens;  // [T] row r: [query_start_loc[r], query_start_loc[r+1])
  CudagraphDispatch graph;
  KernelVariants kernels;
  bool uniform_decode = false;
  std::vector<GroupTrace> groups;  // [num_groups]
  CopyLaunch pre_copies;
  std::vector<DummyRow> dummy_rows;  // only in a step without rows; ordered by group

  // Known after sample.
  CopyLaunch post_copies;

  // Decided at commit, about frame committed_step.
  std::vector<CommitTrace> committed;             // [scheduled] of that frame
  std::vector<CacheEvent> commit_events;          // registrations; frees of finished requests
  std::vector<Fingerprint> commit_label_history;  // as label_history, for commit_events
  std::int32_t num_unfinished = 0;                // requests that are not finished after the step
  std::int32_t num_pending_commands = 0;          // queued for a later step

  std::span<const Fingerprint> history_of(const RowTrace& row, std::int32_t conv_kernel) const {
    return std::span(row.history).first(static_cast<std::size_t>(conv_kernel - 1));
  }
  const ScheduledTrace& scheduled_of(const RowTrace& row) const {
    return scheduled[static_cast<std::size_t>(row.scheduled)];
  }
  // What limited the request's tokens; null: not known.
  const TokenTerms* token_terms_of(RequestId request) const;
  // Empties the trace and keeps its storage.
  void clear();
};

// How much of a sequence the copy of a whole block stands for (semantics: copy-on-write).

// Tokens of the prefix with which the copied content ends: the hit of an admitted request, or the
// prompt's tail whose keys move to the copy of a running one; 0: not known.
std::int32_t copied_tokens(const StepTrace& trace, const BlockCopy& copy);

}  // namespace hybridscope
