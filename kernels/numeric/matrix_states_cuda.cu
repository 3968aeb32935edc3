// Recurrences whose state is a matrix for each head: the gated delta rule and lightning attention.

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/fold_rows.cuh"
#include "kernels/numeric/pool_rows.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/recurrences_cuda.h"
#include "kernels/numeric/warp_sums.cuh"

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

// Lightning attention: the state is read out along its first index: a lane keeps a column in shared
// memory and adds all
// lanes of OrderedSum by itself.

namespace {

constexpr std::int32_t kMostDimensions = 1024;

template <class Rows>
struct LightningTask {
  LightningLayer layer;
  Rows rows;
  DevicePool<float> pool;
  LightningTokens io;
  std::int32_t num_tokens = 0;
};

// One column of a head: element i at column[kWarp * i].
class Column {
 public:
  __device__ Column(float* slab, int lane, std::int32_t size) : values_(slab + lane), size_(size) {}

  // `head`: the column in a block, elements `size` apart; null: zeros.
  __device__ void load(const float* head) {
    for (std::int32_t i = 0; i < size_; ++i)
      values_[kWarp * i] = head == nullptr ? 0.0F : head[static_cast<std::int64_t>(i) * size_];
  }
  __device__ void store(float* head) const {
    for (std::int32_t i = 0; i < size_; ++i)
      head[static_cast<std::int64_t>(i) * size_] = values_[kWarp * i];
  }
  __device__ float fold(float ratio, const float* q, const float* k, float v) {
    float lanes[kWarp] = {};
    for (std::int32_t first = 0; first < size_; first += kWarp)
#pragma unroll
      for (int lane = 0; lane < kWarp; ++lane)
        if (const std::int32_t i = first + lane; i < size_) {
          const float value = values_[kWarp * i] * ratio + __ldg(k + i) * v;
          values_[kWarp * i] = value;
          lanes[lane] += __ldg(q + i) * value;
        }
    return total_of_lanes(lanes);
  }

 private:
  float* values_;
  std::int32_t size_;
};

// A warp for 32 columns of each row's heads, and of the tokens behind the rows.
template <class Rows>
__global__ void __launch_bounds__(kWarp)
    fold_columns(const __grid_constant__ LightningTask<Rows> task) {
  extern __shared__ float slab[];  // [D, 32]
  const std::int32_t D = task.layer.head_dim;
  const int parts = (D + kWarp - 1) / kWarp;
  const int units = parts * task.layer.num_heads;
  const int row = static_cast<int>(blockIdx.x) / units;
  const int head = static_cast<int>(blockIdx.x) % units / parts;
  const std::int32_t j = static_cast<int>(blockIdx.x) % parts * kWarp + lane_of_thread();
  if (j >= D) return;  // lanes do not meet
  const auto at = [&](std::int32_t token) {
    return (static_cast<std::int64_t>(token) * task.layer.num_heads + head) * D;
  };
  const auto zero = [&](std::int32_t first, std::int32_t last) {
    for (std::int32_t token = first; token < last; ++token) task.io.o[at(token) + j] = 0.0F;
  };
  if (row == task.rows.num_rows()) return zero(end_of_rows(task.rows), task.num_tokens);
  RowWalk<Rows> walk(task.rows, row, true);
  const BatchTokens tokens = walk.tokens();
  if (!walk.runs()) return zero(tokens.first, tokens.last);

  const std::int64_t offset = static_cast<std::int64_t>(head) * D * D + j;
  Column column(slab, lane_of_thread(), D);
  column.load(is_state_block(walk.source()) ? task.pool.block(walk.source()) + offset : nullptr);
  const float ratio = quick_exp_f32(-task.layer.rate[head]);
  for (std::int32_t t = 0; t < tokens.size(); ++t) {
    const std::int64_t token = at(tokens.first + t);
    task.io.o[token + j] = column.fold(ratio, task.io.q.data() + token, task.io.k.data() + token,
                                       task.io.v[token + j]);
    const std::int32_t block = walk.after(t);
    if (is_state_block(block)) column.store(task.pool.block(block) + offset);
  }
  if (is_state_block(walk.last())) column.store(task.pool.block(walk.last()) + offset);
}

template <class Rows>
Status launch(const LightningLayer& layer, const Rows& rows, const StatePool& pool,
              const LightningTokens& tokens, CUstream_st* stream) {
  const std::int64_t outputs = static_cast<std::int64_t>(layer.num_heads) * layer.head_dim;
  if (outputs == 0) return Ok{};
  if (layer.head_dim > kMostDimensions)
    return invalid_input("lightning attention of " + std::to_string(layer.head_dim) +
                         " dimensions a head; kernels take up to " +
                         std::to_string(kMostDimensions));
  const LightningTask<Rows> task{layer, rows, device_pool(pool), tokens,
                                 static_cast<std::int32_t>(std::ssize(tokens.o) / outputs)};
  const int slab = layer.head_dim * kWarp * static_cast<int>(sizeof(float));
  if (Status status =
          cuda_status(cudaFuncSetAttribute(fold_columns<Rows>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, slab),
                      "shared memory of lightning attention");
      !status)
    return status;
  const std::int64_t parts = (layer.head_dim + kWarp - 1) / kWarp;
  const std::int64_t blocks = (rows.num_rows() + 1) * parts * layer.num_heads;
  fold_columns<<<static_cast<unsigned int>(blocks), kWarp, static_cast<std::size_t>(slab),
                 stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of lightning attention");
}

}  // namespace

Status lightning_update_cuda(const LightningLayer& layer, const DecodeRows& rows,
                             const StatePool& pool, const LightningTokens& tokens,
                             CUstream_st* stream) {
  return launch(layer, rows, pool, tokens, stream);
}

Status lightning_prefill_cuda(const LightningLayer& layer, const PrefillRows& rows,
                              const StatePool& pool, const LightningTokens& tokens,
                              CUstream_st* stream) {
  return launch(layer, rows, pool, tokens, stream);
}

}  // namespace hybridscope
