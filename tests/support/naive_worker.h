// Worker and memory of the naive engine: batch order, append-only block tables, exact computed
// counts, running columns, accepted counts, state copies (docs/semantics/state.md), and the forward
// pass (docs/semantics/forward.md) on symbolic state.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/naive_batch.h"
#include "tests/support/naive_cache.h"
#include "tests/support/naive_prefix_tree.h"
#include "tests/support/naive_scheduler.h"
#include "tests/support/naive_step.h"

namespace hybridscope::test {

// The content of a block; a block without an entry is poison. Values are prefix tree nodes: a
// temporal state is the history it summarises; a conv position or a key/value slot is the history
// that ends with its token (kNaiveZeros before the first token).
struct NaiveBlockContent {
  int temporal = kNaivePoison;
  std::vector<int> conv;       // [W - 1 + K]
  std::vector<int> attention;  // [block size of the group, at most the scheduler's]
  explicit NaiveBlockContent(const NaiveConfig& config);
};

// A scheduled request of one step, as the scheduler decided it; the worker sets the members further
// down.
struct NaiveRow {
  int request = -1;
  int reported_c = 0;
  int q = 0;
  int d = 0;
  bool decode = false;
  bool admitted = false;  // new_block_ids are complete lists
  bool resumed = false;
  std::vector<std::vector<int>> new_block_ids;  // [group] to append, or the complete lists
  std::vector<std::vector<int>> owned_blocks;   // [group] the scheduler's lists

  int c = 0;  // exact; set by NaiveWorker::prepare
  std::optional<int> slot;
  std::optional<int> previous_row;

  int prefix = kNaiveZeros;  // S(c) of the request; set by the engine before NaiveWorker::run
  std::vector<std::uint64_t> inputs;  // [q] token contents, drafts included
  int num_accepted_tokens = 1;        // of this step's sample

  int num_accepted_before = 1;  // set by NaiveWorker::run
  int num_accepted_given = 1;
  int num_accepted_after = 1;
  std::optional<int> source_column;
  int state_column = 0;
};

class NaiveWorker {
 public:
  NaiveWorker(const NaiveConfig& config, NaivePrefixTree& tree);

  void forget(const std::set<int>& blocks);  // makes their content poison
  // Everything before the forward pass (semantics: update-states, v2-step). Rows stay in the
  // scheduler's order.
  void prepare(const NaiveSchedule& schedule, std::vector<NaiveRow>& rows);
  void run(int step, std::vector<NaiveRow>& rows);
  // Checks every registered block against its content.
  void check_labels(int step, const NaiveBlockPool& pool);

  const std::vector<std::vector<int>>& block_table(const NaiveRow& row) const;
  std::vector<int> order;         // [rows] of the last prepare: index in the scheduler's order
  std::vector<NaiveCopy> copies;  // of the last run
  std::vector<NaiveViolation> violations;  // since the engine last took them

 private:
  // Kept for each request (V1) or slot (V2).
  struct Held {
    std::vector<std::vector<int>> block_table;  // [group]
    int num_computed_tokens = 0;                // exact
    std::optional<int> state_column;            // V1: mamba_state_idx; V2: state_idx unless -1
    int num_accepted_tokens = 1;
  };
  // New content of one state, applied after all reads of the launch.
  struct Write {
    int request = -1;
    int group = 0;
    int column = 0;
    std::optional<int> temporal;
    std::map<int, int> conv;  // position -> value
  };
  int width() const { return config_.conv_width - 1; }
  bool v2() const { return config_.runner == NaiveRunner::v2; }
  bool align() const { return config_.mode == NaiveCacheMode::align; }
  Held& held(const NaiveRow& row) { return held_.at(v2() ? *row.slot : row.request); }
  const Held& held(const NaiveRow& row) const { return held_.at(v2() ? *row.slot : row.request); }
  void assign_slots(const NaiveSchedule& schedule, std::vector<NaiveRow>& rows);
  void update_held(NaiveRow& row);
  void order_rows(std::vector<NaiveRow>& rows);
  void pre_copies(std::vector<NaiveRow>& rows);
  int new_column(const NaiveRow& row) const;
  void advance_v1(NaiveRow& row, std::vector<NaiveCopy>& launch);
  void advance_v2(NaiveRow& row, std::vector<NaiveCopy>& launch);
  void count_sampled(const std::vector<NaiveRow>& rows);
  void post_copies(const std::vector<NaiveRow>& rows);
  void run_copies(const std::vector<NaiveCopy>& launch, const std::vector<NaiveRow>& rows);
  void attention_forward(const NaiveRow& row, int group);
  void check_attention(const NaiveRow& row, int group);
  void mamba_forward(const NaiveRow& row, int group, std::vector<Write>& writes);
  int window_column(const NaiveRow& row) const;
  void check_source(const NaiveRow& row, int group, int bias);
  void apply(const std::vector<Write>& writes, const std::vector<NaiveRow>& rows);
  NaiveBlockContent read(int block) const;
  int block_at(const NaiveRow& row, int group, int column) const;
  std::string describe(int node, int expected) const;
  void report(const std::string& rule, int request, const std::string& detail);

  NaiveConfig config_;
  NaivePrefixTree& tree_;
  std::map<int, Held> held_;  // by request (V1) or slot (V2)
  NaiveBatchV1 batch_;
  NaiveSlotsV2 slots_;
  std::set<int> ever_admitted_;
  std::map<int, NaiveBlockContent> memory_;
  std::map<int, int> last_rows_;        // request -> row in the previous step
  std::map<int, NaiveKey> mislabeled_;  // reported blocks, once per registration
  int step_ = 0;
};

}  // namespace hybridscope::test
