// A call of kernels on arrays of host memory, and its arguments with their arrays on the device.
// Not for other folders: it includes CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/numeric/dense_layers.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {

// A call of kernels on arrays of host memory: they are uploaded, the launches are recorded in a
// CUDA graph and launched from it, results are downloaded.
class StagedCall {
 public:
  explicit StagedCall(std::int32_t device);

  // The array on the device, which lives as long as this. After an error all arrays are empty and
  // run() returns the error.
  template <class T>
  std::span<const T> in(std::span<const T> host) {
    return device_span<const T>(upload(std::as_bytes(host), nullptr), host.size());
  }
  template <class T>
  TensorView<T> in(TensorView<T> host) {
    const auto size = static_cast<std::size_t>(host.size());
    host.data = in(std::span<const T>(host.data, size)).data();
    return host;
  }
  // run() brings back what it holds then.
  template <class T>
  std::span<T> in_out(std::span<T> host) {
    const auto bytes = std::as_writable_bytes(host);
    return device_span<T>(upload(bytes, bytes.data()), host.size());
  }
  // Room that nobody reads afterwards.
  std::span<float> room(std::size_t size) {
    return device_span<float>(reserve(size * sizeof(float)), size);
  }

  // Waits for the device.
  Status run(const std::function<Status(CUstream_st*)>& launch);

 private:
  struct Download {
    std::span<const std::byte> device;
    std::byte* host = nullptr;
  };

  template <class T>
  static std::span<T> device_span(std::byte* data, std::size_t size) {
    return data == nullptr ? std::span<T>() : std::span<T>(reinterpret_cast<T*>(data), size);
  }
  // Where the uploaded bytes lie on the device; null: there is nothing to upload, or an error.
  // `back`: where run() copies them to; null: nowhere.
  std::byte* upload(std::span<const std::byte> host, std::byte* back);
  std::byte* reserve(std::size_t num_bytes);
  Status launch_recorded(const std::function<Status(CUstream_st*)>& launch);

  std::int32_t device_;
  std::optional<Error> error_;
  std::vector<std::unique_ptr<std::byte, FreeDevice>> memory_;
  std::vector<Download> downloads_;
};

// The value with the arrays `members` of it on the device.
template <class Value, class... Array>
Value staged_members(StagedCall& call, Value value, Array Value::*... members) {
  ((value.*members = call.in(value.*members)), ...);
  return value;
}

template <class T>
std::span<const T> staged(StagedCall& call, const std::span<const T>& array) {
  return call.in(array);
}
// An array that is written comes back.
template <class T>
requires(!std::is_const_v<T>) std::span<T> staged(StagedCall& call, const std::span<T>& array) {
  return call.in_out(array);
}
// Numbers and names are the same on both.
template <class T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) T staged(StagedCall&, T value) {
  return value;
}
inline LinearShape staged(StagedCall&, const LinearShape& shape) { return shape; }

inline DecodeRows staged(StagedCall& call, const DecodeRows& rows) {
  return staged_members(call, rows, &DecodeRows::state_indices, &DecodeRows::query_start_loc,
                        &DecodeRows::num_accepted_tokens, &DecodeRows::source_column,
                        &DecodeRows::destination_column, &DecodeRows::conv_source_column);
}

inline PrefillRows staged(StagedCall& call, const PrefillRows& rows) {
  return staged_members(call, rows, &PrefillRows::query_start_loc, &PrefillRows::has_initial_states,
                        &PrefillRows::state_indices, &PrefillRows::block_idx_first_scheduled_token,
                        &PrefillRows::block_idx_last_scheduled_token,
                        &PrefillRows::block_idx_last_computed_token,
                        &PrefillRows::num_computed_tokens, &PrefillRows::checkpoint_offsets,
                        &PrefillRows::checkpoint_blocks);
}

inline Mamba2Chunks staged(StagedCall& call, const Mamba2Chunks& chunks) {
  return staged_members(call, chunks, &Mamba2Chunks::cu_chunk_seqlen, &Mamba2Chunks::seq_idx,
                        &Mamba2Chunks::last_chunk_indices);
}

