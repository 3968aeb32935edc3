// The results of a plan in a file, a line each, so that an interrupted plan can be continued and
// parts from several machines merged (docs/plan.md, Result files).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_json.h"
#include "sessions/plan/sweep.h"
#include "sessions/text/line_file.h"

namespace hybridscope {

// The sweep whose results the file has. Error: its sweeps or settings are not this program's.
Result<Sweep> sweep_of(const PlanHeader& header);

struct PlanContents {
  PlanHeader header;
  std::map<std::string, PlanResult> results;  // by name
};

// Why two files do not belong to one plan: "traffic: conversation.jsonl, not other.jsonl"; empty:
// they do.
std::string plan_difference(const PlanHeader& a, const PlanHeader& b);

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
