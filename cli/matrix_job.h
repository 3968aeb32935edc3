// What the options of hybridscope matrix ask for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/backends.h"
#include "core/base/result.h"
#include "sessions/matrix/run_matrix.h"

namespace hybridscope {

struct MatrixCommandOptions {
  std::string engine;                 // required; empty: not given
  std::vector<std::string> policies;  // "name=value"
  std::vector<std::string> only;      // "axis=value,value"
  std::int64_t scenarios = CellRunOptions{}.num_scenarios;
  std::uint64_t seed = 1;
  std::int32_t jobs = 0;  // 0: one per core
  std::string shard;
  std::string folder;  // empty: from the engine
  std::vector<std::string> merge;
  std::string html;
  std::string scenario_folder;  // not empty: the scenarios are written there, and not run
  bool labels_only = false;
  bool no_shrink = false;
  bool json = false;
  bool list = false;
  bool quiet = false;
};

struct MatrixJob {
  MatrixHeader header;
  MatrixOptions options;
  std::string folder;
};

// Error: no such axis, value, policy or shard, with the nearest; nothing to run.
Result<MatrixJob> make_matrix_job(const MatrixCommandOptions& options, const Backends& backends);

// How such a matrix runs each of its cells. Error: no such policy, with the nearest.
Result<CellRunOptions> cell_run_options(const MatrixCommandOptions& options,
                                        const Backends& backends);

// The cells that a matrix with this header has. Error: its filter or shard is invalid.
Result<std::vector<MatrixCell>> cells_of(const MatrixHeader& header);

// Options for shrinking what the cells of such a matrix found. Error: it was made by another
// version or with other scenarios than this program's; its engine or policies are unknown.
Result<MatrixOptions> shrink_options_of(const MatrixHeader& header,
                                        const MatrixCommandOptions& options);

}  // namespace hybridscope
