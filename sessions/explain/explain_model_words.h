// Phrases that the text and the JSON form of explain_model share.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/model_layout.h"

namespace hybridscope::model_words {

std::int64_t state_bytes(const StateTensorSpec& state);

// Why the effective cache mode was chosen; a sentence without its full stop.
std::string mode_reason(const ModelLayout& layout);

// What block_size must be a multiple of outside mode all, and why.
std::string alignment(const ModelLayout& layout);

// "12 layers, the fewest of a kind, because 36 is not below 1.5 * 12".
std::string group_size(const LayerGroups& groups);

}  // namespace hybridscope::model_words
