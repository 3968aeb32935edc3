// Worker and memory of the naive engine: append-only block tables, running columns, accepted
// counts, state copies (SEMANTICS C5 to C7) and the forward pass (FORWARD.md) on symbolic state.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/naive_cache.h"
#include "tests/support/naive_prefix_tree.h"

namespace hybridscope::test {

// What one block holds; a block without an entry is poison. Values are prefix tree nodes: a
// temporal state is the history it has folded, a conv position the history that ends in its token
// (kNaiveZeros before the first), a key/value slot likewise.
struct NaiveBlockContent {
  int temporal = kNaivePoison;
  std::vector<int> conv;       // [W - 1 + K]
  std::vector<int> attention;  // [block_size]
  explicit NaiveBlockContent(const NaiveConfig& config);
};

// A row of one step, as the scheduler decided it.
struct NaiveRow {
  int request = -1;
  int c = 0;
  int q = 0;
  int d = 0;
  int num_accepted_tokens = 1;  // of this step's sample
  bool decode = false;
  bool replaces_table = false;                  // admitted: block_ids are full lists
  std::vector<std::vector<int>> new_block_ids;  // [group] to append, or the full lists
  std::vector<std::vector<int>> owned_blocks;   // [group] scheduler's lists
  int prefix = kNaiveZeros;                     // S(c) of the request
  std::vector<std::uint64_t> inputs;            // [q] token contents, drafts included
  int state_column = 0;                         // set by the worker
};

class NaiveWorker {
 public:
  NaiveWorker(const NaiveConfig& config, NaivePrefixTree& tree);

  void forget(const std::set<int>& blocks);  // their content becomes poison
  void run(int step, std::vector<NaiveRow>& rows);
  // Every registered block against what it holds.
  void check_labels(int step, const NaiveBlockPool& pool);

  const std::vector<std::vector<int>>& block_table(int request) const;
  std::vector<NaiveCopy> copies;           // of the last run
  std::vector<NaiveViolation> violations;  // since the engine took them

 private:
  struct Request {
    std::vector<std::vector<int>> block_table;  // [group]
    std::optional<int> mamba_state_idx;
    int num_accepted_tokens = 1;
  };
  // New content of one state, written after everything of the launch was read.
  struct Write {
    int request = -1;
    int group = 0;
    int column = 0;
    std::optional<int> temporal;
    std::map<int, int> conv;  // position -> value
  };
  int width() const { return config_.conv_width - 1; }
  void update_tables(const std::vector<NaiveRow>& rows);
  void pre_copies(std::vector<NaiveRow>& rows);
  void post_copies(const std::vector<NaiveRow>& rows);
  void run_copies(const std::vector<NaiveCopy>& launch, const std::vector<NaiveRow>& rows);
  void attention_forward(const NaiveRow& row);
  void check_attention(const NaiveRow& row);
  void mamba_forward(const NaiveRow& row, int group, std::vector<Write>& writes);
  void check_source(const NaiveRow& row, int group, int bias);
  void apply(const std::vector<Write>& writes, const std::vector<NaiveRow>& rows);
  NaiveBlockContent read(int block) const;
  int block_at(const NaiveRow& row, int group, int column) const;
  std::string describe(int node, int expected) const;
  void report(const std::string& rule, int request, const std::string& detail);

  NaiveConfig config_;
  NaivePrefixTree& tree_;
  std::map<int, Request> requests_;
  std::map<int, NaiveBlockContent> memory_;
  std::set<int> last_batch_;            // requests of the previous step
  std::map<int, NaiveKey> mislabeled_;  // reported blocks, once a registration
  int step_ = 0;
};

}  // namespace hybridscope::test
