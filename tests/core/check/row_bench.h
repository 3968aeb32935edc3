// One batch of rows with a checker's state around it, for tests of single units. One mamba group,
// number 0; token number p (1-based) of a request is identified by its fingerprint F(p).
#pragma once

#include <cstdint>
#include <vector>

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

namespace hybridscope::test {

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
