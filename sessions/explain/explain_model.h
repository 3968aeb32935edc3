// A model's cache layout in words and numbers: shapes, dtypes, page and block size with the
// reasons, padding, groups, blocks (`hybridscope model`).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/model/model_layout.h"

namespace hybridscope {

// Lines of at most 100 columns, newline at the end.
std::string explain_model(const ModelLayout& layout);

// The facts of explain_model() as one object; keys in the order of the text.
nlohmann::ordered_json explain_model_json(const ModelLayout& layout);

}  // namespace hybridscope

namespace hybridscope::model_words {

// Phrases that the text and the JSON form of explain_model share.

std::int64_t state_bytes(const StateTensorSpec& state);

// Why the effective cache mode was chosen; a sentence without its full stop.
std::string mode_reason(const ModelLayout& layout);

// What block_size must be a multiple of outside mode all, and why.
std::string alignment(const ModelLayout& layout);

// "12 layers, the fewest of a kind, because 36 is not below 1.5 * 12".
std::string group_size(const LayerGroups& groups);

}  // namespace hybridscope::model_words
