#include "core/metadata/metadata_description.h"

#include "core/base/ids.h"

namespace hybridscope {

std::int32_t BoundaryChunks::tokens_at(std::int32_t i) const {
  const std::int32_t chunk = first_chunk + i * stride;
  const bool is_own = chunk >= 0 && chunk < seq_idx.rows && chunk + 1 < cu_chunk_seqlen.rows &&
                      seq_idx.at(chunk) == sequence;
  return is_own ? cu_chunk_seqlen.at(chunk + 1) - first_token : -1;
}

std::int32_t StateAccess::block_at(std::int32_t column) const {
  const auto place = static_cast<std::size_t>(column);
  return column >= 0 && place < blocks.size() ? blocks[place] : kPadSlotId;
}

std::int32_t MetadataRows::batch_row(ArrayRows rows, std::int64_t index) const {
  const auto number = static_cast<std::int32_t>(index);
  const auto pick = [&](const std::vector<std::int32_t>& list) {
    const auto place = static_cast<std::size_t>(index);
    return place < list.size() ? list[place] : -1;
  };
  switch (rows) {
    case ArrayRows::none:
      return -1;
    case ArrayRows::batch:
    case ArrayRows::decodes:
      return number;
    case ArrayRows::prefills:
      return first_prefill_row + number;
    case ArrayRows::spec:
      return pick(spec);
    case ArrayRows::non_spec:
      return pick(non_spec);
  }
  return -1;
}

}  // namespace hybridscope
