// Are a model's dimensions and a user's cache settings within what the sizes are computed for?
#pragma once

#include "core/base/result.h"
#include "core/model/model_layout.h"

namespace hybridscope {

// No dimension may be larger, so that products of three of them can be guarded.
inline constexpr std::int64_t kMaxModelDim = std::int64_t{1} << 24;

// Dimensions are 1 .. kMaxModelDim (chunk_size from 0), max_model_len 1 .. 2^31-1, the model has a
// recurrent layer. Error: the first field that is not, with its name and value.
Status check_model(const ModelSpec& model);

// check_model, and each setting within its range.
Status check_model_and_settings(const ModelSpec& model, const KVCacheSettings& settings);

}  // namespace hybridscope
