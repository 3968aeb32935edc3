// The V2 runner's request slots: a request keeps its slot from admission until it finishes or is
// preempted, and nothing moves between slots (semantics: request-slots, gather-block-tables; vLLM
// v1/worker/gpu/states.py, block_table.py). Rows are laid out anew in every step and read their
// slot's data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/engine/block_table.h"
#include "core/engine/engine_request.h"
#include "core/state/mode_copies.h"

namespace hybridscope {

struct RequestSlot {
  RequestId request{};                            // none: the slot is free
  std::int32_t num_computed_tokens_reported = 0;  // the host's copy: last report of the scheduler
  std::int32_t prefill_len = 0;                   // tokens known at admission
  RequestId accepted_from{};                      // whose accepted count the slot has
  std::int32_t last_scheduled_col = -1;           // all with drafts; -1: none
  std::int32_t row = -1;                          // in this step, -1: not scheduled
  std::int32_t previous_row = -1;                 // in the step before

  std::int32_t num_computed_prefill() const {
    return std::min(num_computed_tokens_reported, prefill_len);
  }
  bool is_prefilling() const { return num_computed_prefill() < prefill_len; }
};

// A request as it is admitted.
struct AdmittedRequest {
  RequestId request{};
  std::int32_t num_computed_tokens = 0;  // served by the prefix cache
  std::int32_t num_tokens = 0;           // known: becomes prefill_len
};

class BatchSlotsV2 {
 public:
  // `columns`: widths of the worker's block tables, one per KV-cache group.
  BatchSlotsV2(std::int32_t max_num_reqs, std::span<const std::int32_t> columns);

  // Slot of a request, -1: none.
  std::int32_t slot_of(RequestId request) const;
  RequestSlot& slot(std::int32_t index) { return slots_[static_cast<std::size_t>(index)]; }
  const RequestSlot& slot(std::int32_t index) const {
    return slots_[static_cast<std::size_t>(index)];
  }
  // The accepted count that the slot holds, which outlives the request.
  AcceptedCount accepted(std::int32_t slot) const {
    const auto index = static_cast<std::size_t>(slot);
    return {align_.num_accepted_tokens[index], slots_[index].accepted_from};
  }
  void set_accepted(std::int32_t slot, const AcceptedCount& count) {
    const auto index = static_cast<std::size_t>(slot);
    align_.num_accepted_tokens[index] = count.num_accepted_tokens;
    slots_[index].accepted_from = count.from;
  }
  // What the device keeps by slot: accepted counts and the columns of mode align.
  AlignSlots& align() { return align_; }
  const AlignSlots& align() const { return align_; }
  // [slots] exact, as on the device.
  std::span<std::int32_t> num_computed_tokens() { return num_computed_tokens_; }
  std::span<const std::int32_t> num_computed_tokens() const { return num_computed_tokens_; }
  // The next slot is taken from the end.
  std::span<const std::int32_t> free_slots() const { return free_slots_; }

  // Call first in a step: every slot's row becomes its previous row.
  void start_step();
  // Takes the last free slot. Accepted count, columns of the running state and block ids stay those
  // of the slot's last request. Requires: a free slot, and none held by the request.
  std::int32_t add(const AdmittedRequest& admitted);
  // The slot becomes the next one to be taken. Requires: the request has a slot.
  void free(RequestId request);

  // Writes a list from column 0 on; older entries beyond it stay.
  void set_block_ids(std::int32_t slot, std::int32_t group, std::span<const std::int32_t> ids);
  // Writes ids after the slot's last one.
  void append_block_ids(std::int32_t slot, std::int32_t group, std::span<const std::int32_t> ids);

  // Copies the ids of slot idx_mapping[r] to row r of every input table and makes r the slot's row;
  // entries beyond the ids keep what the row held in earlier steps.
  void gather(std::span<const std::int32_t> idx_mapping);
  std::span<BlockTable> input_block_tables() { return input_tables_; }  // [groups], by row

 private:
  std::vector<RequestSlot> slots_;  // [max_num_reqs]
  AlignSlots align_;
  std::vector<std::int32_t> num_computed_tokens_;  // [max_num_reqs]
  std::vector<std::int32_t> free_slots_;           // initially 0 .. max_num_reqs - 1
  std::vector<std::int32_t> slot_of_;              // by request id, -1: none
  std::vector<BlockTable> tables_;                 // [groups], by slot
  std::vector<BlockTable> input_tables_;           // [groups], by row
};

}  // namespace hybridscope
