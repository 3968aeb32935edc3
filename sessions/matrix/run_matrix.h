// Runs the cells of a matrix on several threads, then shrinks each fault that was found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {

struct MatrixProgress {
  bool shrinking = false;  // all cells are done; faults are being shrunk
  std::int64_t done = 0;
  std::int64_t all = 0;
  std::int64_t num_scenarios = 0;      // scenarios run by this call
  std::int64_t num_with_findings = 0;  // number of cells
};

struct MatrixOptions {
  CellRunOptions run = {};  // go_on may be called by several threads at once
  std::vector<MatrixCell> cells = {};
  std::int32_t num_threads = 1;
  bool shrink = true;
  // Called by one thread at a time; may be empty.
  std::function<void(const MatrixProgress&)> progress = {};
};

// Cells and faults that the file already has are not run again. The result does not depend on the
// number of threads. False: go_on ended it; finished results are in the file. Errors: those of the
// file and of run_cell.
Result<bool> run_matrix(const MatrixOptions& options, MatrixFile& file);

// The second half of run_matrix: shrinks the faults that the file's cells found but that have no
// scenario yet.
Result<bool> shrink_faults(const MatrixOptions& options, MatrixFile& file);

// Writes FOLDER/CELL-INDEX.json for each scenario of each cell of `options` that is run, with "-"
// for "/" in the cell's name; says how many. The folder is made. Ends early where
// `options.run.go_on` says so. Error not_available: a file cannot be written.
Result<std::int64_t> write_matrix_scenarios(const MatrixOptions& options,
                                            const std::string& folder);

// Merges the results of shards, or of runs with other filters, into one matrix.

struct MatrixSource {
  std::string folder;
  MatrixContents contents;
};

// All cells; for each fault the smallest scenario, its file given with its folder; no accidents
// (is_accident). The header is the first one's, with shard 1/1. Errors: invalid_input when two
// sources do not belong together or disagree about a cell.
Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources);

// The faults that the cells of a matrix found, and a small scenario for each.

// Scenarios of different cells that show the same fault.
struct FaultCandidates {
  struct Place {
    MatrixCell cell;
    std::int64_t index = 0;
    FindingKind kind;
    std::int64_t num_requests = 0;
  };
  std::string key;    // fault_key
  std::string cause;  // empty: nothing explains it
  // The scenarios with the fewest requests, at most kMaxFaultCandidates, each of another cell.
  std::vector<Place> places;
};
inline constexpr std::size_t kMaxFaultCandidates = 4;

// Was each bug of "id+id" also found alone? Then a scenario that needs both only combines two
// faults. `alone` answers for one id.
template <class FoundAlone>
bool is_accident(std::string_view bugs, const FoundAlone& alone) {
  if (bugs.find('+') == std::string_view::npos) return false;
  return std::ranges::all_of(split_text(bugs, '+'),
                             [&](std::string_view bug) { return alone(std::string(bug)); });
}

// Ordered by key, without accidents.
std::vector<FaultCandidates> collect_faults(const MatrixContents& contents);

struct ShrunkFault {
  MatrixFault fault;
  std::string scenario;  // content of fault.file
};

// The smallest scenario that any candidate shrinks to: under the policies of the fault's cause, or
// where these alone do not show it, and with a release as profile, under the cell's own. Without
// the cause its run has no error; the fault has no file if no candidate comes to such a scenario.
// The result is empty if go_on ended the search. A correct program has no errors here.
Result<std::optional<ShrunkFault>> shrink_fault(const FaultCandidates& candidates,
                                                const CellRunOptions& options);

// The policies of what causes a fault: known bugs and single policies, joined by '+', and bugs of
// which one is the cause, joined by " or " (FindingCause::key).

// The policy values of a cause. Errors: invalid_input, there is no such bug, policy or value.
Result<PolicyOverrides> policies_of_cause(std::string_view cause);

}  // namespace hybridscope
