// Makes a run again: as it was recorded, or as a fork, whose plan changes from some step on while
// the steps before stay the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_record.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct ForkAt {
  std::int32_t step = 1;    // first step that may differ
  ScriptStep changes = {};  // laid over the script's entry for the step; its own `step` is ignored
  std::vector<ScenarioRequest> requests = {};  // join before the step; their at_step is ignored
  bool drop_script = false;                    // leave out the script from the step on
};

// The changed plan, without the expectations, which belong to the original run. Error "fork at step
// 5: POINTER: ...": unknown or taken names, counts that the settings do not allow, a caching
// policy, a request that could never finish.
Result<RunPlan> fork_plan(const RunPlan& plan, const ForkAt& at);

// The last step up to which both plans are equal; 0: their engines differ.
std::int64_t num_agreed_steps(const RunPlan& a, const RunPlan& b);

// Compares the steps of a fork, as they are made, with its parent's: step numbers and digests. Only
// the numbers when the parent's digests have another version.
class ForkGuard {
 public:
  // `parent` must outlive this and be before its first step. `step`: the fork's first step that may
  // differ.
  ForkGuard(StepSource& parent, std::int64_t step) : parent_(parent), step_(step) {}

  // Call for each step, in order. Error: a step before `step` that the parent lacks or has with
  // other digests, so this program cannot have recorded it from this plan; or an error of the
  // parent.
  Status check(std::int64_t step, const StepDigests& digests);
  // Call when the fork has ended. Error: the parent has more steps before `step`; or an error of
  // the parent.
  Status finish();
  // Why digests are not compared, in words; empty: they are.
  std::string note() const;

 private:
  Error differs(std::int64_t step, const std::string& how) const;

  StepSource& parent_;
  std::int64_t step_;
  bool agreed_ = false;  // both have reached the fork's step
};

// Compares a run that is made again with its recording, step by step.

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
