// The scheduler of the naive engine (docs/semantics/caching.md, "Scheduler", and runner.md, "Frames
// in flight"), with the safe aligned split.
#pragma once

#include <deque>
#include <vector>

#include "tests/support/naive_cache.h"
#include "tests/support/naive_prefix_tree.h"
#include "tests/support/naive_step.h"

namespace hybridscope::test {

enum class NaiveStatus { waiting, running, preempted, finished };

struct NaiveRequest {
  int id = -1;
  NaiveRequestSpec spec;
  NaiveStatus status = NaiveStatus::waiting;
  std::vector<std::uint64_t> tokens;  // prompt and output so far
  std::vector<int> history;           // [tokens + 1] prefix tree nodes
  int num_computed_tokens = 0;
  int num_draft_tokens = 0;         // length of the list for the next step
  int num_output_placeholders = 0;  // asynchronous: tokens of the frame in flight
  int num_prefill_tokens = 0;       // V2 prefill_len: known tokens at admission
  int run = 0;  // number of resets while running; frames of older runs are stale

  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_prompt_tokens() const { return static_cast<int>(spec.prompt.size()); }
};

struct NaiveScheduledRow {
  int request = -1;
  int c = 0;
  int q = 0;
  int d = 0;
  bool admitted = false;
  bool resumed = false;
  int run = 0;
  int num_tokens = 0;                           // known tokens
  int num_output_placeholders = 0;              // before this frame's
  bool discarded = false;                       // an unfinished prefill chunk
  std::vector<std::vector<int>> new_block_ids;  // [group] all block ids, if admitted
  NaiveHit hit;                                 // if admitted
};

struct NaiveSchedule {
  std::vector<NaiveScheduledRow> rows;
  std::vector<int> preempted;
  // Since the previous schedule. The worker forgets what it holds for these requests.
  std::vector<int> finished_req_ids;
  std::vector<int> preempted_req_ids;  // by commands, then by this schedule
};

// What the scheduler learns about a row when its frame returns.
struct NaiveReturnedRow {
  int request = -1;
  int run = 0;
  int d = 0;
  int num_accepted_tokens = 1;
  bool discarded = false;
};

class NaiveScheduler {
 public:
  NaiveScheduler(const NaiveConfig& config, NaiveCache& cache, std::deque<NaiveRequest>& requests,
                 NaivePrefixTree& tree);

  void add(int request);
  NaiveSchedule schedule(int token_budget);
  // The update for one row of a returned frame (semantics: update-from-output,
  // update-from-output-async).
  NaiveCommitted commit(const NaiveReturnedRow& row);
  // Appends one token to the request.
  void append(NaiveRequest& request, std::uint64_t token);
  // Removes a stopped or aborted request and frees its blocks.
  void finish(int request);
  void preempt(int request);
  bool reset_prefix_cache(bool reset_running_requests);

  std::vector<int> running;
  std::vector<int> waiting;  // head first

 private:
  void schedule_running();
  void after_schedule(NaiveScheduledRow& row);
  bool needs_no_more_steps(const NaiveRequest& request) const;
  void roll_back(NaiveRequest& request, int num_rejected);
  bool append_outputs(NaiveRequest& request, int count, NaiveCommitted& result);
  void schedule_waiting();
  bool admit(int request);
  bool allocate_or_preempt(NaiveScheduledRow& row, std::size_t& index);
  int victim() const;
  int split(const NaiveRequest& request, int hit, int uncached, int num_new_tokens) const;
  int reference_split(const NaiveRequest& request, int computed, int uncached,
                      int num_new_tokens) const;
  int clip_to_threshold(int num_new_tokens) const;
  bool before(int a, int b) const;
  void push_waiting(int request, bool front);
  NaiveRequest& get(int request) { return requests_.at(static_cast<std::size_t>(request)); }
  const NaiveRequest& get(int request) const {
    return requests_.at(static_cast<std::size_t>(request));
  }

  NaiveConfig config_;
  NaiveCache& cache_;
  std::deque<NaiveRequest>& requests_;
  NaivePrefixTree& tree_;
  std::vector<int> finished_req_ids_;   // not yet reported
  std::vector<int> preempted_req_ids_;  // not yet reported
  NaiveSchedule out_;
  int budget_ = 0;
};

}  // namespace hybridscope::test
