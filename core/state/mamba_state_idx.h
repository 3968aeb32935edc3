// The column each request's running state is in, remembered between two steps by request.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "core/base/ids.h"

namespace hybridscope {

// align: the running column; all: the column of the last scheduled token. An entry may be missing.
using MambaStateIdx = std::map<RequestId, std::int32_t>;

struct GoneRequests {
  std::span<const RequestId> finished_req_ids{};
  std::span<const RequestId> preempted_req_ids{};  // empty also for None
  std::span<const RequestId> resumed_req_ids{};
};

// cleanup_mamba_state_idx (semantics: cleanup-mamba-state-idx): forgets finished, preempted and
// resumed requests; unknown ids are fine.
void cleanup_mamba_state_idx(const GoneRequests& gone, MambaStateIdx& mamba_state_idx);

}  // namespace hybridscope
