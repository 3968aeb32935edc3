// The results of a plan in a file, a line each, so that an interrupted plan can be continued and
// parts from several machines merged (docs/plan.md, Result files).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/sweep.h"
#include "sessions/text/growing_file.h"
#include "sessions/text/json_value.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

// Results of a plan as JSON (docs/plan.md, Result files), and back.

// What the results of one plan have in common: the first line of its file.
struct PlanHeader {
  std::string program = {};              // version and build
  std::string model = {};                // preset, or path of a config.json
  std::string layout = {};               // 16 hex digits of the model's shapes
  std::string traffic = {};              // name
  TrafficOptions how_read = {};          // that traffic
  std::int64_t limit = 0;                // its first requests only, 0: all
  std::string digest = {};               // PlanTraffic::digest
  std::int64_t arrivals_us = 0;          // PlanTraffic::arrivals_us
  std::string settings = {};             // the same in all combinations, as JSON
  std::string step_time = {};            // step_time_text, empty: none
  std::vector<std::string> sweeps = {};  // "max_num_seqs=64,128"
  friend bool operator==(const PlanHeader&, const PlanHeader&) = default;
};

nlohmann::ordered_json header_to_json(const PlanHeader& header);
nlohmann::ordered_json result_to_json(const PlanResult& result);

// A JsonFault says what is wrong.
PlanResult plan_result_of_json(const JsonValue& place);

// The sweep whose results the file has. Error: its sweeps or settings are not this program's.
Result<Sweep> sweep_of(const PlanHeader& header);

struct PlanContents {
  PlanHeader header;
  std::map<std::string, PlanResult> results;  // by name
};

// Errors: not_found or io, the file cannot be read; corrupt, with file, line and what was expected,
// also where a result is of no combination of the header's sweep. An unfinished last line is
// ignored.
Result<PlanContents> read_plan(const std::string& file);

// All results of the files. Error invalid_input: two do not belong together, or have different
// results of a combination.
Result<PlanContents> merge_plans(const std::vector<std::string>& files);

// Does the file begin as PlanFile writes it? False if it cannot be read.
bool is_plan_file(const std::string& path);

class PlanFile {
 public:
  // Creates the file, or continues with what is in it. Errors: those of read_plan; invalid_input,
  // it holds another plan; not_available, it cannot be written or another hybridscope writes it.
  static Result<PlanFile> open(const std::string& file, const PlanHeader& header);

  // The result is in the file when the call returns. Error not_available: the disk is full.
  Status add(const PlanResult& result);

  const PlanContents& contents() const { return contents_; }

 private:
  PlanFile(LineFile file, PlanContents contents)
      : file_(std::move(file)), contents_(std::move(contents)) {}

  LineFile file_;
  PlanContents contents_;
};

}  // namespace hybridscope
