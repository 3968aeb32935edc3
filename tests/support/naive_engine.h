// The slow oracle: a naive model of one hybrid engine (V1 runner, synchronous scheduling, modes
// align and none, one full-attention group and some mamba groups of one spec) that the real engine
// is property-tested against. It follows FORWARD.md and SEMANTICS C, D, E, F, G, H with lists and
// maps, shares nothing with core/, and proves after every step what every block holds.
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

// The safe rules, one switch each: FORWARD.md conditions 1 to 4. Off is what the reference does.
struct NaiveRules {
  // (1) On: a row is a decode iff its request is past its prompt and exactly one non-draft token is
  // left to compute. Off: iff c >= num_prompt_tokens and q <= 1 + K.
  bool class_by_meaning = true;
  // (2) On: a chunk that does not reach the last known token ends on the block grid, and one that
  // starts off the grid does not cross a boundary. Off: SEMANTICS H1 as it is.
  bool chunks_end_on_grid = true;
  // (3) On: only full attention looks one block further and drops it. Off: SEMANTICS F with all
  // groups eagle groups.
  bool mamba_no_eagle_lookahead = true;
  // (4) On: the accepted count belongs to the request. Off: a request that was not in the previous
  // step's batch starts with count 1.
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
  NaiveRules rules;
  // Content of the output token at index `position` of the request's tokens.
  std::function<std::uint64_t(int request, int position)> output_token;
  // Accepted count (bonus included, 1..d + 1) of a row that starts at c with d drafts.
  std::function<int(int request, int c, int d)> num_accepted;
  // Length of the draft list after a step that left `position` known tokens (0..K).
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
  int num_scheduled_tokens = 0;       // q
  int num_draft_tokens = 0;           // d
  int num_computed_tokens = 0;        // c before the step (the hit, if admitted)
  std::optional<int> num_hit_tokens;  // set iff admitted (new or resumed) in this step
  bool resumed = false;               // admitted again after a preemption or a reset
  bool decode = false;                // row class
  int num_accepted_tokens = 0;        // a of this step's sample; 1 for an unfinished prefill chunk
  int state_column = 0;               // running column r of the mamba groups
  std::vector<std::vector<int>> block_ids;     // [group] scheduler's list after schedule
  std::vector<std::vector<int>> worker_table;  // [group] worker's append-only row
  friend bool operator==(const NaiveScheduled&, const NaiveScheduled&) = default;
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

// Rules: "source_state", "source_conv", "unwritten_read", "attention_read", "label",
// "hit_coverage", "foreign_write".
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
  std::vector<int> preempted;  // by a refused allocation in this step, in order of preemption
  std::vector<int> finished;   // in this step's update, in scheduled order
  std::vector<NaiveCopy> copies;
  std::vector<int> free_queue_after_schedule;  // head = next allocated
  std::vector<int> free_queue;                 // at the end of the step
  std::vector<int> hashed;                     // blocks registered at the end, ascending
  std::vector<int> running;                    // at the end, in order
  std::vector<int> waiting;                    // at the end, in order
  std::vector<NaiveViolation> violations;
  friend bool operator==(const NaiveStep&, const NaiveStep&) = default;
};

// Requests are named by their index in the order of addition. Commands take effect at once, that
// is between two steps; what they preempt is not in NaiveStep::preempted and does not keep the next
// step from admitting.
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

  // `budget`: token budget of this step instead of max_num_batched_tokens.
  NaiveStep step(std::optional<int> budget = std::nullopt);

  int num_requests() const;
  // No request waits or runs.
  bool finished() const;
  int num_computed_tokens(int request) const;
  const std::vector<std::uint64_t>& tokens(int request) const;  // prompt and output so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope::test
