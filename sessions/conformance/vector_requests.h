// Requests of a vector: names in the file, ids in core.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/state/mamba_state_idx.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

// Numbers names in the order in which they are asked for.
class VectorRequests {
 public:
  RequestId id(const std::string& name);
  std::vector<RequestId> ids(std::span<const std::string> names);
  std::vector<RequestId> ids(const VectorValue& names) { return ids(names.strings()); }
  // {name: column}, and back.
  nlohmann::json state_idx_json(const MambaStateIdx& mamba_state_idx) const;
  MambaStateIdx state_idx(const VectorValue& object);

 private:
  std::map<std::string, RequestId> ids_;
  std::vector<std::string> names_;  // by id
};

// Which requests left, by the three lists that a step names.
struct VectorGoneRequests {
  // Members finished_req_ids, preempted_req_ids and resumed_req_ids of `step`.
  VectorGoneRequests(const VectorValue& step, VectorRequests& requests);
  GoneRequests view() const { return {finished, preempted, resumed}; }

  std::vector<RequestId> finished;
  std::vector<RequestId> preempted;
  std::vector<RequestId> resumed;
};

// The counts of a map by request, in the order of `names`. Error: no entry for one of them.
Result<std::vector<std::int32_t>> counts_of(std::span<const std::string> names,
                                            const VectorValue& counts);
// The same; absent ones are 0.
std::vector<std::int32_t> counts_or_zero(std::span<const std::string> names,
                                         const VectorValue& counts);

}  // namespace hybridscope
