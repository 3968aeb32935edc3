// The sizes of a SizeAnswer in sentences and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/model/model_layout.h"
#include "sessions/plan/size_answer.h"

namespace hybridscope {

// "block 544 and not 528 tokens, because the state of a layer needs 1,097,728 bytes: ..": why the
// block has this size, with the numbers of the layout. Without full stop.
std::string why_block_size(const ModelLayout& layout);

// A page of text.
std::string explain_sizes(const SizeAnswer& answer, const std::vector<SizeChange>& changes);

// The facts of explain_sizes() as one object.
nlohmann::ordered_json sizes_to_json(const SizeAnswer& answer,
                                     const std::vector<SizeChange>& changes);

}  // namespace hybridscope
