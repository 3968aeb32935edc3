// A model's states and a batch of which some requests copy, on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/state/state_memory.h"
#include "kernels/cuda/device_buffer.cuh"
#include "kernels/cuda/fused_align.h"

namespace hybridscope {

struct BenchModel {
  std::string name;
  std::int32_t num_layers = 0;
  std::int64_t conv_width = 0;
  std::int64_t conv_dim = 0;
  std::int32_t conv_elem_size = 2;
  std::int64_t temporal_elements = 0;
  std::int32_t temporal_elem_size = 2;
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;

  std::int64_t position_bytes() const { return conv_dim * conv_elem_size; }
  std::int64_t temporal_bytes() const { return temporal_elements * temporal_elem_size; }
  std::int64_t page_bytes() const { return conv_width * position_bytes() + temporal_bytes(); }
};

struct BenchBatch {
  std::int32_t num_reqs = 0;
  std::int32_t num_copying = 0;        // spread over the batch
  std::int32_t accept_token_bias = 0;  // of those that copy
  bool within_block = false;           // src_col == dst_col: the conv window shifts

  // From the shapes, over all layers.
  std::int64_t bytes_copied(const BenchModel& model) const;
};

// Random bytes, with four blocks for each of `most_copying` requests.
class BenchStates {
 public:
  BenchStates(const BenchModel& model, std::int32_t most_copying, const FusedAlignOptions& options);

  const BenchModel& model() const { return model_; }
  const FusedAlign& fused() const { return *fused_; }

 private:
  BenchModel model_;
  DeviceBuffer<std::byte> memory_;
  std::optional<FusedAlign> fused_;
};

// What the launches read. None of them changes what the next one decides, except `advance`, which
// does the same work on slots that it has advanced already.
class BenchArrays {
 public:
  explicit BenchArrays(const BenchBatch& batch);

  void postprocess(const FusedAlign& fused, CudaStream stream) const;
  void postprocess_align(const FusedAlign& fused, CudaStream stream) const;
  void advance(CudaStream stream) const;
  void precopy(const FusedAlign& fused, CudaStream stream) const;

 private:
  using Array = DeviceBuffer<std::int32_t>;

  BenchBatch batch_;
  Array block_table_, accepted_, column_, scheduled_, computed_, drafts_, out_;  // V1 and V2
  Array idx_mapping_, new_computed_;                                             // V2
  Array query_start_loc_, state_idx_, counts_, advanced_col_, advanced_off_;     // advance
  Array src_col_, src_off_, new_state_idx_;                                      // precopy
};

}  // namespace hybridscope
