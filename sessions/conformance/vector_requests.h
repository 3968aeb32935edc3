// The requests of a vector: names in the file, ids in core.
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
#include "sessions/text/json_value.h"

namespace hybridscope {

// Gives each name a number, in order of first use.
class VectorRequests {
 public:
  RequestId id(const std::string& name);
  std::vector<RequestId> ids(std::span<const std::string> names);
  std::vector<RequestId> ids(const JsonValue& names) { return ids(names.strings()); }
  // {name: column}, and back.
  nlohmann::json state_idx_json(const MambaStateIdx& mamba_state_idx) const;
  MambaStateIdx state_idx(const JsonValue& object);

 private:
  std::map<std::string, RequestId> ids_;
  std::vector<std::string> names_;  // by id
};

// The requests that left, from the three lists of a step.
struct VectorGoneRequests {
  // Reads the members finished_req_ids, preempted_req_ids and resumed_req_ids of `step`.
  VectorGoneRequests(const JsonValue& step, VectorRequests& requests);
  GoneRequests view() const { return {finished, preempted, resumed}; }

  std::vector<RequestId> finished;
  std::vector<RequestId> preempted;
  std::vector<RequestId> resumed;
};

// A map's counts by request, in the order of `names`. Error: a name without an entry.
Result<std::vector<std::int32_t>> counts_of(std::span<const std::string> names,
                                            const JsonValue& counts);
// The counts of the names; a name without an entry has count 0.
std::vector<std::int32_t> counts_or_zero(std::span<const std::string> names,
                                         const JsonValue& counts);

}  // namespace hybridscope
