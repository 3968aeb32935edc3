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
  template <class T>
  static constexpr int kRowsTogether = sizeof(T) == sizeof(float) ? 2 : 4;
  static constexpr int kLanes = PartOf::kLanes;
  static constexpr int kThreadRows = PartOf::kThreadRows;
  static constexpr bool kOfHead = kDecayOf == DecayOf::head;

  DeltaRuleLayer layer;
  DeltaRuleTokens io;
  std::int32_t heads_of_key = 0;
  float scale = 0;  // of queries

  struct Fixed {};
  struct Prepared {
    alignas(16) float q[kWarp * kChunks];  // normalised and scaled
    alignas(16) float k[kWarp * kChunks];  // normalised
    // Each key channel has a decay, or the head has one.
    alignas(16) float decays[kOfHead ? 1 : kWarp * kChunks];
    float beta;
  };
  // The first warp has a token in each lane, the others k or q of one.
  template <int kAhead>
  struct Loaded {
    float a = 0;
    float dt_bias = 0;
    float A_log = 0;
    float b = 0;  // the last warp
    VectorsAhead<kChunks, kAhead> vectors;
  };
  struct Own {
    float v = 0;
  };

  __device__ Fixed fixed(const PartOf&) const { return {}; }

  template <int kTokens>
  __device__ auto load(const BatchTokens& tokens, std::int32_t head,
                       const Team<kTokens>& team) const {
    Loaded<Team<kTokens>::kAhead> loaded;
    if (const std::int32_t token = tokens.first + team.lane(); token < tokens.last) {
      const std::int64_t at = static_cast<std::int64_t>(token) * layer.num_value_heads + head;
      if (kOfHead && team.is_first()) {
        loaded.a = io.a[at];
        loaded.dt_bias = layer.dt_bias[head];
        loaded.A_log = layer.A_log[head];
      }
      if (team.is_last()) loaded.b = io.b[at];
    }
    team.load(loaded.vectors, 2 * tokens.size(), vectors_of(tokens.first, head, team.lane()));
    return loaded;
  }

  template <int kTokens>
  __device__ void prepare(Prepared* prepared, Loaded<Team<kTokens>::kAhead>& loaded,
                          const BatchTokens& tokens, std::int32_t head,
                          const Team<kTokens>& team) const {
    const int lane = team.lane();
    if (kOfHead && team.is_first() && lane < tokens.size())
      prepared[lane].decays[0] = quick_exp_f32(-quick_exp_f32(loaded.A_log) *
                                               quick_softplus_f32(loaded.a + loaded.dt_bias));
    if (!kOfHead) prepare_channels(prepared, tokens, head, team);
    if (team.is_last() && lane < tokens.size()) prepared[lane].beta = quick_sigma_f32(loaded.b);
    team.use(loaded.vectors, 2 * tokens.size(), vectors_of(tokens.first, head, lane),
             [&](const float(&vector)[kChunks], int i) {
               if (i % 2 == 0)
                 normalise(vector, prepared[i / 2].k, 1.0F, lane);
               else
                 normalise(vector, prepared[i / 2].q, scale, lane);
             });
  }

  __device__ Own own(std::int32_t token, const PartOf& part) const {
    return {part.has_own_row() ? io.v[index(token, part)] : 0.0F};
  }

  template <class State>
  __device__ float fold(State& state, const Prepared& prepared, const Own& own, const Fixed&,
                        const PartOf& part) const {
    const float decay_of_head = prepared.decays[0];
    const auto read_decays = [&](int c, float(&decays)[kLanes]) {
      if constexpr (!kOfHead) part.read(prepared.decays, c, decays);
    };
    const auto decay = [&](const float(&decays)[kLanes], int i) {
      return kOfHead ? decay_of_head : decays[i];
    };
    float known[kThreadRows * kLanes] = {};
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      float k[kLanes];
      float decays[kLanes] = {};
      part.read(prepared.k, c, k);
      read_decays(c, decays);
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        float values[kLanes];
        state.read(values, r, c);
#pragma unroll
        for (int i = 0; i < kLanes; ++i)
          known[r * kLanes + i] += part.masked(c, values[i] * decay(decays, i) * k[i]);
      }
    }
    const float own_delta = (own.v - PartOf::Sums::total(known, part.lane)) * prepared.beta;
    float deltas[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) deltas[r] = part.of_row(own_delta, r);
    float sums[kThreadRows * kLanes] = {};
    state.before_writes();
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      float k[kLanes], q[kLanes];
      float decays[kLanes] = {};
      part.read(prepared.k, c, k);
      part.read(prepared.q, c, q);
      read_decays(c, decays);
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        float values[kLanes];
        state.read(values, r, c);
#pragma unroll
        for (int i = 0; i < kLanes; ++i) {
          values[i] = values[i] * decay(decays, i) + deltas[r] * k[i];
          sums[r * kLanes + i] += part.masked(c, values[i] * q[i]);
        }
        state.write(values, r, c);
      }
    }
    return PartOf::Sums::total(sums, part.lane);
  }

  __device__ float* output(std::int32_t token, const PartOf& part) const {
    return io.o.data() + index(token, part);
  }

 private:
  // Loads of vectors: 2 t is k of token first + t, 2 t + 1 its q; zeros behind the end.
  __device__ auto vectors_of(std::int32_t first, std::int32_t head, int lane) const {
    const std::int32_t group = head / heads_of_key;
    return [this, first, group, lane](float(&vector)[kChunks], int i) {
      const std::int64_t row =
          static_cast<std::int64_t>(first + i / 2) * layer.num_key_heads + group;
      const float* from = (i % 2 == 0 ? io.k : io.q).data() + row * layer.key_dim;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int at = lane + c * kWarp;
        vector[c] = at < layer.key_dim ? from[at] : 0.0F;
      }
    };
  }

  // `to` = `vector` / its norm * factor.
  __device__ static void normalise(const float (&vector)[kChunks], float* to, float factor,
                                   int lane) {
    float squares = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) squares += vector[c] * vector[c];
    const float inverse = rsqrt_f32(sum_of_lanes(squares) + kEpsilon);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) to[lane + c * kWarp] = vector[c] * inverse * factor;
  }

  // The decays of key channels, by all threads.
  template <int kTokens>
  __device__ void prepare_channels(Prepared* prepared, const BatchTokens& tokens, std::int32_t head,
                                   const Team<kTokens>& team) const {
    const float A = -quick_exp_f32(layer.A_log[head]);
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      const std::int64_t at =
          static_cast<std::int64_t>(tokens.first + t) * layer.num_value_heads + head;
      for (int i = team.warp() * kWarp + team.lane(); i < layer.key_dim;
           i += team.num_warps() * kWarp)
        prepared[t].decays[i] =
            quick_exp_f32(A * quick_softplus_f32(io.a[at * layer.key_dim + i] +
                                                 layer.dt_bias[head * layer.key_dim + i]));
    }
  }

  // The index of the thread's own row in v and o.
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
  const std::int32_t heads_of_key = layer.num_value_heads / layer.num_key_heads;
  return layer.decay_of == DecayOf::head
             ? launch_fold_of<HeadDecayStep>(shape, rows, pool, num_tokens, true, stream, layer,
                                             tokens, heads_of_key, scale)
             : launch_fold_of<ChannelDecayStep>(shape, rows, pool, num_tokens, true, stream, layer,
                                                tokens, heads_of_key, scale);
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
