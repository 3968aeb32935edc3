#include "core/state/mamba_state_idx.h"

namespace hybridscope {

std::vector<std::pair<RequestId, std::int32_t>> MambaStateIdx::entries() const {
  std::vector<std::pair<RequestId, std::int32_t>> entries;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i] != kNone)
      entries.emplace_back(RequestId{static_cast<std::int32_t>(i)}, columns_[i]);
  return entries;
}

void cleanup_mamba_state_idx(const GoneRequests& gone, MambaStateIdx& mamba_state_idx) {
  for (const auto& ids : {gone.finished_req_ids, gone.preempted_req_ids, gone.resumed_req_ids})
    for (const RequestId id : ids) mamba_state_idx.erase(id);
}

}  // namespace hybridscope
