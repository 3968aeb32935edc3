// Which rows of a batch a GatedDeltaNet builder takes as spec rows: those with drafts to verify.
#pragma once

#include <cstdint>
#include <vector>

#include "core/metadata/gdn_metadata.h"

namespace hybridscope {

// Batch rows, ascending.
struct GdnRowLists {
  std::vector<std::int32_t> spec;
  std::vector<std::int32_t> non_spec;
};

// Of a batch of so many real rows. Without masks no row is a spec row.
inline GdnRowLists gdn_rows(const GdnMetadata& metadata, std::int32_t num_rows) {
  const auto& masks = metadata.spec_sequence_masks;
  GdnRowLists lists;
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const bool is_spec = masks.present && row < masks.rows && masks.at(row) != 0;
    (is_spec ? lists.spec : lists.non_spec).push_back(row);
  }
  return lists;
}

}  // namespace hybridscope
