// The policy of the GDN builder. The values are in the order of the releases.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// How does the GDN builder lay a batch out? (known bug 6; semantics: gdn-batch)
enum class GdnBatch : std::uint8_t {
  padded_to_tokens,          // graph: as many rows as tokens; decodes beside prefills run with them
  padded_to_rows,            // 0.24.0: as many rows as requests; such decodes run by themselves
  first_chunks_as_prefills,  // 0.31.0: of one token too; padding rows are not counted as prefills
};
template <>
struct PolicyOf<GdnBatch> : PolicyAt<GdnBatch::padded_to_tokens, 66> {};

}  // namespace hybridscope
