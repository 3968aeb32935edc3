// How many tokens of a prefill run in a step of mode align, where states are stored at block
// boundaries only (semantics: aligned-split; vLLM v1/core/sched/scheduler.py,
// _mamba_block_aligned_split, which nearly every release changed).
#pragma once

#include <cstdint>

namespace hybridscope {

enum class AlignedSplit : std::uint8_t;     // aligned_split_policies.h
enum class CheckpointStart : std::uint8_t;  // core/caching/manager_policies.h

// What the split reads of an engine. Sizes in tokens.
struct AlignedSplitSettings {
  std::int32_t block_size = 16;
  std::int32_t hash_block_size = 16;
  std::int32_t scheduler_block_size = 16;
  bool fine_grained_hits = false;  // a hit may end inside a block
  bool use_eagle = false;          // the method drafts as EAGLE does
  bool eagle_block_drop = false;   // and the last block of a hit is dropped for it
  std::int32_t num_hash_lookahead_tokens = 0;
  bool has_prefill_checkpoint_blocks = false;     // in every mamba group
  std::int32_t prefill_checkpoint_alignment = 0;  // 0: none
  bool shared_prefix_checkpoint = false;
  CheckpointStart checkpoint_start{};  // on_block_boundary
  std::int32_t max_tokens_a_step = 0;  // of one request: budget and threshold
};

// One request in one step.
struct AlignedSplitInputs {
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_tokens = 0;
  std::int32_t num_new_tokens = 0;
  std::int32_t num_new_local_computed_tokens = 0;
  std::int32_t num_external_computed_tokens = 0;
  std::int32_t shared_prefix_boundary = 0;  // end of a prefix that others share but no state ends
                                            // (semantics: junction); 0: none
};

// Which release's rule `rule` follows with these settings: every_chunk_on_grid takes over the
// newest one's where a state may be stored inside a block.
AlignedSplit aligned_split_form(AlignedSplit rule, const AlignedSplitSettings& settings);

// Tokens of this chunk; 0: none in this step. Decodes are not split.
std::int32_t mamba_block_aligned_split(AlignedSplit rule, const AlignedSplitSettings& settings,
                                       const AlignedSplitInputs& inputs);

}  // namespace hybridscope
