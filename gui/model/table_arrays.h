// What a group's layers are told of where tokens go, as arrays: the worker's block table of the
// batch, and the slot of each token for attention.
#pragma once

#include <string_view>
#include <vector>

#include "gui/model/metadata_model.h"

namespace hybridscope {

// block_table_tensor where the trace has it, up to the last column that holds a block, and
// slot_mapping of an attention group that wrote. Rows and tokens of padding are among them.
std::vector<MetadataArray> table_arrays(const StepView& view, const GroupTrace& group);

inline constexpr std::string_view kTableNote =
    "block_table_tensor: columns behind the last block are left out";

}  // namespace hybridscope
