// What a batch's rows should find and leave behind: fingerprints of every prefix inside the step,
// folded from the tokens in the trace. Shared by all groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/step_trace.h"

namespace hybridscope {

class RowTruth {
 public:
  // Reuses the storage of earlier steps.
  void fold(const StepTrace& trace, std::int32_t conv_kernel);

  // F(c + i) of row r for i = 0 .. q.
  std::span<const Fingerprint> prefixes(std::int32_t row) const;
  // F of token number c - (W - 2) .. c: the conv history before the row's first token.
  std::span<const Fingerprint> history(std::int32_t row) const;
  // F(p) of the row's request for c - (W - 2) <= p <= c + q; 0 before the first token.
  Fingerprint at(std::int32_t row, std::int32_t position) const;
  std::int32_t num_computed_tokens(std::int32_t row) const;
  std::int32_t num_query_tokens(std::int32_t row) const;

 private:
  struct Row {
    std::int64_t first = 0;  // of its W - 2 + 1 + q values in values_
    std::int32_t computed = 0;
    std::int32_t query = 0;
  };
  std::int32_t history_len_ = 0;  // W - 1
  std::vector<Row> rows_;         // [num_reqs]
  std::vector<Fingerprint>
      values_;  // row by row: history (its last is F(c)), then F(c+1) .. F(c+q)
};

}  // namespace hybridscope
