// Where the faults of a run lie, and which exported test runs that part of vLLM.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// The exported test that runs a part of vLLM.
enum class PartTest : std::uint8_t { pytest, runner_test, none };

struct VllmPart {
  std::string_view words;  // "the input batch"
  PartTest test = PartTest::none;
};

// The part that a function of vLLM belongs to. `function`: as scenarios/bugs and the sources of
// findings name it, "v1/worker/gpu_input_batch.py, InputBatch.add_request".
VllmPart part_of_function(std::string_view function);

// Findings of one rule about one request, and what causes them.
struct ExportedFault {
  Rule rule = Rule::running_state_wrong;
  std::string request;  // empty: about none
  std::int64_t first_step = 0;
  std::int64_t count = 0;
  std::string function;  // of vLLM, as part_of_function takes it
  std::string bug;       // "known bug 48"; empty: the function is that of the rule
  friend bool operator==(const ExportedFault&, const ExportedFault&) = default;
};

// The findings of the scenario's run by rule and request, in the order in which they appear. Their
// cause is that of the chain which the first of them is in (find_causes), else the function that
// the rule names. Several bugs make several faults. Errors: those of make_exported_run.
Result<std::vector<ExportedFault>> faults_of(const Scenario& scenario, const std::string& file,
                                             CheckScope scope);

// Faults with the same cause.
struct FaultPlace {
  VllmPart part;
  std::string function;
  std::string bug;
  std::string
      findings;  // "running-state-wrong of C (step 4, 3 in all), label-mismatch of C (step 4)"
};

// In the order of the faults.
std::vector<FaultPlace> fault_places(const std::vector<ExportedFault>& faults);

// Which exported test runs the part, as a sentence. `runner_test`: can the run be exported as a
// runner test?
std::string which_test(PartTest part, bool runner_test);

// A sentence or two for each place in a part that `test` does not run.
std::vector<std::string> fault_notes(const std::vector<ExportedFault>& faults, PartTest test,
                                     bool runner_test);

}  // namespace hybridscope
