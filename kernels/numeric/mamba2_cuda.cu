#include <algorithm>

#include "kernels/numeric/fold_rows.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

template <int kRows, int kChunks, Fit kFit>
struct Mamba2Step {
  using PartOf = Part<kRows, kChunks, kFit>;
  static constexpr int kElements = PartOf::kElements;
  static constexpr int kLanes = PartOf::kLanes;
  static constexpr int kThreadRows = PartOf::kThreadRows;

  Mamba2Layer layer;
  Mamba2Tokens io;

  struct Fixed {
    float D = 0;
  };
  struct Prepared {
    alignas(16) float inputs[kWarp * kChunks];  // B dt
    alignas(16) float C[kWarp * kChunks];
    float decay;
  };
  struct Own {
    float x = 0;
  };

  __device__ Fixed fixed(const PartOf& part) const { return {layer.D[part.head]}; }

  __device__ void prepare(Prepared& prepared, std::int32_t token, std::int32_t head,
                          int lane) const {
    const std::int64_t at = static_cast<std::int64_t>(token) * layer.num_heads + head;
    float dt = quick_softplus_f32(io.dt[at] + layer.dt_bias[head]);
    if (layer.has_dt_limit) dt = std::clamp(dt, layer.dt_min, layer.dt_max);
    const std::int32_t group = head / (layer.num_heads / layer.num_groups);
    const std::int64_t vectors =
        (static_cast<std::int64_t>(token) * layer.num_groups + group) * layer.state_size;
#pragma unroll
    for (int i = lane; i < kWarp * kChunks; i += kWarp) {
      const bool has = i < layer.state_size;
      prepared.inputs[i] = has ? io.B[vectors + i] * dt : 0.0F;
      prepared.C[i] = has ? io.C[vectors + i] : 0.0F;
    }
    if (lane == 0) prepared.decay = quick_exp_f32(dt * -quick_exp_f32(layer.A_log[head]));
  }

  __device__ Own own(std::int32_t token, const PartOf& part) const {
    return {part.has_own_row() ? io.x[index(token, part)] : 0.0F};
  }

  template <class Rows>
  __device__ float fold(const Rows& rows, const Prepared& prepared, const Own& own,
                        const Fixed& fixed, const PartOf& part) const {
    float inputs[kElements], C[kElements];
    part.read(prepared.inputs, inputs);
    part.read(prepared.C, C);
    const float decay = prepared.decay;
    float sums[kThreadRows * kLanes] = {};
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      const float x = part.of_row(own.x, r);
      RowElements<PartOf> row;
      rows.load(row, r, part);
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        row[e] = row[e] * decay + inputs[e] * x;
        sums[r * kLanes + e % kLanes] += part.masked(e, row[e] * C[e]);
      }
      rows.store(row, r, part);
    }
    return PartOf::Sums::total(sums, part.lane) + own.x * fixed.D;
  }

  __device__ float* output(std::int32_t token, const PartOf& part) const {
    return io.y.data() + index(token, part);
  }

 private:
  // Of the lane's own row in x and y.
  __device__ std::int64_t index(std::int32_t token, const PartOf& part) const {
    return (static_cast<std::int64_t>(token) * layer.num_heads + part.head) * layer.head_dim +
           part.first + part.own_row();
  }
};

template <class Rows, class T>
Status launch(const Mamba2Layer& layer, const Rows& rows, const DevicePool<T>& pool,
              const Mamba2Tokens& tokens, bool reads_states, CUstream_st* stream) {
  const MatrixShape shape{layer.num_heads, layer.head_dim, layer.state_size};
  const std::int64_t outputs = static_cast<std::int64_t>(shape.heads) * shape.head_rows;
  if (outputs == 0) return Ok{};
  const auto num_tokens = static_cast<std::int32_t>(std::ssize(tokens.y) / outputs);
  return launch_fold_of<Mamba2Step>(shape, rows, pool, num_tokens, reads_states, stream, layer,
                                    tokens);
}

}  // namespace

Status mamba2_update_cuda(const Mamba2Layer& layer, const DecodeRows& rows, const StatePool& pool,
                          const Mamba2Tokens& tokens, CUstream_st* stream) {
  return launch(layer, rows, device_pool(pool), tokens, true, stream);
}

Status mamba2_update_cuda(const Mamba2Layer& layer, const DecodeRows& rows,
                          const Bf16StatePool& pool, const Mamba2Tokens& tokens,
                          CUstream_st* stream) {
  return launch(layer, rows, device_pool(pool), tokens, true, stream);
}

Status mamba2_prefill_cuda(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                           const Mamba2Tokens& tokens, bool prep_initial_states,
                           CUstream_st* stream) {
  return launch(layer, rows, device_pool(pool), tokens, prep_initial_states, stream);
}

}  // namespace hybridscope
