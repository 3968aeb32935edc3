// Compares a run that is made again with its recording, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_source.h"

namespace hybridscope {

struct RerunReport {
  std::int64_t num_equal = 0;      // number of steps
  std::int64_t num_different = 0;  // steps in both, with other decisions
  std::int64_t first_different = 0;
  std::vector<StepSection> sections;  // of the first different step
  std::int64_t num_missing = 0;       // steps recorded but not made again
  std::int64_t first_missing = 0;
  std::int64_t num_extra = 0;  // steps made now but not recorded
  std::int64_t first_extra = 0;

  bool reproduces() const { return num_different == 0 && num_missing == 0 && num_extra == 0; }
};

// Whether the recording ends with the run or before it (stopped, interrupted, killed).
enum class RecordedEnd : std::uint8_t { of_the_run, before_it };

// Requires: both sources are before their first step. Errors: those of the sources; not_available,
// the digests have different versions.
Result<RerunReport> rerun(StepSource& again, StepSource& recorded, RecordedEnd end);

// "run.db:before was recorded with other digests (version 1, this program makes 2)"; empty: the
// same version.
std::string other_digests(const StepSource& recorded);

// The sections that differ, in order.
std::vector<StepSection> different_sections(const StepDigests& a, const StepDigests& b);
// "schedule, blocks and rows".
std::string section_list(const std::vector<StepSection>& sections);

}  // namespace hybridscope
