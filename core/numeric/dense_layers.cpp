#include "core/numeric/dense_layers.h"

#include <cmath>

#include "core/numeric/arithmetic.h"

namespace hybridscope {
namespace {

// rsqrt(mean of squares + eps)
float inverse_rms(std::span<const float> x, float eps) {
  const auto n = static_cast<std::int64_t>(x.size());
  return rsqrt_f32(OrderedSum::dot(x.data(), x.data(), n) / static_cast<float>(n) + eps);
}

}  // namespace

void linear(std::span<const float> weight, std::span<const float> x, std::span<float> y) {
  const auto n = static_cast<std::int64_t>(x.size());
  for (std::size_t o = 0; o < y.size(); ++o)
    y[o] = OrderedSum::dot(weight.data() + o * x.size(), x.data(), n);
}

void linear_rows(std::span<const float> weight, std::span<const float> x, std::size_t num_rows,
                 std::span<float> y) {
  if (num_rows == 0) return;
  const std::size_t inputs = x.size() / num_rows;
  const std::size_t outputs = y.size() / num_rows;
  for (std::size_t row = 0; row < num_rows; ++row)
    linear(weight, x.subspan(row * inputs, inputs), y.subspan(row * outputs, outputs));
}

void rms_norm(const RmsNorm& norm, std::span<const float> x, std::span<float> y) {
  const float scale = inverse_rms(x, norm.eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scaled = x[i] * scale;
    y[i] = norm.kind == NormWeight::plus_one ? scaled * (1.0F + norm.weight[i])
                                             : norm.weight[i] * scaled;
  }
}

void gated_norm(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                std::span<const float> z, std::span<float> y) {
  const std::size_t part = x.size() / static_cast<std::size_t>(groups);
  std::vector<float> gated(part);
  for (std::size_t first = 0; first < x.size(); first += part) {
    for (std::size_t i = 0; i < part; ++i) gated[i] = x[first + i] * silu_f32(z[first + i]);
    rms_norm({norm.weight.subspan(first, part), norm.eps, norm.kind}, gated,
             y.subspan(first, part));
  }
}

void norm_gated(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                std::span<const float> z, std::span<float> y) {
  rms_norm(norm, x, y);
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] *= gate == OutputGate::silu ? silu_f32(z[i]) : sigma_f32(z[i]);
}

void gated_mlp(const GatedMlp& mlp, std::span<const float> x, std::span<float> y) {
  const auto inner = static_cast<std::size_t>(mlp.inner);
  std::vector<float> gate(inner);
  std::vector<float> up(inner);
  linear(mlp.gate, x, gate);
  linear(mlp.up, x, up);
  for (std::size_t i = 0; i < inner; ++i) gate[i] = silu_f32(gate[i]) * up[i];
  linear(mlp.down, gate, y);
}

RopeTable::RopeTable(std::int32_t rotary_dim, double theta)
    : rotary_dim_(rotary_dim), theta_(theta) {}

void RopeTable::grow(std::int32_t position) {
  const std::int32_t half = rotary_dim_ / 2;
  auto known = half == 0 ? position + 1 : static_cast<std::int32_t>(cosines_.size()) / half;
  for (; known <= position; ++known)
    for (std::int32_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(known) *
                           std::pow(theta_, -2.0 * i / static_cast<double>(rotary_dim_));
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
    }
}

std::span<const float> RopeTable::cosines(std::int32_t num_positions) {
  grow(num_positions - 1);
  const std::int32_t size = num_positions * (rotary_dim_ / 2);
  return std::span<const float>(cosines_).first(static_cast<std::size_t>(size));
}

std::span<const float> RopeTable::sines(std::int32_t num_positions) {
  grow(num_positions - 1);
  const std::int32_t size = num_positions * (rotary_dim_ / 2);
  return std::span<const float>(sines_).first(static_cast<std::size_t>(size));
}

void RopeTable::turn(std::int32_t position, std::span<float> head) {
  grow(position);
  const auto half = static_cast<std::size_t>(rotary_dim_ / 2);
  const std::size_t row = static_cast<std::size_t>(position) * half;
  for (std::size_t i = 0; i < half; ++i) {
    const float cosine = cosines_[row + i];
    const float sine = sines_[row + i];
    const float low = head[i];
    const float high = head[i + half];
    head[i] = low * cosine - high * sine;
    head[i + half] = high * cosine + low * sine;
  }
}

}  // namespace hybridscope