inline AttentionRows staged(StagedCall& call, const AttentionRows& rows) {
  return staged_members(call, rows, &AttentionRows::query_start_loc, &AttentionRows::seq_lens,
                        &AttentionRows::block_table);
}

template <class Pool>
Pool staged_pool(StagedCall& call, Pool pool) {
  pool.data = call.in_out(pool.data);
  return pool;
}
inline StatePool staged(StagedCall& call, const StatePool& pool) { return staged_pool(call, pool); }
inline Bf16StatePool staged(StagedCall& call, const Bf16StatePool& pool) {
  return staged_pool(call, pool);
}
inline KvCache staged(StagedCall& call, const KvCache& cache) {
  return {.keys = call.in_out(cache.keys), .values = call.in_out(cache.values)};
}

inline ConvLayer staged(StagedCall& call, const ConvLayer& layer) {
  return staged_members(call, layer, &ConvLayer::weight, &ConvLayer::bias);
}
inline Mamba1Layer staged(StagedCall& call, const Mamba1Layer& layer) {
  return staged_members(call, layer, &Mamba1Layer::A_log, &Mamba1Layer::D, &Mamba1Layer::dt_bias);
}
inline Mamba2Layer staged(StagedCall& call, const Mamba2Layer& layer) {
  return staged_members(call, layer, &Mamba2Layer::A_log, &Mamba2Layer::D, &Mamba2Layer::dt_bias);
}
inline DeltaRuleLayer staged(StagedCall& call, const DeltaRuleLayer& layer) {
  return staged_members(call, layer, &DeltaRuleLayer::A_log, &DeltaRuleLayer::dt_bias);
}
inline LightningLayer staged(StagedCall& call, const LightningLayer& layer) {
  return staged_members(call, layer, &LightningLayer::rate);
}
inline AttentionLayer staged(StagedCall&, const AttentionLayer& layer) { return layer; }
inline RmsNorm staged(StagedCall& call, const RmsNorm& norm) {
  return staged_members(call, norm, &RmsNorm::weight);
}
inline GatedMlp staged(StagedCall& call, const GatedMlp& mlp) {
  return staged_members(call, mlp, &GatedMlp::gate, &GatedMlp::up, &GatedMlp::down);
}

inline ConvTokens staged(StagedCall& call, const ConvTokens& io) {
  return {.x = call.in(io.x), .y = call.in_out(io.y), .in_front = call.in(io.in_front)};
}
inline Bf16ConvTokens staged(StagedCall& call, const Bf16ConvTokens& io) {
  return {.x = call.in(io.x), .y = call.in_out(io.y)};
}
inline ShortConvTokens staged(StagedCall& call, const ShortConvTokens& io) {
  return {.BCx = call.in(io.BCx), .y = call.in_out(io.y), .in_front = call.in(io.in_front)};
}
inline Mamba1Tokens staged(StagedCall& call, const Mamba1Tokens& io) {
  return {.x = call.in(io.x),
          .delta = call.in(io.delta),
          .B = call.in(io.B),
          .C = call.in(io.C),
          .z = call.in(io.z),
          .y = call.in_out(io.y)};
}
inline Mamba2Tokens staged(StagedCall& call, const Mamba2Tokens& io) {
  return {.x = call.in(io.x),
          .dt = call.in(io.dt),
          .B = call.in(io.B),
          .C = call.in(io.C),
          .y = call.in_out(io.y)};
}
inline DeltaRuleTokens staged(StagedCall& call, const DeltaRuleTokens& io) {
  return {.q = call.in(io.q),
          .k = call.in(io.k),
          .v = call.in(io.v),
          .a = call.in(io.a),
          .b = call.in(io.b),
          .o = call.in_out(io.o)};
}
inline LightningTokens staged(StagedCall& call, const LightningTokens& io) {
  return {.q = call.in(io.q), .k = call.in(io.k), .v = call.in(io.v), .o = call.in_out(io.o)};
}
inline AttentionTokens staged(StagedCall& call, const AttentionTokens& io) {
  return {.q = call.in(io.q), .k = call.in(io.k), .v = call.in(io.v), .o = call.in_out(io.o)};
}

}  // namespace hybridscope
