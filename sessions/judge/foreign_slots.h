// Runner V2: which request each of the worker's slots belongs to (semantics: request-slots).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"

namespace hybridscope {

class ForeignSlots {
 public:
  explicit ForeignSlots(std::int32_t max_num_seqs);

  // The request finished, lost its blocks or is admitted again: its slot is free.
  void free(RequestId request);

  // A row of `request` reads and writes `slot` in this step. The request that the slot's contents
  // are of: `request` itself, if the slot was free when it was admitted and has been its own since;
  // another live request, or none (-1), otherwise. An admitted request owns the slot afterwards.
  RequestId use(RequestId request, std::int32_t slot, bool admitted);

 private:
  std::vector<RequestId> owners_;      // [max_num_seqs] -1: free
  std::vector<std::int32_t> slot_of_;  // by request id, -1: none
};

}  // namespace hybridscope
