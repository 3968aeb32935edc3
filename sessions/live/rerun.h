// Holds a run that is made again, step by step, against a recording of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_source.h"

namespace hybridscope {

struct RerunReport {
  std::int64_t num_equal = 0;      // steps
  std::int64_t num_different = 0;  // there in both, decided otherwise
  std::int64_t first_different = 0;
  std::vector<StepSection> sections;  // of the first different step
  std::int64_t num_missing = 0;       // recorded, not made again
  std::int64_t first_missing = 0;
  std::int64_t num_extra = 0;  // made now, not recorded
  std::int64_t first_extra = 0;

  bool reproduces() const { return num_different == 0 && num_missing == 0 && num_extra == 0; }
};

// How the recording ends: with the run, or before it (stopped, interrupted, killed).
enum class RecordedEnd : std::uint8_t { of_the_run, before_it };

// Both stand before their first step. Errors: theirs; not_available, digests of two versions.
Result<RerunReport> rerun(StepSource& again, StepSource& recorded, RecordedEnd end);

// "run.db:before was recorded with other digests (version 1, this program makes 2)"; empty: with
// the same.
std::string other_digests(const StepSource& recorded);

// Sections that differ, in their order.
std::vector<StepSection> different_sections(const StepDigests& a, const StepDigests& b);
// "schedule, blocks and rows".
std::string section_list(const std::vector<StepSection>& sections);

}  // namespace hybridscope
