// The slow oracle: a naive model of one hybrid engine (runners V1 and V2, synchronous and
// asynchronous scheduling, modes align and none, one full-attention group and some mamba groups of
// one spec) that the real engine is property-tested against. It follows FORWARD.md, SEMANTICS C to
// H and RUNNER 1, 2, 5, 6, 8 with lists and maps, shares nothing with core/, and proves after every
// step what every block holds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hybridscope::test {

enum class NaiveCacheMode { none, align };
enum class NaivePolicy { fcfs, priority };
enum class NaiveRunner { v1, v2 };

// The safe rules, one switch each: FORWARD.md conditions 1 to 4. Off is what the reference does.
struct NaiveRules {
  // (1) On: a row is a decode iff its request is past its prompt and exactly one non-draft token is
  // left to compute. Off: iff c >= num_prompt_tokens (V2: the tokens known at admission) and
  // q <= 1 + K.
  bool class_by_meaning = true;
  // (2) On: a chunk that does not reach the last known token ends on the block grid, and one that
  // starts off the grid does not cross a boundary. Off: SEMANTICS H1 as it is.
  bool chunks_end_on_grid = true;
  // (3) On: only full attention looks one block further and drops it. Off: SEMANTICS F with all
  // groups eagle groups.
  bool mamba_no_eagle_lookahead = true;
  // (4) On: the accepted count belongs to the request. Off: a request that was not in the previous
  // step's batch starts with count 1 (V1 only: a V2 slot forgets nothing).
  bool count_survives_skipped_step = true;
  // A hit whose mamba block was registered in this very step makes the request wait (KNOWN_BUGS 43;
  // the reference does so too).
  bool planned_state_hit_waits = true;
  // The same for an attention block. The reference does not wait: attention layers run in order,
  // so reading keys and values that the same launch writes is right.
  bool planned_attention_hit_waits = true;
  // Blocks registered in this step by a request that is preempted in the same step lose their hash
  // (KNOWN_BUGS 49). Off: they stay hittable, never written.
  bool withdraw_planned = true;
  // V2: decode rows stand before all others. Off: rows are sorted by q alone, and whatever stands
  // behind a prefill row runs as one (KNOWN_BUGS 12).
  bool decode_rows_first = true;
  // Columns and copies follow the exact count. Off: the reported one (KNOWN_BUGS 44).
  bool column_follows_exact_count = true;
  // A frame that returns for a request that was reset since it was scheduled changes nothing
  // (KNOWN_BUGS 17). Off: its rejections are taken from the new run's c, its tokens are dropped.
  bool stale_frame_changes_nothing = true;
};

struct NaiveConfig {
  NaiveCacheMode mode = NaiveCacheMode::align;  // none: caching off, 1 + K mamba blocks a request
  int block_size = 8;                           // B of attention, and of mamba in align
  int num_blocks = 64;                          // block 0 is the null block
  int num_mamba_groups = 1;                     // G; groups are attention 0, mamba 1..G
  int num_speculative_tokens = 0;               // K; align needs K + 1 <= B
  bool use_eagle = false;                       // mtp: lookahead K, eagle hit and split rules
  int conv_width = 4;                           // W; conv blocks hold W - 1 + K positions
  int max_model_len = 64;
  int max_num_seqs = 4;
  int max_num_batched_tokens = 64;
  int long_prefill_token_threshold = 0;  // 0: off
  bool full_sequence_must_fit = false;   // admit only what fits as a whole (reserve_full_isl)
  bool enable_chunked_prefill = true;
  double watermark = 0.0;  // fraction of blocks kept free when others run
  NaivePolicy policy = NaivePolicy::fcfs;
  // RUNNER 6, one frame in flight: a frame returns after the next one has run.
  bool async_scheduling = false;
  NaiveRunner runner = NaiveRunner::v1;
  NaiveRules rules;
  // Content of the output token at index `position` of the request's tokens.
  std::function<std::uint64_t(int request, int position)> output_token;
  // Accepted count (bonus included, 1..d + 1) of a row that starts at exact c with d drafts.
  std::function<int(int request, int c, int d)> num_accepted;
  // Length of the draft list after a step that left `position` known tokens (0..K). Synchronous
  // only: asynchronous scheduling always writes K placeholders.
  std::function<int(int request, int position)> num_drafts;
};

