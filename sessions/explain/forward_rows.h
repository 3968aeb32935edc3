// What each row of a mamba group reads and writes in a step's forward pass, as columns and blocks.
// Derived from the metadata alone, as a layer's kernels see it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

struct StatePlace {
  std::int32_t column = -1;  // in the request's block table
  std::int32_t block = 0;
};

struct ForwardPlaces {
  std::int32_t row = -1;   // in the batch; padding rows are not listed
  bool is_decode = false;  // runs the decode kernel
  bool counts_given = false;
  std::int32_t num_accepted_tokens = 1;  // as given to the kernel
  std::int32_t num_query_tokens = 0;
  bool has_initial_state = true;
  bool source_in_range = true;     // false: the accepted count points outside the row
  std::int32_t window_column = 0;  // temporal source = this + num_accepted_tokens - 1
  StatePlace temporal_source;
  StatePlace conv_source;
  // Mode all, prefill: states at the block boundaries that the row passes.
  std::vector<StatePlace> boundary_targets;
  // Decode rows: query token t writes element t. Prefill rows: one element, the state after the
  // row.
  std::vector<StatePlace> targets;
};

// The group's real rows, in the order of its metadata. Empty without metadata.
std::vector<ForwardPlaces> forward_rows(const StepTrace& trace, const GroupTrace& group,
                                        MambaCacheMode mode);

}  // namespace hybridscope
