// The families of rules that a step is checked by, in the order of their units: check_hits,
// check_batch, check_blocks, check_schedule. step_checker.cpp calls them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

// Rules about blocks that a step takes and copies: hits of the prefix cache, reference counts, and
// copies against their decisions.

// Checks that every block that a hit covers was registered as that prefix, and that attention
// blocks that it covers in part hold it; the state of a mamba group is checked when the row reads
// it. Call before block copies and forward. Requires check_shapes for the groups.
void check_prefix_hits(CheckContext& context);

// Checks that the whole blocks that a hit covers in an attention group hold its prefix, once the
// step has written its keys and values: these may be among them (semantics: attention-slots).
void check_hits_after_the_writes(CheckContext& context, const GroupTrace& group);

// Reference counts of blocks, from event to event and against the tables that hold them.

// A block whose holders or reference count an event changed, and for whom.
struct ChangedBlock {
  std::int32_t block = 0;
  RequestId request{};
  std::int32_t group = -1;
};

// Reports a block that is given out while it has references, and names a request that holds it;
// every touch adds a reference, every free takes one. Requires: the event's block is in the pool.
void check_reference_change(CheckContext& context, const CacheEvent& event);

// Reports counts that are not the columns that hold the block: each block once, for the request
// that changed it last. Sorts `changed`.
void check_reference_counts(CheckContext& context, std::vector<ChangedBlock>& changed);

// Whether the copies of a launch are those that its decisions call for.

// Checks that decisions belong to their rows, and that each one that copies has one copy in every
// mamba group, with its shift and the blocks of its columns in the worker's table
// (semantics: collect-mamba-copy-meta). False: a copy refers to no decision or group; the launch
// may not be executed.
bool check_copies(CheckContext& context, const CopyLaunch& launch);

// Whether the parts of a batch agree with each other: groups, rows, lengths, padding, and the two
// block tables.

// Checks that groups, rows and array sizes allow the forward to be executed, and reports those that
// do not. False: nothing of the step may be executed.
bool check_shapes(CheckContext& context);

// Compares query_start_loc, seq_lens and counts of the batch with its rows, and checks that padding
// rows are null rows. Requires check_shapes.
void check_common_metadata(CheckContext& context);

// Compares the worker's block table with the scheduler's in the columns that a row uses in this
// step: an attention row reads every column up to its last token.
void check_block_tables(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Whether the metadata that a builder made for one mamba group agrees with the batch: sums, rows of
// each kind, token ranges, chunks, and whose accepted counts they are. Each kind of metadata says
// beside its struct what has to agree (core/metadata/builder_metadata.h).

// Checks that the group has metadata, and that every array that a forward reads is present and has
// a row for each row of its kind; reports those that are not. False: the group may not be executed.
bool check_metadata_shapes(CheckContext& context, const GroupTrace& group);

// Also checks that the persistent arrays of a full replay were written by this step's build.
// Requires check_shapes and check_metadata_shapes.
void check_group_metadata(CheckContext& context, const GroupTrace& group);

// What a step did to blocks as a whole: labels of registered blocks against their content, and
// reference counts against block tables.

// Applies cache events to tables, labels and claimed reference counts; blocks that are given out
// are poisoned. Reports blocks whose claimed count is not the number of columns that hold them, and
// registrations that do not fit the column they name.
// `label_history`: of the registered events of mamba groups, as in StepTrace.
void follow_cache_events(CheckContext& context, std::span<const CacheEvent> events,
                         std::span<const Fingerprint> label_history);

// Call after the post-copies: checks the labels that this step registered, and those of registered
// blocks that it wrote to.
void check_labels_of_step(CheckContext& context);

// Checks the labels of the blocks that `events` register, and of the registered blocks among
// `touched` (block ids).
void check_registered_labels(CheckContext& context, std::span<const CacheEvent> events,
                             std::span<const std::int32_t> touched);

// Checks the label of every registered block of the pool, this step's included.
void check_all_labels(CheckContext& context);

// Call after the commit's events: a finished request must hold no block, one that goes on must hold
// some.
void check_finished_requests(CheckContext& context);

// Call when no request is left: no block may be held. Reports leaks.
void check_nothing_held(CheckContext& context);

// Does what the scheduler says of a step agree with the rows, blocks and tokens of the step?

// Reports a request's scheduled tokens, if the metadata of every recurrent group that tells the
// lengths of rows has another number for this one request; and a hit that ends off the hash blocks.
// Runs before the checks of what follows from these. Requires nothing of the trace.
void check_schedule(CheckContext& context);

// What a step may not exceed: the settings that the engine was started with.

// Reports schedule_over_limit: more tokens than the step's budget, more requests than max_num_seqs,
// a request beyond max_model_len (vLLM v1/core/sched/scheduler.py, schedule).
void check_schedule_limits(CheckContext& context);

// Reports graph_not_captured: a replay of a size that was not captured, with rows that the captured
// graph of that size does not have, or one that is too small for the batch
// (semantics: cudagraph-dispatch, cudagraph-dispatch-v2).
void check_replayed_graph(CheckContext& context);

}  // namespace hybridscope
