// The forward pass of a language model on a CUDA device, bit for bit ModelForward's in form
// recurrent, and within its tolerances in form chunked. Not for other folders: it includes CUDA's
// headers.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/numeric/dense_layers.h"
#include "core/numeric/hybrid_model.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/language/device_batch.h"
#include "kernels/language/device_model.h"

struct CUstream_st;

namespace hybridscope {

class DeviceForward {
 public:
  // `host`: the model, which is copied. Error: as DeviceModel::create.
  static Result<DeviceForward> create(const HybridModel& host, int device);

  // Makes room for batches of so many tokens at positions below `num_positions`, and in form
  // chunked of so many pieces of chunks. Grows only, and waits for the device when it does. Error:
  // the device has too little memory free.
  Status reserve(std::int32_t num_tokens, std::int32_t num_positions, std::int32_t num_pieces);
  std::int64_t num_allocations() const;
  // How often arrays of launches have moved, with an allocation or inside one: graphs that were
  // captured before read and write the old places.
  std::int64_t num_layouts() const { return num_layouts_; }

  // Launches all layers. `layers`: the pools, [layers] as `group_of_layer`. Neither waits nor
  // allocates. Requires: room for the batch. Errors: a size that no kernel takes; the device's.
  Status launch(const DeviceForwardBatch& batch, std::span<const LayerMemory> layers,
                std::span<const std::int32_t> group_of_layer, CUstream_st* stream);
  // Launches logits [tokens, vocab] and greedy tokens of tokens of the last batch, all in device
  // memory.
  Status launch_logits(std::span<const std::int32_t> tokens, std::span<float> logits,
                       std::span<std::int32_t> greedy, CUstream_st* stream);

 private:
  DeviceForward(DeviceModel model, const HybridModel& host, int device);
  std::span<float> hidden(std::int64_t num_tokens) const;
  std::span<float> normed(std::int64_t num_tokens) const;

  DeviceModel model_;
  int device_ = 0;
  RopeTable rope_;
  std::int64_t token_floats_ = 0;   // of scratch that the largest layer takes for a token
  std::int64_t piece_floats_ = 0;   // the same for a piece of a chunk
  std::int32_t num_tokens_ = 0;     // that there is room for
  std::int32_t num_pieces_ = 0;     // the same
  std::int32_t num_positions_ = 0;  // of the tables
  std::int64_t num_layouts_ = 0;
  DeviceMemory tables_;  // cosines, sines
  DeviceMemory hidden_;  // [num_tokens_, hidden] before and behind a norm
  DeviceMemory scratch_;
  DeviceMemory chunks_;  // scratch of form chunked
};

}  // namespace hybridscope
