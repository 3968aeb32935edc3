// Scheduler of the naive engine (SEMANTICS H), with the safe aligned split.
#pragma once

#include <deque>
#include <vector>

#include "tests/support/naive_cache.h"

namespace hybridscope::test {

enum class NaiveStatus { waiting, running, preempted, finished };

struct NaiveRequest {
  int id = -1;
  NaiveRequestSpec spec;
  NaiveStatus status = NaiveStatus::waiting;
  std::vector<std::uint64_t> tokens;  // prompt and output so far
  std::vector<int> history;           // [tokens + 1] prefix tree nodes
  int num_computed_tokens = 0;
  int num_draft_tokens = 0;  // length of the list for the next step
  bool is_prefill_chunk = false;

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
  std::vector<std::vector<int>> new_block_ids;  // [group] all of them, if admitted
  NaiveHit hit;                                 // if admitted
};

struct NaiveSchedule {
  std::vector<NaiveScheduledRow> rows;
  std::vector<int> preempted;
};

class NaiveScheduler {
 public:
  NaiveScheduler(const NaiveConfig& config, NaiveCache& cache, std::deque<NaiveRequest>& requests);

  void add(int request);
  NaiveSchedule schedule(int token_budget);
  // Takes a stopped or aborted request out and frees its blocks.
  void finish(int request);
  void preempt(int request);
  bool reset_prefix_cache(bool reset_running_requests);

  std::vector<int> running;
  std::vector<int> waiting;  // head first

 private:
  void schedule_running();
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
  NaiveSchedule out_;
  int budget_ = 0;
};

}  // namespace hybridscope::test
