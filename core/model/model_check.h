// Checks that a model's dimensions and a user's cache settings are in the supported range.
#pragma once

#include "core/base/result.h"
#include "core/model/model_layout.h"

namespace hybridscope {

// The largest dimension allowed, so that products of three of them can be guarded.
inline constexpr std::int64_t kMaxModelDim = std::int64_t{1} << 24;

// Dimensions must be 1 .. kMaxModelDim (conv kernels from 2; chunk_size and qk_rope_head_dim from
// 0), max_model_len 1 .. 2^31-1; at most 100,000 layers, at least one recurrent. Error: the first
// violation, with the name and value of the field.
Status check_model(const ModelSpec& model);

// check_model, and each setting within its range.
Status check_model_and_settings(const ModelSpec& model, const KVCacheSettings& settings);

}  // namespace hybridscope
