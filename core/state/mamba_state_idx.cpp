#include "core/state/mamba_state_idx.h"

namespace hybridscope {

void cleanup_mamba_state_idx(const GoneRequests& gone, MambaStateIdx& mamba_state_idx) {
  for (const auto& ids : {gone.finished_req_ids, gone.preempted_req_ids, gone.resumed_req_ids})
    for (const RequestId id : ids) mamba_state_idx.erase(id);
}

}  // namespace hybridscope
