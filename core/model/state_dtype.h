// Dtypes of state tensors and of attention caches from the names a user gives, and the copy
// function kind of each state tensor (vLLM mamba_utils.py, MambaStateDtypeCalculator and
// MambaStateCopyFuncCalculator; semantics: state-dtypes).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

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
