// What the layers of a model share: linear layers, norms, rotary positions, the gated feed-forward
// layer, paged attention (numerics: norms, MLP, logits; attention). Every function works on one
// token or one head.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/math.h"
#include "core/base/tensor_view.h"

namespace hybridscope {

// y[o] = R32(weight[o] x); `weight`: [y, x].
void linear(std::span<const float> weight, std::span<const float> x, std::span<float> y);
// linear() of each of `num_rows` rows: x [rows, inputs], y [rows, outputs].
void linear_rows(std::span<const float> weight, std::span<const float> x, std::size_t num_rows,
                 std::span<float> y);

enum class NormWeight : std::uint8_t { plain, plus_one };
struct RmsNorm {
  std::span<const float> weight;  // [n]
  float eps = 0;
  NormWeight kind = NormWeight::plain;
};
// y = x rsqrt(mean of squares + eps), weighted. `x` and `y` may be one array.
void rms_norm(const RmsNorm& norm, std::span<const float> x, std::span<float> y);

// Mamba2: the gate comes before the norm; each of `groups` equal parts has a mean of its own.
void gated_norm(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                std::span<const float> z, std::span<float> y);

enum class OutputGate : std::uint8_t { silu, sigma };
// GatedDeltaNet and KDA: the norm of one value head comes before the gate.
void norm_gated(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                std::span<const float> z, std::span<float> y);

// down(silu(gate(x)) up(x)); `gate`, `up`: [inner, x], `down`: [y, inner].
struct GatedMlp {
  std::span<const float> gate;
  std::span<const float> up;
  std::span<const float> down;
  std::int32_t inner = 0;
};
void gated_mlp(const GatedMlp& mlp, std::span<const float> x, std::span<float> y);

// Cosines and sines of rotary positions, grown as positions come.
class RopeTable {
 public:
  // `rotary_dim`: even, at most the head's.
  RopeTable(std::int32_t rotary_dim, double theta);
  // Turns the first rotary_dim elements of one head in place, in halves; the rest stays.
  void turn(std::int32_t position, std::span<float> head);
  std::int32_t rotary_dim() const { return rotary_dim_; }
  // [num_positions, rotary_dim / 2] of positions from 0 on, for kernels that turn by the same
  // numbers.
  std::span<const float> cosines(std::int32_t num_positions);
  std::span<const float> sines(std::int32_t num_positions);

 private:
  void grow(std::int32_t position);
  std::int32_t rotary_dim_;
  double theta_;
  std::vector<float> cosines_, sines_;  // [positions, rotary_dim / 2]
};

// Attention of a batch's rows over keys and values in paged blocks (numerics: attention).

// Query head h uses key head h / (H / Hkv).
struct AttentionLayer {
  std::int32_t num_heads = 0;     // H
  std::int32_t num_kv_heads = 0;  // Hkv
  std::int32_t head_dim = 0;      // D
  std::int32_t block_size = 0;    // Ba, tokens
};

// Keys and values, each [blocks, Ba, Hkv, D]. Block 0 is never written.
struct KvCache {
  std::span<float> keys;
  std::span<float> values;
};

struct AttentionRows {
  std::span<const std::int32_t> query_start_loc;  // [rows + 1]
  std::span<const std::int32_t> seq_lens;         // [rows] computed tokens and the row's own
  TensorView<std::int32_t> block_table;           // [rows, columns]

  HS_HOST_DEVICE std::int32_t num_rows() const {
    return static_cast<std::int32_t>(seq_lens.size());
  }
  // The position of the row's token t; negative: the row has no tokens.
  std::int32_t position(std::int32_t row, std::int32_t t) const;
};

struct AttentionTokens {
  std::span<const float> q;  // [tokens, H, D] after norm and rope
  std::span<const float> k;  // [tokens, Hkv, D] after norm and rope
  std::span<const float> v;  // [tokens, Hkv, D]
  std::span<float> o;        // [tokens, H, D]; outputs of tokens that no row has stay
};

// All rows write their keys and values first; then each query attends to positions 0 to its own.
// Positions decide the order of every sum, not blocks. A slot in no block is not written; what lies
// there is read as it is.
void paged_attention(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                     const AttentionTokens& tokens);

}  // namespace hybridscope
