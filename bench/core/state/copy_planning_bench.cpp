// Which states of 256 requests are copied, in mode align with K=2: the bare decisions, and the
// whole plans for 36 layers of two states in 3 groups.
#include <cstddef>
#include <vector>

#include "bench/support/measure.h"
#include "core/state/copy_launch.h"
#include "core/state/mode_copies.h"
#include "sessions/conformance/planned_copies.h"

namespace hybridscope::bench {
namespace {

constexpr std::int32_t kRows = 256;
constexpr std::int32_t kBlockSize = 560;
constexpr std::int32_t kColumns = 256;
constexpr std::int32_t kNumDrafts = 2;
constexpr std::int32_t kGroups = 3;
constexpr std::int32_t kLayers = 36;

using Ints = std::vector<std::int32_t>;

// Verify rows at contexts that differ by one token, so that a few cross a block boundary.
struct Rows {
  Ints num_computed_tokens;
  Ints num_scheduled_tokens = Ints(kRows, 1 + kNumDrafts);
  Ints num_draft_tokens = Ints(kRows, kNumDrafts);
  Ints num_accepted_tokens;
  Ints running_columns;
  std::vector<RequestId> req_ids;
  MambaStateIdx mamba_state_idx;

  Rows() {
    for (std::int32_t row = 0; row < kRows; ++row) {
      const std::int32_t computed = 20 * kBlockSize + 3 * row;
      const std::int32_t column = (computed + kNumDrafts) / kBlockSize;
      num_computed_tokens.push_back(computed);
      num_accepted_tokens.push_back(1 + row % (1 + kNumDrafts));
      running_columns.push_back(column);
      req_ids.push_back({row});
      // The state is still where the step before left it.
      mamba_state_idx.set({row}, (computed - 1) / kBlockSize);
    }
  }
};

MambaStateTensors state_tensors() {
  const StateTensor conv{.shape = {8192, 5, 8192}, .stride = {1048576, 8192, 1}, .elem_size = 2};
  const StateTensor temporal{
      .shape = {8192, 32, 128, 128}, .stride = {1048576, 16384, 128, 1}, .elem_size = 4};
  MambaStateTensors tensors{.block_size = kBlockSize,
                            .mamba_group_ids = {1, 2, 3},
                            .state_kinds = {StateKind::conv, StateKind::temporal},
                            .layers = {}};
  for (std::int32_t layer = 0; layer < kLayers; ++layer)
    tensors.layers.push_back(
        {.group_index = layer / (kLayers / kGroups), .states = {conv, temporal}});
  return tensors;
}

std::int32_t block_at(std::int32_t row, std::int32_t column) { return 1 + row * 31 + column; }

template <class Decide>
void measure_decisions(benchmark::State& state, Decide decide) {
  std::vector<StateCopyDecision> decisions(kRows);
  measure(state, kRows, [&] {
    for (std::size_t row = 0; row < kRows; ++row) decisions[row] = decide(row);
    return decisions.data();
  });
}

void decide_align_preprocess(benchmark::State& state) {
  const Rows rows;
  measure_decisions(state, [&](std::size_t row) {
    return decide_preprocess_v1(
        {.has_mamba_state_idx = true,
         .mamba_state_idx = (rows.num_computed_tokens[row] - 1) / kBlockSize,
         .num_computed_tokens = rows.num_computed_tokens[row],
         .num_scheduled_tokens = rows.num_scheduled_tokens[row],
         .num_accepted_tokens = rows.num_accepted_tokens[row],
         .block_size = kBlockSize});
  });
}
BENCHMARK(decide_align_preprocess);

void decide_align_postprocess(benchmark::State& state) {
  const Rows rows;
  measure_decisions(state, [&](std::size_t row) {
    return decide_postprocess_v1({.num_accepted_tokens = rows.num_accepted_tokens[row],
                                  .mamba_state_idx = rows.running_columns[row],
                                  .num_scheduled_tokens = rows.num_scheduled_tokens[row],
                                  .num_computed_tokens = rows.num_computed_tokens[row],
                                  .num_draft_tokens = rows.num_draft_tokens[row],
                                  .block_size = kBlockSize});
  });
}
BENCHMARK(decide_align_postprocess);

// Rows of kColumns block ids in every group, from decisions to bytes.
class Tables {
 public:
  Tables() : ids_(static_cast<std::size_t>(kRows) * kColumns) {
    for (std::int32_t row = 0; row < kRows; ++row)
      for (std::int32_t column = 0; column < 30; ++column)
        ids_[static_cast<std::size_t>(row * kColumns + column)] = block_at(row, column);
    for (std::int32_t group = 0; group < kGroups; ++group)
      tables_.push_back({.group = 1 + group,
                         .ids = matrix_view(ids_.data(), kRows, kColumns),
                         .num_blocks_per_row = {}});
  }

  CopyLaunch launch(const std::vector<StateCopyDecision>& decisions) const {
    CopyLaunch launch;
    for (const StateCopyDecision& decision : decisions)
      launch.decisions.push_back({.request = {},
                                  .row = static_cast<std::int32_t>(launch.decisions.size()),
                                  .decision = decision});
    collect_batch_copy_meta(decisions, tables_, launch.copies);
    return launch;
  }

 private:
  Ints ids_;
  std::vector<MambaBlockTable> tables_;
};

void plan_align_preprocess(benchmark::State& state) {
  const Rows rows;
  const Tables tables;
  const MambaStateTensors tensors = state_tensors();
  std::vector<StateCopyDecision> decisions;
  measure(state, kRows, [&] {
    MambaStateIdx mamba_state_idx = rows.mamba_state_idx;
    Ints num_accepted_tokens = rows.num_accepted_tokens;
    preprocess_mamba({.block_size = kBlockSize,
                      .req_ids = rows.req_ids,
                      .num_scheduled_tokens = rows.num_scheduled_tokens,
                      .num_computed_tokens = rows.num_computed_tokens},
                     mamba_state_idx, num_accepted_tokens, decisions)
        .value();
    return plan_batched_copies(tensors, tables.launch(decisions));
  });
}
BENCHMARK(plan_align_preprocess);

void plan_align_postprocess(benchmark::State& state) {
  const Rows rows;
  const Tables tables;
  const std::vector<std::int64_t> strides(kGroups, kColumns);
  const StateLayout layout = make_state_layout(state_tensors(), strides).value();
  std::vector<StateCopyDecision> decisions;
  Ints out(kRows);
  measure(state, kRows, [&] {
    run_fused_postprocess({.num_reqs = kRows,
                           .block_size = kBlockSize,
                           .num_accepted_tokens = rows.num_accepted_tokens,
                           .mamba_state_idx = rows.running_columns,
                           .num_scheduled_tokens = rows.num_scheduled_tokens,
                           .num_computed_tokens = rows.num_computed_tokens,
                           .num_draft_tokens = rows.num_draft_tokens},
                          out, decisions)
        .value();
    return plan_fused_copies(layout, tables.launch(decisions));
  });
}
BENCHMARK(plan_align_postprocess);

}  // namespace
}  // namespace hybridscope::bench
