// Where the state of a prefill is stored besides its end (semantics: prefill-checkpoint; vLLM
// v1/kv_cache_interface.py and v1/core/sched/scheduler.py, from release 0.29.0 on).
#pragma once

#include <cstdint>

namespace hybridscope {

// The prefill kernel of GatedDeltaNet layers.
enum class GdnPrefillBackend : std::uint8_t { triton, flashinfer };

// What decides how many of the last tokens a resend of the prompt computes again.
struct ReplayRule {
  bool eagle_block_drop = false;               // the draft model's last block is dropped from a hit
  std::int32_t num_hash_lookahead_tokens = 0;  // that a block's hash covers besides its own
  // 0.30.0 and 0.31.0: the last token is left out before the drop as well, not instead of it.
  bool leaves_a_token_with_drop = false;
};

// The last multiple of `alignment` among `num_tokens` tokens that a resend can hit; at least 0.
// Requires: alignment > 0.
std::int32_t last_replay_position(std::int32_t num_tokens, std::int32_t alignment,
                                  const ReplayRule& rule);

// A chunk [start, end) of a prefill, in tokens.
struct PrefillChunk {
  std::int32_t start = 0;
  std::int32_t end = 0;
  std::int32_t block_size = 16;
  std::int32_t hash_block_size = 16;
};

// Can the state after `position` tokens be stored while the chunk runs, in the column before its
// last one? `checkpoint_alignment`: tokens between two positions at which the layer's kernel can
// store a state, counted from the chunk's start; 0: it cannot.
bool can_checkpoint(const PrefillChunk& chunk, std::int32_t position,
                    std::int32_t checkpoint_alignment);

}  // namespace hybridscope
