#include <algorithm>

#include "kernels/numeric/fold_rows.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

// Channels are the rows of one head.
template <int kRows, int kChunks, Fit kFit>
struct Mamba1Step {
  using PartOf = Part<kRows, kChunks, kFit>;
  template <class T>
  static constexpr int kRowsTogether = 1;
  static constexpr int kLanes = PartOf::kLanes;
  static constexpr int kThreadRows = PartOf::kThreadRows;

  Mamba1Layer layer;
  Mamba1Tokens io;

  struct Fixed {
    float A[kThreadRows][kChunks][kLanes] = {};
    float D = 0;  // of the lane's own row, as dt_bias
    float dt_bias = 0;
  };
  struct Prepared {
    alignas(16) float B[kWarp * kChunks];
    alignas(16) float C[kWarp * kChunks];
  };
  struct Loaded {};
  struct Own {
    float x = 0;
    float delta = 0;
    float z = 0;
  };

  __device__ Fixed fixed(const PartOf& part) const {
    Fixed values;
    const std::int64_t channels = part.first;
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r)
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
#pragma unroll
        for (int i = 0; i < kLanes; ++i)
          if (part.has_row(r) && part.has(c))
            values.A[r][c][i] = -quick_exp_f32(
                layer.A_log[(channels + part.row(r)) * layer.state_size + part.element(c) + i]);
    if (part.has_own_row()) {
      values.D = layer.D[channels + part.own_row()];
      values.dt_bias = layer.dt_bias[channels + part.own_row()];
    }
    return values;
  }

  // Nothing that could begin early matters here.
  template <class Warps>
  __device__ Loaded load(const BatchTokens&, std::int32_t, const Warps&) const {
    return {};
  }

  template <class Warps>
  __device__ void prepare(Prepared* prepared, const Loaded&, const BatchTokens& tokens,
                          std::int32_t, const Warps& team) const {
    for (std::int32_t t = team.warp(); t < tokens.size(); t += team.num_warps()) {
      const std::int64_t at = static_cast<std::int64_t>(tokens.first + t) * layer.state_size;
#pragma unroll
      for (int i = team.lane(); i < kWarp * kChunks; i += kWarp) {
        prepared[t].B[i] = i < layer.state_size ? io.B[at + i] : 0.0F;
        prepared[t].C[i] = i < layer.state_size ? io.C[at + i] : 0.0F;
      }
    }
  }

  __device__ Own own(std::int32_t token, const PartOf& part) const {
    if (!part.has_own_row()) return {};
    const std::int64_t at = index(token, part);
    return {io.x[at], io.delta[at], io.z[at]};
  }

  template <class State>
  __device__ float fold(State& state, const Prepared& prepared, const Own& own, const Fixed& fixed,
                        const PartOf& part) const {
    const float own_delta = quick_softplus_f32(own.delta + fixed.dt_bias);
    float deltas[kThreadRows], x[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      deltas[r] = part.of_row(own_delta, r);
      x[r] = part.of_row(own.x, r);
    }
    float sums[kThreadRows * kLanes] = {};
    state.before_writes();
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      float B[kLanes], C[kLanes];
      part.read(prepared.B, c, B);
      part.read(prepared.C, c, C);
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        float values[kLanes];
        state.read(values, r, c);
#pragma unroll
        for (int i = 0; i < kLanes; ++i) {
          values[i] =
              values[i] * quick_exp_f32(deltas[r] * fixed.A[r][c][i]) + B[i] * deltas[r] * x[r];
          sums[r * kLanes + i] += part.masked(c, values[i] * C[i]);
        }
        state.write(values, r, c);
      }
    }
    const float out = PartOf::Sums::total(sums, part.lane) + own.x * fixed.D;
    return out * quick_silu_f32(own.z);
  }

  __device__ float* output(std::int32_t token, const PartOf& part) const {
    return io.y.data() + index(token, part);
  }

 private:
  // The index of the lane's own row in x, delta, z and y.
  __device__ std::int64_t index(std::int32_t token, const PartOf& part) const {
    return static_cast<std::int64_t>(token) * layer.intermediate_size + part.first + part.own_row();
  }
};

template <class Rows>
Status launch(const Mamba1Layer& layer, const Rows& rows, const StatePool& pool,
              const Mamba1Tokens& tokens, CUstream_st* stream) {
  const MatrixShape shape{1, layer.intermediate_size, layer.state_size};
  if (shape.head_rows == 0) return Ok{};
  const auto num_tokens = static_cast<std::int32_t>(std::ssize(tokens.y) / shape.head_rows);
  return launch_fold_of<Mamba1Step>(shape, rows, device_pool(pool), num_tokens, true, stream, layer,
                                    tokens);
}

}  // namespace

Status mamba1_update_cuda(const Mamba1Layer& layer, const DecodeRows& rows, const StatePool& pool,
                          const Mamba1Tokens& tokens, CUstream_st* stream) {
  return launch(layer, rows, pool, tokens, stream);
}

