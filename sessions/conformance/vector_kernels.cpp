#include "sessions/conformance/vector_kernels.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "core/numeric/arithmetic.h"

namespace hybridscope {
namespace {

// A function of core as a kernel, which cannot fail.
template <auto kFunction>
constexpr auto always = [](auto&&... in) -> Status {
  kFunction(std::forward<decltype(in)>(in)...);
  return Ok{};
};

template <float (*kFunction)(float)>
Status apply(std::span<const float> x, std::span<float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = kFunction(x[i]);
  return Ok{};
}

Status dots(std::span<const float> a, std::span<const float> b, std::span<float> y) {
  const std::size_t n = y.empty() ? 0 : a.size() / y.size();
  for (std::size_t row = 0; row < y.size(); ++row)
    y[row] = OrderedSum::dot(a.data() + row * n, b.data() + row * n, static_cast<std::int64_t>(n));
  return Ok{};
}

Status turn(RopeTable& table, std::span<const std::int32_t> positions, std::int32_t head_dim,
            std::span<float> heads) {
  const auto dim = static_cast<std::size_t>(head_dim);
  const std::size_t of_token = positions.empty() ? 0 : heads.size() / positions.size();
  for (std::size_t t = 0; t < positions.size(); ++t)
    for (std::size_t first = 0; first < of_token; first += dim)
      table.turn(positions[t], heads.subspan(t * of_token + first, dim));
  return Ok{};
}

// `norm(x row, z row, y row)` for every row of n; `z` may be empty.
template <class Norm>
Status for_each_row(std::size_t n, std::span<const float> x, std::span<const float> z,
                    std::span<float> y, Norm&& norm) {
  for (std::size_t first = 0; first < x.size(); first += n)
    norm(x.subspan(first, n), z.empty() ? z : z.subspan(first, n), y.subspan(first, n));
  return Ok{};
}

Status run_gated_mlp(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                     std::span<float> y) {
  const auto tokens = static_cast<std::size_t>(num_tokens);
  const std::size_t inputs = tokens == 0 ? 0 : x.size() / tokens;
  const std::size_t outputs = tokens == 0 ? 0 : y.size() / tokens;
  for (std::size_t t = 0; t < tokens; ++t)
    gated_mlp(mlp, x.subspan(t * inputs, inputs), y.subspan(t * outputs, outputs));
  return Ok{};
}

// The gates around the convolution that `conv` runs.
template <auto kConv, class Rows>
Status short_conv_on_host(const ConvLayer& layer, const Rows& rows, const StatePool& pool,
                          std::span<const float> BCx, std::span<float> y) {
  const auto dim = static_cast<std::size_t>(layer.dim);
  std::vector<float> x(y.size());
  const auto of_token = [&](std::size_t i) { return i / dim * 3 * dim + i % dim; };
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = BCx[of_token(i)] * BCx[of_token(i) + 2 * dim];
  kConv(layer, rows, pool, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i) y[i] *= BCx[of_token(i) + dim];
  return Ok{};
}

}  // namespace

NumericKernels host_numeric_kernels() {
  return {
      .exp = &apply<&exp_f32>,
      .softplus = &apply<&softplus_f32>,
      .sigma = &apply<&sigma_f32>,
      .silu = &apply<&silu_f32>,
      .dots = &dots,
      .rope = &turn,
      .rms_norm =
          [](const RmsNorm& norm, std::span<const float> x, std::span<float> y) {
            return for_each_row(norm.weight.size(), x, {}, y,
                                [&](auto from, auto, auto to) { rms_norm(norm, from, to); });
          },
      .gated_norm =
          [](const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
             std::span<const float> z, std::span<float> y) {
            return for_each_row(norm.weight.size(), x, z, y, [&](auto from, auto gate, auto to) {
              gated_norm(norm, groups, from, gate, to);
            });
          },
      .norm_gated =
          [](const RmsNorm& norm, OutputGate by, std::span<const float> x, std::span<const float> z,
             std::span<float> y) {
            return for_each_row(norm.weight.size(), x, z, y, [&](auto from, auto gate, auto to) {
              norm_gated(norm, by, from, gate, to);
            });
          },
      .gated_mlp = &run_gated_mlp,
      .paged_attention = always<&paged_attention>,
      .conv_prefill = always<&conv_prefill>,
      .conv_update = always<&conv_update>,
      .short_conv_prefill = &short_conv_on_host<&conv_prefill, PrefillRows>,
      .short_conv_update = &short_conv_on_host<&conv_update, DecodeRows>,
      .mamba1_prefill = always<&mamba1_prefill>,
      .mamba1_update = always<&mamba1_update>,
      .mamba2_prefill = always<&mamba2_prefill>,
      .mamba2_prefill_chunked = always<&mamba2_prefill_chunked>,
      .mamba2_update = always<&mamba2_update>,
      .delta_rule_prefill = always<&delta_rule_prefill>,
      .delta_rule_prefill_chunked = always<&delta_rule_prefill_chunked>,
      .delta_rule_update = always<&delta_rule_update>,
      .lightning_prefill = always<&lightning_prefill>,
      .lightning_update = always<&lightning_update>,
  };
}

NumericKernels counted(NumericKernels kernels, std::int64_t& num_launches) {
  const auto count_all = [&](auto&... kernel) { (count_calls(kernel, num_launches), ...); };
  count_all(kernels.exp, kernels.softplus, kernels.sigma, kernels.silu, kernels.dots, kernels.rope,
            kernels.rms_norm, kernels.gated_norm, kernels.norm_gated, kernels.gated_mlp,
            kernels.paged_attention, kernels.conv_prefill, kernels.conv_update,
            kernels.short_conv_prefill, kernels.short_conv_update, kernels.mamba1_prefill,
            kernels.mamba1_update, kernels.mamba2_prefill, kernels.mamba2_prefill_chunked,
            kernels.mamba2_update, kernels.delta_rule_prefill, kernels.delta_rule_prefill_chunked,
            kernels.delta_rule_update, kernels.lightning_prefill, kernels.lightning_update);
  return kernels;
}

void expect_launched(const Status& status) {
  if (status) return;
  const Error& error = status.error();
  if (error.kind == ErrorKind::device || error.kind == ErrorKind::not_available)
    throw VectorKernelError(error);
  throw std::runtime_error(error.message);
}

VectorKernels counted(VectorKernels kernels, std::int64_t& num_launches) {
  count_calls(kernels.execute_copies, num_launches);
  count_calls(kernels.fused_postprocess, num_launches);
  count_calls(kernels.fused_postprocess_align, num_launches);
  count_calls(kernels.advance_and_precopy, num_launches);
  count_calls(kernels.gather_block_table, num_launches);
  kernels.numeric = counted(std::move(kernels.numeric), num_launches);
  return kernels;
}

}  // namespace hybridscope
