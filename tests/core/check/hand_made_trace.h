// A StepTrace written by hand, as another engine's trace might arrive: attention group 0 and mamba1
// group 1, blocks of 8 tokens, mode align, no speculation. Nothing here knows core/engine.
#pragma once

#include <deque>
#include <vector>

#include "core/check/step_checker.h"

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

}  // namespace hybridscope::test
