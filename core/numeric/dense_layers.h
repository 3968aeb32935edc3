// What the layers of a model share: linear layers, norms, rotary positions, the gated feed-forward
// layer (numerics: norms, MLP, logits; attention). Every function works on one token or one head.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace hybridscope
