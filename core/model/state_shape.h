// Shapes and dtypes of the state tensors that one recurrent layer keeps per block, on one
// tensor-parallel rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// How a block holds a conv state.

// Order of a conv state's dimensions in a block: SD (state_len, dim), DS (dim, state_len).
enum class ConvStateLayout : std::uint8_t { SD, DS };

// Shapes of the state tensors that one recurrent layer keeps per block, on one tensor-parallel rank
// (vLLM model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator;
// semantics: state-shapes). Pure functions, exactly as in the reference; ConvStateSizing
// (core/model/model_layout.h) says how they are applied to a model that speculates.

using StateShape = std::vector<std::int64_t>;  // without the block dimension

// Dimensions of one layer before sharding, named as the reference's arguments.
struct Mamba1Dims {
  std::int64_t intermediate_size = 0;
  std::int64_t state_size = 0;
  std::int64_t conv_kernel = 0;
  friend bool operator==(const Mamba1Dims&, const Mamba1Dims&) = default;
};

struct Mamba2Dims {
  std::int64_t intermediate_size = 0;
  std::int64_t n_groups = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t state_size = 0;
  std::int64_t conv_kernel = 0;
  friend bool operator==(const Mamba2Dims&, const Mamba2Dims&) = default;
};

struct LinearAttentionDims {
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  friend bool operator==(const LinearAttentionDims&, const LinearAttentionDims&) = default;
};

struct ShortConvDims {
  std::int64_t intermediate_size = 0;
  std::int64_t conv_kernel = 0;
  friend bool operator==(const ShortConvDims&, const ShortConvDims&) = default;
};

struct GatedDeltaNetDims {
  std::int64_t num_k_heads = 0;
  std::int64_t num_v_heads = 0;
  std::int64_t head_k_dim = 0;
  std::int64_t head_v_dim = 0;
  std::int64_t conv_kernel_size = 0;
  friend bool operator==(const GatedDeltaNetDims&, const GatedDeltaNetDims&) = default;
};

struct KdaDims {
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::optional<std::int64_t> num_k_heads = {};  // absent: num_heads
  std::optional<std::int64_t> head_k_dim = {};   // absent: head_dim
  std::int64_t conv_kernel_size = 4;
  friend bool operator==(const KdaDims&, const KdaDims&) = default;
};

struct StateShapeOptions {
  std::int64_t tp_world_size = 1;
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;
  std::int64_t num_spec = 0;  // extra conv positions; only mamba2 and gated_delta_net use it
  friend bool operator==(const StateShapeOptions&, const StateShapeOptions&) = default;
};

// Each returns the shapes in the reference's order; conv shapes are (state_len, dim) for SD and
// (dim, state_len) for DS. Error: tp_world_size < 1, or it does not divide a sharded dimension.

// conv [conv_kernel-1, intermediate/tp], temporal [intermediate/tp, state_size].
Result<std::vector<StateShape>> mamba1_state_shape(const Mamba1Dims& dims,
                                                   const StateShapeOptions& options);

// conv [conv_kernel-1+num_spec, (intermediate + 2*groups*state_size)/tp] with groups extended by
// extra_groups_for_head_shards, temporal [num_heads/tp, head_dim, state_size].
Result<std::vector<StateShape>> mamba2_state_shape(const Mamba2Dims& dims,
                                                   const StateShapeOptions& options);

// temporal [num_heads // tp, head_dim, head_dim]; floor division, no divisibility check.
Result<std::vector<StateShape>> linear_attention_state_shape(const LinearAttentionDims& dims,
                                                             const StateShapeOptions& options);

// conv [conv_kernel-1, intermediate/tp].
Result<std::vector<StateShape>> short_conv_state_shape(const ShortConvDims& dims,
                                                       const StateShapeOptions& options);

// conv [conv_kernel_size-1+num_spec, (2*head_k_dim*num_k_heads + head_v_dim*num_v_heads)/tp],
// temporal [num_v_heads/tp, head_v_dim, head_k_dim].
Result<std::vector<StateShape>> gated_delta_net_state_shape(const GatedDeltaNetDims& dims,
                                                            const StateShapeOptions& options);

// q conv [conv_kernel_size-1, num_heads*head_dim/tp], two k convs [conv_kernel_size-1,
// num_k_heads*head_k_dim/tp], recurrent [num_heads/tp, head_dim, head_dim]. num_spec is ignored.
Result<std::vector<StateShape>> kda_state_shape(const KdaDims& dims,
                                                const StateShapeOptions& options);

// Groups to add so that each shard has the groups its heads need: 0 when tp_size divides ngroups,
// else tp_size - ngroups, which is negative for ngroups > tp_size. Error: tp_size < 1.
struct HeadShards {
  std::int64_t ngroups = 0;
  std::int64_t tp_size = 1;
};
Result<std::int64_t> extra_groups_for_head_shards(const HeadShards& shards);

// Dtypes of state tensors and of attention caches from the names a user gives, and the copy
// function kind of each state tensor (vLLM mamba_utils.py, MambaStateDtypeCalculator and
// MambaStateCopyFuncCalculator; semantics: state-dtypes).

// Bytes of one element: 2, 2, 4.
std::int64_t dtype_size_bytes(Dtype dtype);

// "float16", "bfloat16", "float32".
std::string_view dtype_name(Dtype dtype);

// "float16"/"half", "bfloat16", "float32"/"float"; error for any other name.
Result<Dtype> parse_dtype(std::string_view name);

// "auto" selects the default rule of each function below.
struct StateDtypeNames {
  std::string_view model_dtype = "bfloat16";
  std::string_view mamba_cache_dtype = "auto";      // auto: model_dtype
  std::string_view mamba_ssm_cache_dtype = "auto";  // auto: the conv dtype
};

// One dtype per state tensor, in the order of the state shapes. Error: a name that is used and
// unknown (model_dtype is used only when mamba_cache_dtype is auto).
Result<std::vector<Dtype>> linear_attention_state_dtype(const StateDtypeNames& names);  // refuses
                                                                                        // "float32"
Result<std::vector<Dtype>> mamba1_state_dtype(const StateDtypeNames& names);
Result<std::vector<Dtype>> mamba2_state_dtype(const StateDtypeNames& names);
Result<std::vector<Dtype>> short_conv_state_dtype(const StateDtypeNames& names);
Result<std::vector<Dtype>> gated_delta_net_state_dtype(const StateDtypeNames& names);
Result<std::vector<Dtype>> kda_state_dtype(const StateDtypeNames& names);  // 3 x cache, float32

// The dtypes of a layer's state tensors, chosen by its kind.
Result<std::vector<Dtype>> state_dtypes(MambaType mamba_type, const StateDtypeNames& names);

// Which copy function serves each state tensor of a layer: conv or temporal, in shape order.
std::vector<StateKind> state_copy_funcs(MambaType mamba_type);

// Bytes of one attention cache element for cache_config.cache_dtype: "auto" is the model dtype,
// fp8 names count 1. Error: unknown name.
struct CacheDtypeNames {
  std::string_view model_dtype = "bfloat16";
  std::string_view cache_dtype = "auto";
};
Result<std::int64_t> attention_dtype_size_bytes(const CacheDtypeNames& names);

}  // namespace hybridscope
