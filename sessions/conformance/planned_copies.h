// The copies of a launch as the vectors list them: what each moves in each state of each layer, and
// the chunks that a prefill is cut into. Blocks become bytes in core/state/state_copy.h and
// state_copy.h, as in the backends that hold state; here are the checks of foreign numbers and the
// two forms of the lists.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/state_shape.h"
#include "core/state/copy_launch.h"
#include "core/state/state_copy.h"
#include "core/state/state_memory.h"

namespace hybridscope {

// A copy of one program (row, state) of a fused kernel.
struct RowStateCopy {
  std::int32_t row = 0;  // batch row
  StateCopy copy;
  friend bool operator==(const RowStateCopy&, const RowStateCopy&) = default;
};

// The copies of a fused kernel, by copy of the launch, then state; states with nothing to copy are
// left out. Columns decide, never addresses (known bug 42d). Errors: a copy of a group that the
// layout lacks, a negative bias, a block outside the state.
Result<std::vector<RowStateCopy>> plan_fused_copies(const StateLayout& layout,
                                                    const CopyLaunch& launch);

// The copies of V1's batched memcpy, one region each (semantics: do-mamba-copy-block), in the same
// order; a slice that is empty gives a copy of 0 bytes. Errors as above, and a copy that
// get_copy_spec refuses (DS with an accepted count above 1).
Result<std::vector<StateCopy>> plan_batched_copies(const MambaStateTensors& tensors,
                                                   const CopyLaunch& launch);

// The bytes of a state tensor that a column and an accepted count refer to (vLLM
// model_executor/layers/mamba/mamba_utils.py, the MambaStateCopyFunc functions).

// MambaCopySpec: one contiguous region.
struct CopySpec {
  // From element [0, 0, ...] of the tensor; nullopt when the slice is empty and has no address.
  std::optional<std::int64_t> start_byte_offset;
  std::int64_t num_elements = 0;  // logical elements, also when rows are padded
  std::int64_t copy_bytes = 0;    // num_elements * elem_size
  friend bool operator==(const CopySpec&, const CopySpec&) = default;
};

struct CopySpecArgs {
  std::span<const std::int32_t> block_ids;  // of one request in one group, by column
  std::int32_t cur_block_idx = 0;           // column; negative counts from the end
  std::int32_t num_accepted_tokens = 1;     // 1 .. 1 + num_speculative_tokens
};

// SD: positions num_accepted_tokens - 1 .. of block block_ids[cur_block_idx] (a negative start
// counts from the end, a start past the end gives an empty slice). DS: the whole block; error when
// num_accepted_tokens > 1 (semantics: get-conv-copy-spec). Errors also for a column outside
// block_ids and a block outside the tensor; both accept negative indices as Python does.
Result<CopySpec> get_conv_copy_spec(const StateTensor& state, const CopySpecArgs& args,
                                    ConvStateLayout layout);

// The whole block block_ids[cur_block_idx + num_accepted_tokens - 1]
// (semantics: get-temporal-copy-spec). Errors for a column outside block_ids and a block outside
// the tensor.
Result<CopySpec> get_temporal_copy_spec(const StateTensor& state, const CopySpecArgs& args);

// The one of the two for `kind`.
Result<CopySpec> get_copy_spec(const StateTensor& state, const CopySpecArgs& args, StateKind kind,
                               ConvStateLayout layout);

// Byte offset of block `block_id` in the tensor; negative ids count from the end.
Result<std::int64_t> block_byte_offset(const StateTensor& state, std::int32_t block_id);

// compute_varlen_chunk_metadata, which the reference's tests call and no builder does: chunks on
// the grid of packed positions, cut by the chunk builder of Mamba2.

struct VarlenChunkMetadata {
  std::vector<std::int32_t> cu_chunk_seqlens{};    // [chunks + 1] exclusive prefix sum, tokens
  std::vector<std::int32_t> last_chunk_indices{};  // [sequences], -1: empty sequence
  std::vector<std::int32_t> seq_idx_chunks{};      // [chunks]
  friend bool operator==(const VarlenChunkMetadata&, const VarlenChunkMetadata&) = default;
};

// Chunks that cross neither a sequence nor a multiple of chunk_size in the packed tokens
// (semantics: compute-varlen-chunk-metadata). query_start_loc: [sequences + 1]. Errors: empty
// array, first element not 0, lengths that do not add up to the last element, chunk_size < 1.
Result<VarlenChunkMetadata> compute_varlen_chunk_metadata(
    std::span<const std::int32_t> query_start_loc, std::int32_t chunk_size);

}  // namespace hybridscope
