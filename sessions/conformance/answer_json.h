// Core's answers as the vectors write them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/base/tensor_view.h"

namespace hybridscope {

// {"error": message}.
nlohmann::json error_json(const Error& error);

// A flat list, whatever the dimensions.
nlohmann::json list_json(const TensorView<std::int32_t>& view);

// A list of rows.
nlohmann::json rows_json(const TensorView<std::int32_t>& view);

}  // namespace hybridscope
