// How many tokens each row of a batch has by its metadata alone, so that a count of the schedule
// can be held against it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/metadata/builder_metadata.h"

namespace hybridscope {

// `lengths`: [rows] tokens of each row without padding rows. False: the metadata does not tell all
// of them, or contradicts itself (its token counts or, for Mamba, its seq_lens say otherwise).
// `num_computed_tokens`: [rows].
bool tell_row_lengths(const BuilderMetadata& metadata,
                      std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths);

}  // namespace hybridscope
