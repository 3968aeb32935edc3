// The chunk of a prefill that a request ran in a step, and whether a state was stored inside it
// (semantics: prefill-checkpoint). In mode align a chunk leaves one state at its end, and at most
// one more on its way.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Tokens [start, end) of the request.
struct RanChunk {
  std::int32_t start = 0;
  std::int32_t end = 0;

  // Is the state after so many tokens one on the chunk's way?
  bool passes(std::int32_t num_tokens) const { return start < num_tokens && num_tokens < end; }
};

// Do the layers of any group store states inside prefills?
bool stores_checkpoints(const KVCacheConfig& config);

// The chunk that a prefill row ran; empty: it is not a prefill row.
std::optional<RanChunk> prefill_chunk(const StepTrace& trace, const RowTrace& row);

}  // namespace hybridscope
