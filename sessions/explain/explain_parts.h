// Parts of a step in words: the origin of a row, a metadata array, the captured graph, the copies
// of whole blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// In words, where a row of a batch comes from and what it samples.

// "kept", "moved from 2".
std::string explain_row_origin(const RowTrace& row);

// "a = 2 of 1..3: 1 of 2 drafts accepted, 1 rejected, and the bonus token". Requires: the step has
// sampled.
std::string explain_sample(const ScheduledTrace& scheduled, const RowTrace& row);

// Metadata arrays in words: dtype and shape, and what a replayed graph finds in the arrays it
// reads.

// "int32", "bool": the reference's name, also for plain numbers.
std::string_view array_dtype_name(ArrayDtype dtype);
// "[4,3]"; "[]" for a plain number.
std::string array_shape(const NamedArray& array);
// "refreshed in this step", "not refreshed since step 3". `step`: the step that replays the graph.
std::string replay_words(const GroupTrace& group, std::int64_t step);

// In words, the captured graph that a step runs in.

struct DispatchToExplain {
  CudagraphDispatch dispatch;
  std::int32_t num_tokens = 0;  // in the batch, without padding
  std::int32_t num_reqs = 0;
  bool uniform_decode = false;
  std::int32_t num_spec = 0;  // K
  // False: the reason is unknown; without a full graph, so is the kind of batch.
  bool reason_known = true;
};

// Does the trace say why the step got its graph? Another engine's trace says at most which one.
bool dispatch_reason_known(const CudagraphDispatch& dispatch, const EngineConfig& config);

// One line without newline: runtime mode, reason, and padding.
std::string explain_dispatch(const DispatchToExplain& step);

// "NONE", "FULL_AND_PIECEWISE": as on vLLM's command line.
std::string_view cudagraph_mode_name(CUDAGraphMode mode);

// The copies of whole blocks that a step makes before anything else touches state (semantics:
// copy-on-write), with what each is for.

struct ExplainedBlockCopy {
  BlockCopy copy;
  // Column of the request's block table that gets the copy, because the request writes on in it;
  // -1: the request writes on in the source, and the prefix cache alone keeps the copy.
  std::int32_t column = -1;
  // Tokens of the prefix that the copied content stands for; 0: the step does not tell.
  std::int32_t num_tokens = 0;
  bool is_mamba = false;
};

// In the order in which they are made. A copy of a group that the configuration lacks is left out.
std::vector<ExplainedBlockCopy> explained_block_copies(const StepTrace& trace,
                                                       const KVCacheConfig& config);

// "block 5 -> 12: the hit of 20 tokens ends inside block 5, so B writes on in a copy",
// "block 6 -> 8: A writes on in block 6, and the prefix cache keeps S(20) in the copy".
std::string block_copy_words(const ExplainedBlockCopy& copy, const Names& names);

// Where the rule comes from.
inline constexpr std::string_view kBlockCopySource =
    "vLLM v1/core/kv_cache_manager.py take_kv_cache_block_copies";

}  // namespace hybridscope
