#include <cmath>
#include <type_traits>

#include "kernels/numeric/fold_rows.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr float kEpsilon = 1e-6F;

template <int kRows, int kChunks, Fit kFit, DecayOf kDecayOf>
struct DeltaRuleStep {
  using PartOf = Part<kRows, kChunks, kFit>;
  static constexpr int kElements = PartOf::kElements;
  static constexpr int kLanes = PartOf::kLanes;
  static constexpr int kThreadRows = PartOf::kThreadRows;
  static constexpr bool kOfHead = kDecayOf == DecayOf::head;

  DeltaRuleLayer layer;
  DeltaRuleTokens io;
  float scale = 0;  // of queries

  struct Fixed {};
  struct Prepared {
    alignas(16) float q[kWarp * kChunks];  // normalised and scaled
    alignas(16) float k[kWarp * kChunks];  // normalised
    // Of each key channel, or of the head.
    alignas(16) float decays[kOfHead ? 1 : kWarp * kChunks];
    float beta;
  };
  struct Own {
    float v = 0;
  };

  __device__ Fixed fixed(const PartOf&) const { return {}; }

  __device__ void prepare(Prepared& prepared, std::int32_t token, std::int32_t head,
                          int lane) const {
    const std::int32_t key_head = head / (layer.num_value_heads / layer.num_key_heads);
    const std::int64_t keys =
        (static_cast<std::int64_t>(token) * layer.num_key_heads + key_head) * layer.key_dim;
    normalise(io.q.data() + keys, prepared.q, scale, lane);
    normalise(io.k.data() + keys, prepared.k, 1.0F, lane);
    const std::int64_t at = static_cast<std::int64_t>(token) * layer.num_value_heads + head;
    const float A = -quick_exp_f32(layer.A_log[head]);
    if constexpr (kOfHead) {
      const float decay = quick_exp_f32(A * quick_softplus_f32(io.a[at] + layer.dt_bias[head]));
      if (lane == 0) prepared.decays[0] = decay;
    } else {
      for (int i = lane; i < layer.key_dim; i += kWarp)
        prepared.decays[i] =
            quick_exp_f32(A * quick_softplus_f32(io.a[at * layer.key_dim + i] +
                                                 layer.dt_bias[head * layer.key_dim + i]));
    }
    if (lane == 0) prepared.beta = quick_sigma_f32(io.b[at]);
  }

  __device__ Own own(std::int32_t token, const PartOf& part) const {
    return {part.has_own_row() ? io.v[index(token, part)] : 0.0F};
  }

  template <class Rows>
  __device__ float fold(const Rows& rows, const Prepared& prepared, const Own& own, const Fixed&,
                        const PartOf& part) const {
    float k[kElements];
    float decays[kElements] = {};  // read with a decay a key channel only
    part.read(prepared.k, k);
    if constexpr (!kOfHead) part.read(prepared.decays, decays);
    const auto decay = [&](int e) { return kOfHead ? prepared.decays[0] : decays[e]; };
    float known[kThreadRows * kLanes] = {};
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      RowElements<PartOf> row;
      rows.load(row, r, part);
#pragma unroll
      for (int e = 0; e < kElements; ++e)
        known[r * kLanes + e % kLanes] += part.masked(e, row[e] * decay(e) * k[e]);
    }
    const float own_delta = (own.v - PartOf::Sums::total(known, part.lane)) * prepared.beta;
    float q[kElements];
    part.read(prepared.q, q);
    float sums[kThreadRows * kLanes] = {};
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      const float delta = part.of_row(own_delta, r);
      RowElements<PartOf> row;
      rows.load(row, r, part);
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        row[e] = row[e] * decay(e) + delta * k[e];
        sums[r * kLanes + e % kLanes] += part.masked(e, row[e] * q[e]);
      }
      rows.store(row, r, part);
    }
    return PartOf::Sums::total(sums, part.lane);
  }

  __device__ float* output(std::int32_t token, const PartOf& part) const {
    return io.o.data() + index(token, part);
  }

 private:
  // `to` = `from` / its norm * factor; zeros behind its end.
  __device__ void normalise(const float* from, float* to, float factor, int lane) const {
    float values[kChunks];
    float squares = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int i = lane + c * kWarp;
      values[c] = i < layer.key_dim ? from[i] : 0.0F;
      squares += values[c] * values[c];
    }
    const float inverse = rsqrt_f32(sum_of_lanes(squares) + kEpsilon);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) to[lane + c * kWarp] = values[c] * inverse * factor;
  }

  // Of the thread's own row in v and o.
  __device__ std::int64_t index(std::int32_t token, const PartOf& part) const {
    return (static_cast<std::int64_t>(token) * layer.num_value_heads + part.head) *
               layer.value_dim +
           part.first + part.own_row();
  }
};

template <int kRows, int kChunks, Fit kFit>
using HeadDecayStep = DeltaRuleStep<kRows, kChunks, kFit, DecayOf::head>;
template <int kRows, int kChunks, Fit kFit>
using ChannelDecayStep = DeltaRuleStep<kRows, kChunks, kFit, DecayOf::key_channel>;

template <class Rows, class T>
Status launch(const DeltaRuleLayer& layer, const Rows& rows, const DevicePool<T>& pool,
              const DeltaRuleTokens& tokens, CUstream_st* stream) {
  const MatrixShape shape{layer.num_value_heads, layer.value_dim, layer.key_dim};
  const std::int64_t outputs = static_cast<std::int64_t>(shape.heads) * shape.head_rows;
  if (outputs == 0) return Ok{};
  const auto num_tokens = static_cast<std::int32_t>(std::ssize(tokens.o) / outputs);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.key_dim)));
  return layer.decay_of == DecayOf::head
             ? launch_fold_of<HeadDecayStep>(shape, rows, pool, num_tokens, true, stream, layer,
                                             tokens, scale)
             : launch_fold_of<ChannelDecayStep>(shape, rows, pool, num_tokens, true, stream, layer,
                                                tokens, scale);
}

}  // namespace

Status delta_rule_update_cuda(const DeltaRuleLayer& layer, const DecodeRows& rows,
                              const StatePool& pool, const DeltaRuleTokens& tokens,
                              CUstream_st* stream) {
  return launch(layer, rows, device_pool(pool), tokens, stream);
}

Status delta_rule_update_cuda(const DeltaRuleLayer& layer, const DecodeRows& rows,
                              const Bf16StatePool& pool, const DeltaRuleTokens& tokens,
                              CUstream_st* stream) {
  return launch(layer, rows, device_pool(pool), tokens, stream);
}

Status delta_rule_prefill_cuda(const DeltaRuleLayer& layer, const PrefillRows& rows,
                               const StatePool& pool, const DeltaRuleTokens& tokens,
                               CUstream_st* stream) {
  return launch(layer, rows, device_pool(pool), tokens, stream);
}

}  // namespace hybridscope
