// The forward of one step on symbolic state: reads the metadata of every KV-cache group as the
// layer kernels would and runs each row (FORWARD.md).
#pragma once

#include "core/check/check_context.h"
#include "core/check/row_truth.h"

namespace hybridscope {

// Recurrent layers of one group.
void execute_mamba_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Keys and values of one attention group: slots are filled without gaps, and those that a prefix
// hit serves hold that prefix.
void execute_attention_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Attention blocks that admitted requests got from the prefix cache. Call before the forward.
void check_prefix_hits(CheckContext& context);

}  // namespace hybridscope
