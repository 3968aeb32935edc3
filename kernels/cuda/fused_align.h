// The fused launches of mode align on a GPU: decisions and copies of all requests, layers and
// states in one launch, without a decision on the host (vLLM v1/worker/mamba_utils.py). Launches
// are asynchronous, allocate nothing and can be captured in a CUDA graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/state/copy_decision.h"
#include "core/state/state_memory.h"
#include "kernels/cuda/launch_order.h"

struct CUstream_st;

namespace hybridscope {

using CudaStream = CUstream_st*;  // cudaStream_t

// All pointers below are to device memory that lives until the launch is over. A launch does not
// write what it reads, except AlignAdvanceDevice, whose slots belong to one row each.

// One table per mamba group, all with one row stride (StateLayout::block_table_stride_req).
using DeviceBlockTables = std::span<const std::int32_t* const>;

// run_fused_postprocess (semantics: postprocess-mamba): see PostprocessV1Inputs
// (core/state/mode_copies.h).
struct PostprocessV1Device {
  std::int32_t num_reqs = 0;
  const std::int32_t* num_accepted_tokens = nullptr;   // [num_reqs]
  const std::int32_t* mamba_state_idx = nullptr;       // [num_reqs]
  const std::int32_t* num_scheduled_tokens = nullptr;  // [num_reqs]
  const std::int32_t* num_computed_tokens = nullptr;   // [num_reqs]
  const std::int32_t* num_draft_tokens = nullptr;      // [num_reqs]
  DeviceBlockTables block_tables;                      // rows by request
  std::int32_t* num_accepted_tokens_out = nullptr;     // [num_reqs] the count, or 1 where reset
  StateCopyDecision* decisions = nullptr;              // [num_reqs] out; null: not wanted
};

// run_fused_postprocess_align (semantics: postprocess-mamba-v2): see PostprocessV2Inputs.
struct PostprocessV2Device {
  std::int32_t num_reqs = 0;
  std::int32_t num_slots = 0;
  const std::int32_t* idx_mapping = nullptr;              // [num_reqs] row -> slot, -1: skip
  const std::int32_t* num_accepted_tokens = nullptr;      // [num_slots]
  const std::int32_t* state_idx = nullptr;                // [num_slots]
  const std::int32_t* new_num_computed_tokens = nullptr;  // [num_slots]
  DeviceBlockTables block_tables;                         // rows in batch order
  std::int32_t* num_accepted_tokens_out = nullptr;        // [num_slots] every slot's new count
  StateCopyDecision* decisions = nullptr;                 // [num_reqs] out; null: not wanted
};

// preprocess_mamba_align_fused_kernel (semantics: preprocess-mamba-align): see AlignAdvanceInputs
// (core/state/mode_copies.h), which refuses padding rows; this one skips them. In place:
// state_idx and num_accepted_tokens of the rows' slots.
struct AlignAdvanceDevice {
  std::int32_t num_reqs = 0;
  std::int32_t block_size = 0;
  const std::int32_t* idx_mapping = nullptr;          // [num_reqs] row -> slot, -1: skip
  const std::int32_t* num_computed_tokens = nullptr;  // [slots]
  const std::int32_t* query_start_loc = nullptr;      // [num_reqs + 1]
  std::int32_t* state_idx = nullptr;                  // [slots]
  std::int32_t* num_accepted_tokens = nullptr;        // [slots]
  std::int32_t* src_col = nullptr;                    // [slots] out
  std::int32_t* src_off = nullptr;                    // [slots] out
  StateCopyDecision* decisions = nullptr;             // [num_reqs] out; null: not wanted
};

// precopy_mamba_align_fused_kernel (semantics: precopy-mamba-align): see run_fused_precopy.
struct PrecopyDevice {
  std::int32_t num_reqs = 0;
  const std::int32_t* idx_mapping = nullptr;  // [num_reqs] row -> slot, -1: skip
  const std::int32_t* state_idx = nullptr;    // [slots] after the advance
  const std::int32_t* src_col = nullptr;      // [slots]
  const std::int32_t* src_off = nullptr;      // [slots]
  DeviceBlockTables block_tables;             // rows in batch order
};

enum class CopyWay : std::uint8_t {
  engine,  // the bulk copy engine moves what it can, if the device has one
  warps,   // loads and stores only
};

struct FusedAlignOptions {
  CopyWay way = CopyWay::engine;
  // For tests; results stay the same. 0: off.
  std::int32_t permute_blocks = 0;  // block i does the work of block i * this, modulo the grid
  std::int32_t delay_every = 0;     // every n-th block begins late: reads late, writes late
};

// The states of a model, prepared for the launches. One launch at a time.
class FusedAlign {
 public:
  // state_base_addrs: [layout.num_states()] device addresses of element [0, 0, ...] of each state
  // tensor. On the current device; loads the kernels of all launches below. Errors: those of
  // make_copy_tiles; another number of addresses, more than 16 mamba groups; the device's.
  static Result<FusedAlign> create(const StateLayout& layout,
                                   std::span<const std::uintptr_t> state_base_addrs,
                                   const FusedAlignOptions& options = {});
  FusedAlign(FusedAlign&&) noexcept;
  FusedAlign& operator=(FusedAlign&&) noexcept;
  ~FusedAlign();

  // Errors of all three: not one block table per group, a negative num_reqs; the device's.
  Status postprocess(const PostprocessV1Device& in, CudaStream stream) const;
  Status postprocess_align(const PostprocessV2Device& in, CudaStream stream) const;
  Status precopy(const PrecopyDevice& in, CudaStream stream) const;

 private:
  struct Impl;
  explicit FusedAlign(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Errors: block_size < 1; the device's. `order` permutes blocks of 256 rows.
Status launch_align_advance(const AlignAdvanceDevice& in, CudaStream stream,
                            const LaunchOrder& order = {});

}  // namespace hybridscope
