// The copies of whole blocks that a step makes before anything else touches state (semantics:
// copy-on-write), with what each is for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

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
