// What is asked of a matrix, the job that follows from it, and what it found in words and as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"
#include "sessions/matrix/run_matrix.h"

namespace hybridscope {

struct MatrixJobOptions {
  std::string engine;                 // a profile
  std::vector<std::string> policies;  // "name=value"
  std::vector<std::string> only;      // "axis=value,value"
  std::int64_t scenarios = CellRunOptions{}.num_scenarios;
  std::uint64_t seed = 1;
  std::int32_t jobs = 0;  // 0: one per core
  std::string shard;
  std::string folder;  // empty: from the engine
  bool labels_only = false;
  bool no_shrink = false;
  std::function<bool()> go_on = {};  // false: it ends before the next scenario; may be empty
};

struct MatrixJob {
  MatrixHeader header;
  MatrixOptions options;
  std::string folder;
};

// Error: no such axis, value, policy or shard, with the nearest; nothing to run.
Result<MatrixJob> make_matrix_job(const MatrixJobOptions& options, const Backends& backends);

// How such a matrix runs each of its cells. Error: no such policy, with the nearest.
Result<CellRunOptions> cell_run_options(const MatrixJobOptions& options, const Backends& backends);

// The cells that a matrix with this header has. Error: its filter or shard is invalid.
Result<std::vector<MatrixCell>> cells_of(const MatrixHeader& header);

// Options for shrinking what the cells of such a matrix found. Error: it was made by another
// version or with other scenarios than this program's; its engine or policies are unknown.
Result<MatrixOptions> shrink_options_of(const MatrixHeader& header,
                                        const MatrixJobOptions& options);

// A matrix in words and as JSON.

// Counts, a table by axis value, the faults and where they show, and what is not modelled.
// `folder`: the folder of the faults' scenarios. `to_go_on`: what to do about cells that were not
// run.
std::string format_matrix(const MatrixContents& contents, const MatrixSummary& summary,
                          const std::string& folder, std::string_view to_go_on);

// {engine, seed, ..., cells: {safe, findings, ...}, axes, faults, events, not_modelled, results}.
nlohmann::ordered_json matrix_to_json(const MatrixContents& contents, const MatrixSummary& summary,
                                      const std::vector<MatrixCell>& cells);

// Axes with their values, events and what is not modelled: --list.
std::string format_matrix_axes();
// {axes: [{name, values, meaning}], events: {name: meaning}, not_modelled: {name: why}}.
nlohmann::ordered_json matrix_axes_to_json();

}  // namespace hybridscope
