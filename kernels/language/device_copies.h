// Copies of recurrent states that the fused kernels of mode align decide and make on a device, out
// of what the engine's own kernels are given; and the order of copies that meet. Not for other
// folders: it includes CUDA's headers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/language/language_machine.h"
#include "core/language/numeric_memory.h"
#include "core/numeric/model_forward.h"
#include "core/state/state_ops.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/cuda/fused_align.h"
#include "kernels/language/language_kernels.h"

namespace hybridscope {

class DeviceCopies {
 public:
  // `layers`: the pools on the device, which outlive this.
  DeviceCopies(const LanguageLayout& layout, std::span<const LayerMemory> layers, int device);

  // Have the fused kernels what they need? Not where the engine has no such kernel (the V1
  // pre-copy).
  static bool has_kernel(const DecidedCopies& decided);

  // One launch whose arrays are in a piece.
  struct Staged {
    StateCopyRule rule = StateCopyRule::postprocess_mamba_v1;
    std::int32_t num_rows = 0;
    std::int32_t num_slots = 0;
    std::int32_t block_size = 0;
    // V1: accepted, column, scheduled, computed, drafts. V2: accepted, column, and the new count,
    // or computed tokens and query_start_loc.
    std::vector<Uploaded<std::int32_t>> arrays = {};
    Uploaded<std::int32_t> idx_mapping = {}, src_col = {}, src_off = {};  // V2
    std::vector<Uploaded<std::int32_t>> block_tables = {};
  };
  // Makes room for tables of so many columns and for the rows. Waits for the device when something
  // has to grow. Requires: has_kernel(). Error: the device's.
  Status reserve(const DecidedCopies& decided);
  Staged stage(const DecidedCopies& decided, ArrayPiece& piece) const;

  // Decides and copies on the stream; `decisions`: [rows] in device memory, written. Neither waits
  // nor allocates.
  Status launch(const Staged& staged, const std::byte* piece, StateCopyDecision* decisions,
                CUstream_st* stream) const;

  std::int64_t num_allocations() const { return counts_.num_allocations() + num_layouts_; }

 private:
  StateLayout layout_;
  std::vector<std::uintptr_t> addresses_;  // of states
  int device_;
  std::unique_ptr<FusedAlign> fused_;  // for tables of layout_.block_table_stride_req columns
  std::int64_t num_layouts_ = 0;
  DeviceMemory counts_;  // the accepted counts that launches leave
};

// Copies between blocks of a device's pools that meet: a block that one writes is read or written
// by another. Sources are all read before anything is written, and what is written last stays, as
// NumericMemory does it.

struct PoolMoves {
  // Read into an array, and then a window that moves inside its block, losing positions.
  struct Read {
    std::vector<PlacedFloats> floats;
    std::optional<StateCopyOp> shift;
  };
  std::vector<Read> reads;           // in order
  std::vector<PlacedFloats> writes;  // in order, out of the same array
  std::int64_t num_floats = 0;       // of the array
};

// `layers`: the pools on the device.
PoolMoves meeting_state_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const StateCopyOp> copies, bool shifts_last_position_first);
PoolMoves meeting_block_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const BlockCopy> copies);

// The copies between blocks that exist.
std::vector<BlockCopy> copies_of_blocks(const LanguageLayout& layout,
                                        std::span<const BlockCopy> copies);
bool do_meet(std::span<const BlockCopy> copies);

}  // namespace hybridscope
