// What a line of a trace says of the cache beyond block tables (docs/trace-format.md): copies of
// whole blocks, states stored inside a prefill, and the hashes that blocks got and lost.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/hash_changes.h"

namespace hybridscope {

using NameOfRequest = std::function<std::string(RequestId)>;

// scheduler_output/kv_cache_block_copies: one object a copy, in stream order.
nlohmann::ordered_json block_copies_json(const StepTrace& trace, const NameOfRequest& name_of);

// prefill_checkpoints: what the scheduler made room for and what the layers are told to store.
// `tables`: the scheduler's, after scheduling.
nlohmann::ordered_json prefill_checkpoints_json(const StepTrace& trace,
                                                MambaCacheMode mamba_cache_mode,
                                                const BlockTableMirror& tables,
                                                const NameOfRequest& name_of);

// block_hashes or block_hashes_after_output; what is empty is left out.
nlohmann::ordered_json block_hashes_json(const HashDifference& difference,
                                         const NameOfRequest& name_of);

}  // namespace hybridscope