Status mamba1_prefill_cuda(const Mamba1Layer& layer, const PrefillRows& rows, const StatePool& pool,
                           const Mamba1Tokens& tokens, CUstream_st* stream) {
  return launch(layer, rows, pool, tokens, stream);
}

namespace {

template <int kRows, int kChunks, Fit kFit>
struct Mamba2Step {
  using PartOf = Part<kRows, kChunks, kFit>;
  template <class T>
  static constexpr int kRowsTogether = 1;
  static constexpr int kLanes = PartOf::kLanes;
  static constexpr int kThreadRows = PartOf::kThreadRows;

  Mamba2Layer layer;
  Mamba2Tokens io;
  std::int32_t heads_of_group = 0;

  struct Fixed {
    float D = 0;
  };
  struct Prepared {
    alignas(16) float B[kWarp * kChunks];
    alignas(16) float C[kWarp * kChunks];
    float dt;
    float decay;
  };
  // The first warp has a token in each lane, the others B or C of one.
  template <int kAhead>
  struct Loaded {
    float dt = 0;
    float dt_bias = 0;
    float A_log = 0;
    VectorsAhead<kChunks, kAhead> vectors;
  };
  struct Own {
    float x = 0;
  };

  __device__ Fixed fixed(const PartOf& part) const { return {layer.D[part.head]}; }

  template <int kTokens>
  __device__ auto load(const BatchTokens& tokens, std::int32_t head,
                       const Team<kTokens>& team) const {
    Loaded<Team<kTokens>::kAhead> loaded;
    if (const std::int32_t token = tokens.first + team.lane();
        team.is_first() && token < tokens.last) {
      loaded.dt = io.dt[static_cast<std::int64_t>(token) * layer.num_heads + head];
      loaded.dt_bias = layer.dt_bias[head];
      loaded.A_log = layer.A_log[head];
    }
    team.load(loaded.vectors, 2 * tokens.size(), vectors_of(tokens.first, head, team.lane()));
    return loaded;
  }

  template <int kTokens>
  __device__ void prepare(Prepared* prepared, Loaded<Team<kTokens>::kAhead>& loaded,
                          const BatchTokens& tokens, std::int32_t head,
                          const Team<kTokens>& team) const {
    const int lane = team.lane();
    if (team.is_first() && lane < tokens.size()) {
      float dt = quick_softplus_f32(loaded.dt + loaded.dt_bias);
      if (layer.has_dt_limit) dt = std::clamp(dt, layer.dt_min, layer.dt_max);
      prepared[lane].dt = dt;
      prepared[lane].decay = quick_exp_f32(dt * -quick_exp_f32(loaded.A_log));
    }
    team.use(loaded.vectors, 2 * tokens.size(), vectors_of(tokens.first, head, lane),
             [&](const float(&vector)[kChunks], int i) {
               float* to = i % 2 == 0 ? prepared[i / 2].B : prepared[i / 2].C;
#pragma unroll
               for (int c = 0; c < kChunks; ++c) to[lane + c * kWarp] = vector[c];
             });
  }

  __device__ Own own(std::int32_t token, const PartOf& part) const {
    return {part.has_own_row() ? io.x[index(token, part)] : 0.0F};
  }

  template <class State>
  __device__ float fold(State& state, const Prepared& prepared, const Own& own, const Fixed& fixed,
                        const PartOf& part) const {
    const float decay = prepared.decay;
    const float dt = prepared.dt;
    float x[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) x[r] = part.of_row(own.x, r);
    float sums[kThreadRows * kLanes] = {};
    state.before_writes();
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      float B[kLanes], C[kLanes], inputs[kLanes];
      part.read(prepared.B, c, B);
      part.read(prepared.C, c, C);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) inputs[i] = B[i] * dt;
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        float values[kLanes];
        state.read(values, r, c);
#pragma unroll
        for (int i = 0; i < kLanes; ++i) {
          values[i] = values[i] * decay + inputs[i] * x[r];
          sums[r * kLanes + i] += part.masked(c, values[i] * C[i]);
        }
        state.write(values, r, c);
      }
    }
    return PartOf::Sums::total(sums, part.lane) + own.x * fixed.D;
  }

  __device__ float* output(std::int32_t token, const PartOf& part) const {
    return io.y.data() + index(token, part);
  }

 private:
  // Loads of vectors: 2 t is B of token first + t, 2 t + 1 its C; zeros behind the end.
  __device__ auto vectors_of(std::int32_t first, std::int32_t head, int lane) const {
    const std::int32_t group = head / heads_of_group;
    return [this, first, group, lane](float(&vector)[kChunks], int i) {
      const std::int64_t row = static_cast<std::int64_t>(first + i / 2) * layer.num_groups + group;
      const float* from = (i % 2 == 0 ? io.B : io.C).data() + row * layer.state_size;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int at = lane + c * kWarp;
        vector[c] = at < layer.state_size ? from[at] : 0.0F;
      }
    };
  }

  // The index of the lane's own row in x and y.
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
                                    tokens, layer.num_heads / layer.num_groups);
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
