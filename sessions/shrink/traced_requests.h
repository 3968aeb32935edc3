// Removes requests from a line of a trace (docs/trace-format.md).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hybridscope {

// The requests that a step's scheduler_output names, in the order of the line, including those that
// only finished.
std::vector<std::string> traced_requests(const nlohmann::ordered_json& step);

// Does the line schedule any request?
bool schedules_somebody(const nlohmann::ordered_json& step);

// What to remove of the data about the whole batch when some of its requests are removed.
enum class TracedBatch : std::uint8_t {
  without_metadata,            // attn_metadata; the judge then computes it
  without_metadata_and_graph,  // attn_metadata and cudagraph
};

// Removes the requests for which `dropped` is true: their entries in lists, parallel lists and
// maps. Returns whether there were any. If rows were among them, `batch` says what else is removed.
bool drop_requests(nlohmann::ordered_json& step,
                   const std::function<bool(const std::string&)>& dropped, TracedBatch batch);

}  // namespace hybridscope
