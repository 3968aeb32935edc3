#include "core/engine/batch_slots_v2.h"

#include <numeric>

#include "core/base/result.h"

namespace hybridscope {

BatchSlotsV2::BatchSlotsV2(std::int32_t max_num_reqs, std::span<const std::int32_t> columns)
    : slots_(static_cast<std::size_t>(max_num_reqs)),
      align_(make_align_slots(max_num_reqs)),
      num_computed_tokens_(static_cast<std::size_t>(max_num_reqs), 0),
      free_slots_(static_cast<std::size_t>(max_num_reqs)) {
  std::iota(free_slots_.begin(), free_slots_.end(), 0);
  for (const std::int32_t width : columns) {
    tables_.emplace_back(max_num_reqs, width);
    input_tables_.emplace_back(max_num_reqs, width);
  }
}

std::int32_t BatchSlotsV2::slot_of(RequestId request) const {
  const auto index = static_cast<std::size_t>(request.value);
  return index < slot_of_.size() ? slot_of_[index] : -1;
}

void BatchSlotsV2::start_step() {
  for (RequestSlot& slot : slots_) {
    slot.previous_row = slot.row;
    slot.row = -1;
  }
}

std::int32_t BatchSlotsV2::add(const AdmittedRequest& admitted) {
  HS_EXPECT(!free_slots_.empty() && slot_of(admitted.request) < 0);
  const std::int32_t index = free_slots_.back();
  free_slots_.pop_back();
  RequestSlot& added = slot(index);
  added.request = admitted.request;
  num_computed_tokens_[static_cast<std::size_t>(index)] = admitted.num_computed_tokens;
  added.num_computed_tokens_reported = admitted.num_computed_tokens;
  added.prefill_len = admitted.num_tokens;
  added.last_scheduled_col = -1;
  added.row = -1;
  added.previous_row = -1;
  const auto id = static_cast<std::size_t>(admitted.request.value);
  if (id >= slot_of_.size()) slot_of_.resize(id + 1, -1);
  slot_of_[id] = index;
  return index;
}

void BatchSlotsV2::free(RequestId request) {
  const std::int32_t index = slot_of(request);
  HS_EXPECT(index >= 0);
  slot(index).request = {};
  slot_of_[static_cast<std::size_t>(request.value)] = -1;
  free_slots_.push_back(index);
}

void BatchSlotsV2::set_block_ids(std::int32_t slot, std::int32_t group,
                                 std::span<const std::int32_t> ids) {
  tables_[static_cast<std::size_t>(group)].add_row(slot, ids);
}

void BatchSlotsV2::append_block_ids(std::int32_t slot, std::int32_t group,
                                    std::span<const std::int32_t> ids) {
  tables_[static_cast<std::size_t>(group)].append_row(slot, ids);
}

void BatchSlotsV2::gather(std::span<const std::int32_t> idx_mapping) {
  for (std::size_t r = 0; r < idx_mapping.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    slot(idx_mapping[r]).row = row;
    for (std::size_t g = 0; g < tables_.size(); ++g)
      input_tables_[g].add_row(row, tables_[g].row(idx_mapping[r]));
  }
}

}  // namespace hybridscope