struct NaiveRequestSpec {
  std::vector<std::uint64_t> prompt;  // token contents, at least one
  int max_tokens = 1;                 // output tokens after which the request ends
  int priority = 0;                   // smaller is more important
  std::int64_t arrival = 0;           // ties: order of addition
  std::uint64_t cache_salt = 0;       // unequal salts never share
};

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
  std::optional<int> num_hit_tokens;  // set iff admitted (new or resumed) in this step
  bool resumed = false;               // admitted again after a preemption or a reset
  bool decode = false;                // row class
  int num_accepted_tokens = 0;        // a of this step's sample; 1 for an unfinished prefill chunk
  int state_column = 0;               // running column r of the mamba groups
  std::vector<std::vector<int>> new_block_ids;  // [group] reported: to append; all, if admitted
  std::vector<std::vector<int>> block_ids;      // [group] scheduler's list after schedule
  std::vector<std::vector<int>> worker_table;   // [group] worker's append-only row
  friend bool operator==(const NaiveScheduled&, const NaiveScheduled&) = default;
};

// One row of the step's batch, in the worker's order.
struct NaiveBatchRow {
  int request = -1;
  int scheduled = -1;                // index into NaiveStep::scheduled
  std::optional<int> slot;           // V2: idx_mapping[row]
  std::optional<int> previous_row;   // row in the frame before, unless it left the batch since
  int num_computed_tokens = 0;       // exact c
  int num_accepted_before = 1;       // count the worker holds before the pre-copy
  int num_accepted_given = 1;        // count given to the builders: after the pre-copy
  int num_accepted_after = 1;        // count kept for the next step: after the post-copy
  std::optional<int> source_column;  // mode align: running column before the step, if any
  int state_column = 0;              // running column r of this step; mode none: 0
  friend bool operator==(const NaiveBatchRow&, const NaiveBatchRow&) = default;
};

enum class NaiveCopyKind { pre, post };

// One decided copy; it is carried out in every mamba group (SEMANTICS C3).
struct NaiveCopy {
  NaiveCopyKind kind = NaiveCopyKind::pre;
  int request = -1;
  int src_column = 0;
  int dst_column = 0;
  int bias = 0;  // accepted count - 1 (pre), tokens up to the boundary (post)
  friend bool operator==(const NaiveCopy&, const NaiveCopy&) = default;
};

// What became of a row when its frame returned.
enum class NaiveReturn {
  taken,      // tokens appended
  discarded,  // an unfinished prefill chunk
  left,       // the request has finished or was aborted since
  stale,      // the request was reset since
};

// One row of the frame that returned, in scheduled order, after its update.
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
// "hit_coverage", "foreign_write", "exact_c" (reported minus exact c is not what the frame in
// flight rejected).
struct NaiveViolation {
  int step = 0;
  std::string rule;
  int request = -1;  // -1: none in particular
  std::string detail;
  friend bool operator==(const NaiveViolation&, const NaiveViolation&) = default;
};

struct NaiveStep {
  int step = 0;  // 0, 1, ...
  std::vector<NaiveScheduled> scheduled;
  std::vector<NaiveBatchRow> rows;
  std::vector<int> preempted;     // by a refused allocation in this step, in order of preemption
  std::vector<NaiveCopy> copies;  // pre, then post, each in scheduled order
  std::vector<int> free_queue_after_schedule;  // head = next allocated
  std::vector<int> hashed_after_schedule;      // blocks registered then, ascending
  std::optional<int> committed_frame;          // step whose frame returned; none: nothing in flight
  std::vector<NaiveCommitted> committed;
  std::vector<int> finished;    // in this step's update, in scheduled order
  std::vector<int> free_queue;  // at the end of the step
  std::vector<int> hashed;      // blocks registered at the end, ascending
  std::vector<int> running;     // at the end, in order
  std::vector<int> waiting;     // at the end, in order
  std::vector<NaiveViolation> violations;
  friend bool operator==(const NaiveStep&, const NaiveStep&) = default;
};

// Requests are named by their index in the order of addition. Commands take effect at once, that
// is between two steps; what they preempt is not in NaiveStep::preempted and does not keep the next
// step from admitting (but a head of the waiting queue whose frame is in flight does).
class NaiveEngine {
 public:
  // Throws std::invalid_argument for K >= B in align, or missing functions.
  explicit NaiveEngine(NaiveConfig config);
  ~NaiveEngine();
  NaiveEngine(NaiveEngine&&) noexcept;
  NaiveEngine& operator=(NaiveEngine&&) noexcept;

  int add_request(NaiveRequestSpec spec);
  // False (nothing happens) when the request does not run.
  bool preempt(int request);
  // Nothing happens when it already finished.
  void abort(int request);
  // True unless blocks are held.
  bool reset_prefix_cache(bool reset_running_requests);

  // One turn: schedules frame n, runs it, samples, and takes back frame n (synchronous) or n - 1
  // (asynchronous). `budget`: token budget of this step instead of max_num_batched_tokens.
  NaiveStep step(std::optional<int> budget = std::nullopt);

  int num_requests() const;
  // No request waits or runs.
  bool finished() const;
  int num_computed_tokens(int request) const;  // scheduler's: optimistic
  int num_output_placeholders(int request) const;
  const std::vector<std::uint64_t>& tokens(int request) const;  // prompt and output so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope::test
