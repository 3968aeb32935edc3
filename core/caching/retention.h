// Which states of a prompt stay in the prefix cache (semantics: retention; vLLM
// v1/core/single_type_kv_cache_manager.py, reachable_block_mask).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace hybridscope {

enum class ReachableBoundaries : std::uint8_t;

struct RetentionRule {
  // Tokens between two states that are kept, 0: none but those at reachable boundaries; empty:
  // every state is kept.
  std::optional<std::int32_t> interval = {};
  ReachableBoundaries boundaries{};  // prompt_end; the enum is in manager_policies.h
  std::int32_t scheduler_block_size = 16;
  std::int32_t hit_alignment = 16;  // hits end on multiples of it
  bool eagle_block_drop = false;    // some group's last block is dropped from a hit
};

// What the rule reads of a request.
struct CachedPrompt {
  std::int32_t num_prompt_tokens = 0;
  std::int32_t shared_prefix_boundary = 0;  // semantics: junction; 0: none
  std::int32_t num_computed_tokens = 0;     // before the step
};

// Why a state is kept that the interval alone does not keep.
enum class KeptFor : std::uint8_t {
  prompt_end,            // a prompt that is sent again hits it
  longer_prompt,         // one that goes on after the prompt hits it (a dropped block)
  junction,              // a prefix that others share ends there
  block_before_junction  // with a dropped block
};

// Tokens between two states that the interval keeps by itself, a multiple of the block size; 0: it
// keeps none. Requires: rule.interval.
std::int32_t kept_period(const RetentionRule& rule, std::int32_t block_size);

// The states of one request that its group keeps.
class RetainedStates {
 public:
  // `drops_eagle_block`: this group's last block is dropped from a hit.
  RetainedStates(const RetentionRule& rule, const CachedPrompt& prompt, std::int32_t block_size,
                 bool drops_eagle_block);

  // Is the state at the end of block `column` kept?
  bool keeps(std::int32_t column) const;
  // Is it kept whatever the prompt is?
  bool on_interval(std::int32_t column) const { return period_ > 0 && (column + 1) % period_ == 0; }

 private:
  std::int32_t period_ = 1;                                 // of kept columns; 0: boundaries alone
  std::array<std::int32_t, 4> columns_ = {-1, -1, -1, -1};  // that end at a reachable boundary
  std::int32_t num_columns_ = 0;
};

// The states that a retention interval keeps besides its own grid, as a list with reasons for
// explanations (semantics: retention; vLLM v1/core/single_type_kv_cache_manager.py,
// reachable_block_mask).
struct KeptBoundary {
  KeptFor reason = KeptFor::prompt_end;
  std::int32_t num_tokens = 0;  // before the state; a multiple of the group's block size
  friend bool operator==(const KeptBoundary&, const KeptBoundary&) = default;
};

// In the order of the rule; a state that is kept for two reasons has the first. Without an interval
// every state is kept, and the answer is empty. Parameters as those of RetainedStates.
std::vector<KeptBoundary> kept_boundaries(const RetentionRule& rule, const CachedPrompt& prompt,
                                          std::int32_t block_size, bool drops_eagle_block);

}  // namespace hybridscope
