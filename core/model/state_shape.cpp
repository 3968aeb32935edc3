#include "core/model/state_shape.h"

#include <string>

namespace hybridscope {
namespace {

struct Division {
  const char* what;
  std::int64_t numerator = 0;
  std::int64_t tp_world_size = 1;
};

// The reference's divide(): an inexact division is refused.
Result<std::int64_t> divide(const Division& division) {
  if (division.tp_world_size < 1)
    return invalid_input("tensor parallel size is " + std::to_string(division.tp_world_size) +
                         ", expected at least 1");
  if (division.numerator % division.tp_world_size != 0)
    return invalid_input(std::string(division.what) + " " + std::to_string(division.numerator) +
                         " is not divisible by the tensor parallel size " +
                         std::to_string(division.tp_world_size));
  return division.numerator / division.tp_world_size;
}

struct ConvWindow {
  std::int64_t dim = 0;
  std::int64_t state_len = 0;
};

StateShape orient_conv_shape(const ConvWindow& window, ConvStateLayout layout) {
  if (layout == ConvStateLayout::DS) return {window.dim, window.state_len};
  return {window.state_len, window.dim};
}

}  // namespace

Result<std::vector<StateShape>> mamba1_state_shape(const Mamba1Dims& dims,
                                                   const StateShapeOptions& options) {
  const auto dim = divide({"intermediate_size", dims.intermediate_size, options.tp_world_size});
  if (!dim) return dim.error();
  return std::vector<StateShape>{
      orient_conv_shape({dim.value(), dims.conv_kernel - 1}, options.conv_state_layout),
      {dim.value(), dims.state_size}};
}

Result<std::vector<StateShape>> mamba2_state_shape(const Mamba2Dims& dims,
                                                   const StateShapeOptions& options) {
  const auto extra =
      extra_groups_for_head_shards({.ngroups = dims.n_groups, .tp_size = options.tp_world_size});
  if (!extra) return extra.error();
  const std::int64_t n_groups = dims.n_groups + extra.value();
  const auto conv_dim =
      divide({"conv dimension (intermediate_size + 2 * n_groups * state_size)",
              dims.intermediate_size + 2 * n_groups * dims.state_size, options.tp_world_size});
  if (!conv_dim) return conv_dim.error();
  const auto heads = divide({"num_heads", dims.num_heads, options.tp_world_size});
  if (!heads) return heads.error();
  return std::vector<StateShape>{
      orient_conv_shape({conv_dim.value(), dims.conv_kernel - 1 + options.num_spec},
                        options.conv_state_layout),
      {heads.value(), dims.head_dim, dims.state_size}};
}

Result<std::vector<StateShape>> linear_attention_state_shape(const LinearAttentionDims& dims,
                                                             const StateShapeOptions& options) {
  if (options.tp_world_size < 1)
    return invalid_input("tensor parallel size is " + std::to_string(options.tp_world_size) +
                         ", expected at least 1");
  return std::vector<StateShape>{
      {dims.num_heads / options.tp_world_size, dims.head_dim, dims.head_dim}};
}

Result<std::vector<StateShape>> short_conv_state_shape(const ShortConvDims& dims,
                                                       const StateShapeOptions& options) {
  const auto dim = divide({"intermediate_size", dims.intermediate_size, options.tp_world_size});
  if (!dim) return dim.error();
  return std::vector<StateShape>{
      orient_conv_shape({dim.value(), dims.conv_kernel - 1}, options.conv_state_layout)};
}

Result<std::vector<StateShape>> gated_delta_net_state_shape(const GatedDeltaNetDims& dims,
                                                            const StateShapeOptions& options) {
  const auto conv_dim =
      divide({"conv dimension (2 * head_k_dim * num_k_heads + head_v_dim * num_v_heads)",
              dims.head_k_dim * dims.num_k_heads * 2 + dims.head_v_dim * dims.num_v_heads,
              options.tp_world_size});
  if (!conv_dim) return conv_dim.error();
  const auto heads = divide({"num_v_heads", dims.num_v_heads, options.tp_world_size});
  if (!heads) return heads.error();
  return std::vector<StateShape>{
      orient_conv_shape({conv_dim.value(), dims.conv_kernel_size - 1 + options.num_spec},
                        options.conv_state_layout),
      {heads.value(), dims.head_v_dim, dims.head_k_dim}};
}

Result<std::vector<StateShape>> kda_state_shape(const KdaDims& dims,
                                                const StateShapeOptions& options) {
  const std::int64_t num_k_heads = dims.num_k_heads.value_or(dims.num_heads);
  const std::int64_t head_k_dim = dims.head_k_dim.value_or(dims.head_dim);
  const auto proj = divide({"projection size (num_heads * head_dim)",
                            dims.num_heads * dims.head_dim, options.tp_world_size});
  if (!proj) return proj.error();
  const auto proj_k = divide({"key projection size (num_k_heads * head_k_dim)",
                              num_k_heads * head_k_dim, options.tp_world_size});
  if (!proj_k) return proj_k.error();
  const auto heads = divide({"num_heads", dims.num_heads, options.tp_world_size});
  if (!heads) return heads.error();
  const std::int64_t state_len = dims.conv_kernel_size - 1;
  const StateShape conv_k =
      orient_conv_shape({proj_k.value(), state_len}, options.conv_state_layout);
  return std::vector<StateShape>{
      orient_conv_shape({proj.value(), state_len}, options.conv_state_layout),
      conv_k,
      conv_k,
      {heads.value(), dims.head_dim, dims.head_dim}};
}

Result<std::int64_t> extra_groups_for_head_shards(const HeadShards& shards) {
  if (shards.tp_size < 1)
    return invalid_input("tensor parallel size is " + std::to_string(shards.tp_size) +
                         ", expected at least 1");
  if (shards.ngroups % shards.tp_size == 0) return std::int64_t{0};
  return shards.tp_size - shards.ngroups;
}

}  // namespace hybridscope
