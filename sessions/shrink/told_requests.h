// A line of a trace (docs/trace-format.md) without some of its requests.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hybridscope {

// The requests that a step's line names in scheduler_output, in the order of the line; those that
// only ended are among them.
std::vector<std::string> told_requests(const nlohmann::ordered_json& step);

// Does the line schedule anybody?
bool schedules_somebody(const nlohmann::ordered_json& step);

// What is told of the batch as a whole, when it is no longer the batch it was told of.
enum class ToldBatch : std::uint8_t {
  without_metadata,            // attn_metadata is left out, and computed then
  without_metadata_and_graph,  // cudagraph too
};

// Without the requests that `dropped` answers true for: their entries in lists, parallel lists and
// maps. Answers whether any was there; where rows were among them, `batch` says what else goes.
bool drop_requests(nlohmann::ordered_json& step,
                   const std::function<bool(const std::string&)>& dropped, ToldBatch batch);

}  // namespace hybridscope
