#include "sessions/conformance/vector_requests.h"

#include <nlohmann/json.hpp>

#include "sessions/conformance/vector_states.h"

namespace hybridscope {

RequestId VectorRequests::id(const std::string& name) {
  const auto [entry, added] =
      ids_.try_emplace(name, RequestId{static_cast<std::int32_t>(names_.size())});
  if (added) names_.push_back(name);
  return entry->second;
}

std::vector<RequestId> VectorRequests::ids(std::span<const std::string> names) {
  std::vector<RequestId> result;
  for (const std::string& name : names) result.push_back(id(name));
  return result;
}

nlohmann::json VectorRequests::state_idx_json(const MambaStateIdx& mamba_state_idx) const {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [request, column] : mamba_state_idx.entries())
    result[names_.at(static_cast<std::size_t>(request.value))] = column;
  return result;
}

MambaStateIdx VectorRequests::state_idx(const JsonValue& object) {
  MambaStateIdx result;
  for (const auto& [name, column] : object.members()) result.set(id(name), read_count(column));
  return result;
}

VectorGoneRequests::VectorGoneRequests(const JsonValue& step, VectorRequests& requests)
    : finished(requests.ids(step["finished_req_ids"])),
      preempted(requests.ids(step["preempted_req_ids"])),
      resumed(requests.ids(step["resumed_req_ids"])) {}

Result<std::vector<std::int32_t>> counts_of(std::span<const std::string> names,
                                            const JsonValue& counts) {
  std::vector<std::int32_t> result;
  for (const std::string& name : names) {
    const auto count = counts.find_non_null(name);
    if (!count) return invalid_input(counts.pointer() + " has no entry for \"" + name + "\"");
    result.push_back(read_count(*count));
  }
  return result;
}

std::vector<std::int32_t> counts_or_zero(std::span<const std::string> names,
                                         const JsonValue& counts) {
  std::vector<std::int32_t> result;
  for (const std::string& name : names) {
    const auto count = counts.find_non_null(name);
    result.push_back(count ? read_count(*count) : 0);
  }
  return result;
}

}  // namespace hybridscope
