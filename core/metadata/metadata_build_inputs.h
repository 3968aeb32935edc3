// What any metadata builder is given for a step; each reads what it needs.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"
#include "core/base/tensor_view.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_decode_buffers.h"

namespace hybridscope {

// How a builder wants the rows of a batch divided; the caller divides them by what they are.
enum class RowPartition : std::uint8_t {
  decodes_then_prefills,  // one border: MetadataBuildInputs::split
  spec_and_non_spec,      // a mask: MetadataBuildInputs::gdn_row_classes
};

struct MetadataBuildInputs {
  CommonAttentionMetadata common{};
  TensorView<std::int32_t> num_accepted_tokens{};  // [num_reqs], absent: not given
  BatchSplit split{};                              // RowPartition::decodes_then_prefills
  GdnRowClasses gdn_row_classes{};                 // RowPartition::spec_and_non_spec
  PolicySet policies{};
};

}  // namespace hybridscope
