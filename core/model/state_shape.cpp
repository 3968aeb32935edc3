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

namespace {

Error unknown_name(const char* setting, std::string_view name) {
  return invalid_input(std::string(setting) + " \"" + std::string(name) +
                       "\" is unknown; known: auto, float16 (half), bfloat16, float32 (float)");
}

// get_kv_cache_torch_dtype: the cache name, or the model's for "auto".
Result<Dtype> cache_dtype_of(const StateDtypeNames& names) {
  const bool automatic = names.mamba_cache_dtype == "auto";
  const std::string_view name = automatic ? names.model_dtype : names.mamba_cache_dtype;
  const auto dtype = parse_dtype(name);
  return dtype ? dtype : unknown_name(automatic ? "model dtype" : "mamba_cache_dtype", name);
}

// conv in the cache dtype, temporal in mamba_ssm_cache_dtype ("auto": the same).
Result<std::vector<Dtype>> conv_and_temporal_dtype(const StateDtypeNames& names) {
  const auto conv = cache_dtype_of(names);
  if (!conv) return conv.error();
  if (names.mamba_ssm_cache_dtype == "auto") return std::vector<Dtype>{conv.value(), conv.value()};
  const auto temporal = parse_dtype(names.mamba_ssm_cache_dtype);
  if (!temporal) return unknown_name("mamba_ssm_cache_dtype", names.mamba_ssm_cache_dtype);
  return std::vector<Dtype>{conv.value(), temporal.value()};
}

}  // namespace

std::int64_t dtype_size_bytes(Dtype dtype) { return dtype == Dtype::float32 ? 4 : 2; }

std::string_view dtype_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16: return "float16";
    case Dtype::bfloat16: return "bfloat16";
    case Dtype::float32: return "float32";
  }
  return "unknown";
}

Result<Dtype> parse_dtype(std::string_view name) {
  if (name == "float16" || name == "half") return Dtype::float16;
  if (name == "bfloat16") return Dtype::bfloat16;
  if (name == "float32" || name == "float") return Dtype::float32;
  return unknown_name("dtype", name);
}

Result<std::vector<Dtype>> linear_attention_state_dtype(const StateDtypeNames& names) {
  // Only the spelling "float32" is refused: a float32 model with "auto" is not
  // (semantics: state-dtypes).
  if (names.mamba_cache_dtype == "float32")
    return invalid_input("mamba_cache_dtype \"float32\" is not supported by linear attention");
  const auto dtype = cache_dtype_of(names);
  if (!dtype) return dtype.error();
  return std::vector<Dtype>{dtype.value()};
}

Result<std::vector<Dtype>> mamba1_state_dtype(const StateDtypeNames& names) {
  return conv_and_temporal_dtype(names);
}

Result<std::vector<Dtype>> mamba2_state_dtype(const StateDtypeNames& names) {
  return conv_and_temporal_dtype(names);
}

Result<std::vector<Dtype>> gated_delta_net_state_dtype(const StateDtypeNames& names) {
  return conv_and_temporal_dtype(names);
}

Result<std::vector<Dtype>> short_conv_state_dtype(const StateDtypeNames& names) {
  const auto dtype = cache_dtype_of(names);
  if (!dtype) return dtype.error();
  return std::vector<Dtype>{dtype.value()};
}

Result<std::vector<Dtype>> kda_state_dtype(const StateDtypeNames& names) {
  const auto dtype = cache_dtype_of(names);
  if (!dtype) return dtype.error();
  return std::vector<Dtype>{dtype.value(), dtype.value(), dtype.value(), Dtype::float32};
}

Result<std::vector<Dtype>> state_dtypes(MambaType mamba_type, const StateDtypeNames& names) {
  switch (mamba_type) {
    case MambaType::mamba1: return mamba1_state_dtype(names);
    case MambaType::mamba2: return mamba2_state_dtype(names);
    case MambaType::linear_attention: return linear_attention_state_dtype(names);
    case MambaType::short_conv: return short_conv_state_dtype(names);
    case MambaType::gdn_attention: return gated_delta_net_state_dtype(names);
    case MambaType::kda: return kda_state_dtype(names);
  }
  return invalid_input("mamba_type has no name");
}

std::vector<StateKind> state_copy_funcs(MambaType mamba_type) {
  switch (mamba_type) {
    case MambaType::mamba1:
    case MambaType::mamba2:
    case MambaType::gdn_attention: return {StateKind::conv, StateKind::temporal};
    case MambaType::linear_attention: return {StateKind::temporal};
    case MambaType::short_conv: return {StateKind::conv};
    case MambaType::kda:
      return {StateKind::conv, StateKind::conv, StateKind::conv, StateKind::temporal};
  }
  return {};
}

Result<std::int64_t> attention_dtype_size_bytes(const CacheDtypeNames& names) {
  // Every fp8 spelling is stored in one byte (STR_DTYPE_TO_TORCH_DTYPE: uint8).
  if (names.cache_dtype == "fp8" || names.cache_dtype == "fp8_e4m3" ||
      names.cache_dtype == "fp8_e5m2")
    return std::int64_t{1};
  const bool follow_model = names.cache_dtype == "auto";
  const auto dtype = parse_dtype(follow_model ? names.model_dtype : names.cache_dtype);
  if (!dtype)
    return follow_model ? unknown_name("model dtype", names.model_dtype)
                        : invalid_input("cache_dtype \"" + std::string(names.cache_dtype) +
                                        "\" is unknown; known: auto, float16 (half), bfloat16, "
                                        "float32 (float), fp8, fp8_e4m3, fp8_e5m2");
  return dtype_size_bytes(dtype.value());
}

}  // namespace hybridscope
