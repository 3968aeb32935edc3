// Results of a plan as JSON (docs/plan.md, Result files), and back.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sessions/plan/plan_run.h"
#include "sessions/text/json_value.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

// What the results of one plan have in common: the first line of its file.
struct PlanHeader {
  std::string program = {};              // version and build
  std::string model = {};                // preset, or path of a config.json
  std::string layout = {};               // 16 hex digits of the model's shapes
  std::string traffic = {};              // name
  TrafficOptions how_read = {};          // that traffic
  std::int64_t limit = 0;                // its first requests only, 0: all
  std::string digest = {};               // PlanTraffic::digest
  std::string settings = {};             // the same in all combinations, as JSON
  std::string step_time = {};            // step_time_text, empty: none
  std::vector<std::string> sweeps = {};  // "max_num_seqs=64,128"
  friend bool operator==(const PlanHeader&, const PlanHeader&) = default;
};

nlohmann::ordered_json header_to_json(const PlanHeader& header);
nlohmann::ordered_json result_to_json(const PlanResult& result);

// A JsonFault says what is wrong.
PlanHeader plan_header_of_json(const JsonValue& place);
PlanResult plan_result_of_json(const JsonValue& place);

}  // namespace hybridscope
