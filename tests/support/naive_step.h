// What one step of the naive engine decided, ran and took back.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hybridscope::test {

// One scheduled request of a step, in the scheduler's order (running, then admitted).
struct NaiveScheduled {
  int request = -1;
  int run = 0;                      // number of resets that the request went through while running
  int num_scheduled_tokens = 0;     // q
  int num_draft_tokens = 0;         // d
  int num_computed_tokens = 0;      // reported c before the step (the hit, if admitted): optimistic
  int num_tokens = 0;               // known tokens
  int num_output_placeholders = 0;  // before this frame's
  bool discarded = false;           // an unfinished prefill chunk: its sample is dropped
  // Set iff the request was admitted (new or resumed) in this step.
  std::optional<int> num_hit_tokens;
  bool resumed = false;         // admitted again after a preemption or a reset
  bool decode = false;          // row class
  int num_accepted_tokens = 0;  // a of this step's sample; 1 for an unfinished prefill chunk
  int state_column = 0;         // running column r of the mamba groups
  // [group] reported: the ids to append; if admitted, all ids.
  std::vector<std::vector<int>> new_block_ids;
  std::vector<std::vector<int>> block_ids;     // [group] the scheduler's list after the schedule
  std::vector<std::vector<int>> worker_table;  // [group] the worker's append-only row
  friend bool operator==(const NaiveScheduled&, const NaiveScheduled&) = default;
};

// One row of the step's batch, in the worker's order.
struct NaiveBatchRow {
  int request = -1;
  int scheduled = -1;               // index into NaiveStep::scheduled
  std::optional<int> slot;          // V2: idx_mapping[row]
  std::optional<int> previous_row;  // row in the previous frame, unless it has left the batch since
  int num_computed_tokens = 0;      // exact c
  int num_accepted_before = 1;      // the worker's count before the pre-copy
  int num_accepted_given = 1;       // the count given to the builders, after the pre-copy
  int num_accepted_after = 1;       // the count kept for the next step, after the post-copy
  std::optional<int> source_column;  // mode align: running column before the step, if any
  int state_column = 0;              // running column r of this step; mode none: 0
  friend bool operator==(const NaiveBatchRow&, const NaiveBatchRow&) = default;
};

enum class NaiveCopyKind { pre, post };

// A decided copy; every mamba group carries it out (semantics: collect-mamba-copy-meta).
struct NaiveCopy {
  NaiveCopyKind kind = NaiveCopyKind::pre;
  int request = -1;
  int src_column = 0;
  int dst_column = 0;
  int bias = 0;  // pre-copy: accepted count - 1; post-copy: tokens up to the boundary
  friend bool operator==(const NaiveCopy&, const NaiveCopy&) = default;
};

// What happened to a row when its frame returned.
enum class NaiveReturn {
  taken,      // tokens appended
  discarded,  // an unfinished prefill chunk
  left,       // the request has finished or was aborted meanwhile
  stale,      // the request was reset meanwhile
};

// One row of the returned frame, in scheduled order, after its update.
struct NaiveCommitted {
  int request = -1;
  NaiveReturn result = NaiveReturn::taken;
  int num_appended_tokens = 0;
  int num_rejected_tokens = 0;
  int num_computed_tokens = 0;      // scheduler's c: optimistic
  int num_tokens = 0;               // known tokens
  int num_output_placeholders = 0;  // still in flight
  bool finished = false;            // by this update
  friend bool operator==(const NaiveCommitted&, const NaiveCommitted&) = default;
};

// Rules: "source_state", "source_conv", "unwritten_read", "attention_read", "label",
// "hit_coverage", "foreign_write", "exact_c" (reported minus exact c is not the number of tokens
// that the frame in flight rejected).
struct NaiveViolation {
  int step = 0;
  std::string rule;
  int request = -1;  // -1: no request in particular
  std::string detail;
  friend bool operator==(const NaiveViolation&, const NaiveViolation&) = default;
};

struct NaiveStep {
  int step = 0;  // 0, 1, ...
  std::vector<NaiveScheduled> scheduled;
  std::vector<NaiveBatchRow> rows;
  std::vector<int> preempted;     // by a refused allocation in this step, in order of preemption
  std::vector<NaiveCopy> copies;  // pre-copies, then post-copies, each in scheduled order
  std::vector<int> free_queue_after_schedule;  // head = next allocated
  std::vector<int> hashed_after_schedule;      // registered blocks, ascending
  std::optional<int> committed_frame;  // step whose frame returned; none: no frame was in flight
  std::vector<NaiveCommitted> committed;
  std::vector<int> finished;    // in this step's update, in scheduled order
  std::vector<int> free_queue;  // at the end of the step
  std::vector<int> hashed;      // registered blocks at the end, ascending
  std::vector<int> running;     // at the end, in order
  std::vector<int> waiting;     // at the end, in order
  std::vector<NaiveViolation> violations;
  friend bool operator==(const NaiveStep&, const NaiveStep&) = default;
};

}  // namespace hybridscope::test
