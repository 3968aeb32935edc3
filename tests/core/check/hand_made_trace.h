// A StepTrace written by hand, as another engine's trace might arrive: attention group 0 and mamba1
// group 1, blocks of 8 tokens, mode align, no speculation. Nothing here knows core/engine.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/check/check_context.h"
#include "core/check/step_checker.h"
#include "core/check/symbolic_state.h"

namespace hybridscope::test {

// One row of a step: request, tokens, and the block lists of its two groups.
struct HandMadeRow {
  std::int32_t request = 0;
  std::int32_t computed = 0;
  std::int32_t query = 1;
  std::int32_t known = 0;  // prompt and generated tokens before the step
  Admission admission = Admission::running;
  std::int32_t hit = 0;
  std::vector<std::int32_t> attention_blocks{};
  std::vector<std::int32_t> mamba_blocks{};
};

class HandMadeTrace {
 public:
  explicit HandMadeTrace(std::int64_t step);
  HandMadeTrace(HandMadeTrace&&) = default;  // a copy's views would still point here
  HandMadeTrace(const HandMadeTrace&) = delete;

  // Rows: decode rows (one token, computed == known - 1) first.
  HandMadeTrace& rows(const std::vector<HandMadeRow>& rows);
  // Allocates block `block` for the column.
  HandMadeTrace& allocate(std::int32_t request, std::int32_t group, std::int32_t column,
                          std::int32_t block);
  // Puts a cached block into the column of another request.
  HandMadeTrace& share(std::int32_t request, std::int32_t group, std::int32_t column,
                       std::int32_t block);
  // An empty column.
  HandMadeTrace& null_column(std::int32_t request, std::int32_t group, std::int32_t column);
  // Registers the block in the column as the request's prefix that ends with it.
  HandMadeTrace& register_block(std::int32_t request, std::int32_t group, std::int32_t column,
                                std::int32_t block);
  // Copies state from one column to another before the forward pass.
  HandMadeTrace& pre_copy(std::int32_t row, std::int32_t src_column, std::int32_t dst_column);

  const StepTrace& trace() const { return trace_; }
  StepTrace& trace() { return trace_; }

 private:
  TensorView<std::int32_t> keep(std::vector<std::int32_t> values, std::int32_t cols);
  void add_row(const HandMadeRow& row);
  void add_attention(const std::vector<HandMadeRow>& rows);
  void add_mamba(const std::vector<HandMadeRow>& rows);

  StepTrace trace_;
  std::deque<std::vector<std::int32_t>> numbers_;
  std::deque<std::vector<std::uint8_t>> flags_;
  std::vector<std::vector<std::int32_t>> mamba_blocks_;  // by row
};

CheckConfig hand_made_config();

// F(n) of a request: token i is the same for all requests up to position 15, then its own.
Fingerprint hand_made_prefix(std::int32_t request, std::int32_t n);

// One batch of rows with a checker's state around it, for tests of single units. One mamba group,
// number 0; token number p (1-based) of a request is identified by its fingerprint F(p).

struct BenchRow {
  std::int32_t computed = 0;             // c
  std::int32_t query = 1;                // q
  std::vector<std::int32_t> blocks{};    // block table of its request, column by column
  std::int32_t num_accepted_tokens = 1;  // a
};

struct BenchSettings {
  MambaCacheMode mode = MambaCacheMode::align;
  std::int32_t block_size = 8;
  std::int32_t num_speculative_tokens = 0;
  std::int32_t num_blocks = 16;
  std::int32_t conv_kernel = 4;
};

// Conv positions that hold no token of the request.
inline constexpr std::int32_t kBefore = 0;  // before its first token
inline constexpr std::int32_t kUnwritten = -1;
inline constexpr std::int32_t kForeign = -2;

class RowBench {
 public:
  // Request r has row r.
  RowBench(const BenchSettings& settings, const std::vector<BenchRow>& rows);
  RowBench(const RowBench&) = delete;

  CheckContext& context() { return context_; }
  const RowTruth& truth() const { return truth_; }
  SymbolicState& state() { return shared_.state; }
  CheckState& shared() { return shared_; }
  StepTrace& trace() { return trace_; }
  std::vector<Finding>& findings() { return findings_; }

  // F(n) of the request.
  Fingerprint prefix(std::int32_t request, std::int32_t n) const;
  // S(n) into the block, written in an earlier step.
  void put_state(std::int32_t block, std::int32_t request, std::int32_t n);
  // Conv position i of the block holds token number tokens[i]; below 1: before the first token.
  void put_conv(std::int32_t block, std::int32_t request, const std::vector<std::int32_t>& tokens);
  // The block holds S(n) and, from position 0, the last W - 1 tokens before n.
  void put(std::int32_t block, std::int32_t request, std::int32_t n);
  // n if the block holds S(n) of the request, else kUnwritten or kForeign.
  std::int32_t state_of(std::int32_t block, std::int32_t request) const;
  // Token numbers of the block's conv positions.
  std::vector<std::int32_t> conv_of(std::int32_t block, std::int32_t request) const;

 private:
  static CheckConfig config_of(const BenchSettings& settings);
  std::int32_t number_of(Fingerprint fingerprint, std::int32_t request) const;

  CheckState shared_;
  StepTrace trace_;
  std::vector<std::int32_t> query_start_loc_;
  std::vector<std::int32_t> seq_lens_;
  std::vector<Finding> findings_;
  CheckContext context_;
  RowTruth truth_;
};

}  // namespace hybridscope::test
