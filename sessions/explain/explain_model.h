// A model's cache layout in words and numbers: shapes, dtypes, page and block size with the
// reasons, padding, groups, blocks (`hybridscope model`).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/model/model_layout.h"

namespace hybridscope {

// Lines of at most 100 columns, newline at the end.
std::string explain_model(const ModelLayout& layout);

// The facts of explain_model() as one object; keys in the order of the text.
nlohmann::ordered_json explain_model_json(const ModelLayout& layout);

}  // namespace hybridscope
