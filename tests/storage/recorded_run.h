// Records runs of our engine, for tests of session files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/check/check_context.h"
#include "sessions/run/run_plan.h"
#include "storage/session_player.h"
#include "storage/session_writer.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test {

std::vector<std::string> shipped_scenario_names();
RunPlan shipped_scenario(const std::string& name);  // "align_boundary_by_decode"
// `num_requests` of the generator, on tiny-gdn with two speculative tokens.
RunPlan synthetic_run(std::int64_t num_requests);

struct Recording {
  SessionPlace place;
  RecordLevel level = RecordLevel::full;
  std::int64_t max_steps = 0;  // stop after this many, 0: at the end
  bool finishes = true;        // false: the writer is left without finish()
  std::int64_t busy_timeout_ms = 10000;
  // Sees each record as it is handed over, and what blocks hold after its step.
  std::function<void(const StepRecord&, const CheckState&)> watch = {};
  std::size_t batch_steps = kMaxBatchSteps;
};

// Runs the plan under the checker and records a session. Returns the last status of storage.
Status record_run(const RunPlan& plan, const Recording& recording);

// To the next recorded step. False: there is none.
bool step_forward(SessionPlayer& player);
// The write whose result the block held at the end of the step; kind never: nothing was written
// since it was allocated.
StateWrite last_write(SessionReader& reader, std::int32_t block, ContentKind content,
                      std::int64_t step);

// The header that record_run gives.
SessionHeader header_of(const RunPlan& plan, RecordLevel level);

// Does `work` while another program is about to write to the file.
void while_locked(const std::string& file, const std::function<void()>& work);

// The first column of a query's answer, as text; "NULL" for null.
std::vector<std::string> query(const std::string& file, const std::string& sql);
std::int64_t query_number(const std::string& file, const std::string& sql);
// Changes the file behind the program's back.
void execute(const std::string& file, const std::string& sql);

}  // namespace hybridscope::test
