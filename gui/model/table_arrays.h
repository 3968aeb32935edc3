// The arrays that tell a group's layers where tokens go: the worker's block table of the batch, and
// for attention the slot of each token.
#pragma once

#include <string_view>
#include <vector>

#include "gui/model/metadata_model.h"

namespace hybridscope {

// block_table_tensor if the trace has it, up to the last column that holds a block, and
// slot_mapping of an attention group that wrote. Padding rows and tokens are included.
std::vector<MetadataArray> table_arrays(const StepView& view, const GroupTrace& group);

inline constexpr std::string_view kTableNote =
    "block_table_tensor: columns behind the last block are left out";

}  // namespace hybridscope
