#include "core/engine/aligned_split.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {
namespace {

std::int32_t start_of(const AlignedSplitInputs& inputs) {
  return inputs.num_computed_tokens + inputs.num_new_local_computed_tokens +
         inputs.num_external_computed_tokens;
}

// Rounds the count of tokens, and stops at the junction by a count of tokens.
std::int32_t until_last_cache_position(const AlignedSplitSettings& settings,
                                       const AlignedSplitInputs& inputs) {
  const std::int32_t block_size = settings.block_size;
  const std::int32_t computed = start_of(inputs);
  std::int32_t num_new_tokens = inputs.num_new_tokens;
  std::int32_t last_cache_position = round_down(inputs.num_tokens, block_size);
  if (settings.use_eagle) last_cache_position = std::max(last_cache_position - block_size, 0);
  const std::int32_t after = computed + num_new_tokens;
  if (after < last_cache_position)
    num_new_tokens = round_down(num_new_tokens, block_size);
  else if (computed < last_cache_position && last_cache_position < after)
    num_new_tokens = last_cache_position - computed;

  const std::int32_t uncached = inputs.shared_prefix_boundary - computed;
  if (uncached >= block_size && num_new_tokens > uncached)
    num_new_tokens = round_down(uncached, block_size);
  return num_new_tokens;
}

// As above; then a chunk that does not reach the last known token ends on the block grid, and one
// that starts off the grid stops at the next boundary (known bug 1).
std::int32_t every_chunk_on_grid(const AlignedSplitSettings& settings,
                                 const AlignedSplitInputs& inputs) {
  const std::int32_t num_new_tokens = until_last_cache_position(settings, inputs);
  const std::int32_t computed = start_of(inputs);
  const std::int32_t end = computed + num_new_tokens;
  if (computed % settings.block_size != 0) {
    const std::int32_t boundary = round_up(computed, settings.block_size);
    if (end >= inputs.num_tokens && inputs.num_tokens <= boundary) return num_new_tokens;
    return end >= boundary ? boundary - computed : 0;
  }
  if (end >= inputs.num_tokens) return num_new_tokens;
  return std::max(round_down(end, settings.block_size) - computed, 0);
}

// The forms from 0.26.0 on work with positions: a chunk ends at the first of several stops.
class Stops {
 public:
  Stops(AlignedSplit rule, const AlignedSplitSettings& settings, const AlignedSplitInputs& inputs)
      : rule_(rule),
        settings_(settings),
        inputs_(inputs),
        start_(start_of(inputs)),
        prefill_end_(std::max(inputs.num_prompt_tokens, inputs.num_tokens - 1)),
        end_(start_ + inputs.num_new_tokens) {}

  std::int32_t num_tokens() {
    const bool inner = stores_inside();
    const std::int32_t last = inner || ends_anywhere() ? 0 : last_position();
    round_end(last);
    std::int32_t end = end_;
    const auto stop_at = [&](std::int32_t position) {
      if (start_ < position && position < end_) end = std::min(end, position);
    };
    stop_at(last);
    if (!inner) {
      stop_at(next_boundary(last));
      if (const std::int32_t tail = tail_position(); last < tail) stop_at(tail);
    }
    stop_at(junction());
    return std::max(end - start_, 0);
  }

 private:
  // The release has the rules of `rule`, or later ones.
  bool since(AlignedSplit rule) const { return rule_ >= rule; }
  bool drops() const {
    return since(AlignedSplit::stops_with_replay) ? settings_.eagle_block_drop
                                                  : settings_.use_eagle;
  }
  std::int32_t replay_position(std::int32_t num_tokens, std::int32_t alignment) const {
    return last_replay_position(
        num_tokens, alignment,
        {.eagle_block_drop = settings_.eagle_block_drop,
         .num_hash_lookahead_tokens = settings_.num_hash_lookahead_tokens,
         .leaves_a_token_with_drop = !since(AlignedSplit::stops_before_the_last_token)});
  }
  // The position less a whole step of it, if the last block of a hit is dropped.
  std::int32_t with_drop(std::int32_t position, std::int32_t step) const {
    return drops() ? std::max(position - step, 0) : position;
  }

  // Does the chunk end the prefill and store a state on its way?
  bool stores_inside() const {
    if (!since(AlignedSplit::stops_with_replay) || !settings_.has_prefill_checkpoint_blocks ||
        end_ < prefill_end_)
      return false;
    if (settings_.checkpoint_start == CheckpointStart::on_block_boundary &&
        start_ % settings_.block_size != 0)
      return false;
    const bool whole_blocks =
        since(AlignedSplit::stops_before_the_last_token) && !settings_.fine_grained_hits;
    const std::int32_t position = replay_position(
        prefill_end_, whole_blocks ? settings_.scheduler_block_size : settings_.hash_block_size);
    return can_checkpoint({.start = start_,
                           .end = end_,
                           .block_size = settings_.block_size,
                           .hash_block_size = settings_.hash_block_size},
                          position, settings_.prefill_checkpoint_alignment);
  }
  // 0.29.0: a chunk from the grid stores its state wherever it ends.
  bool ends_anywhere() const {
    return rule_ == AlignedSplit::stops_but_with_checkpoints &&
           settings_.has_prefill_checkpoint_blocks && !settings_.use_eagle &&
           start_ % settings_.block_size == 0;
  }
  std::int32_t last_position() const {
    if (since(AlignedSplit::stops_before_the_last_token))
      return replay_position(inputs_.num_tokens, settings_.block_size);
    return with_drop(round_down(inputs_.num_tokens, settings_.block_size), settings_.block_size);
  }
  void round_end(std::int32_t last) {
    const std::int32_t on_grid = round_down(end_, settings_.block_size);
    if (rule_ == AlignedSplit::stops_until_last_cache_position) {
      if (end_ < last) end_ = on_grid;
    } else if (!ends_anywhere() && end_ < prefill_end_) {
      // A block that is wider than a step is crossed in pieces.
      if (on_grid > start_ || settings_.block_size <= settings_.max_tokens_a_step) end_ = on_grid;
    }
  }
  std::int32_t next_boundary(std::int32_t last) const {
    if (start_ % settings_.block_size == 0) return 0;
    const std::int32_t boundary = round_up(start_, settings_.block_size);
    return rule_ == AlignedSplit::stops_until_last_cache_position && boundary > last ? 0 : boundary;
  }
  // Where a hit inside the prompt's last block can end.
  std::int32_t tail_position() const {
    if (!settings_.fine_grained_hits) return 0;
    const std::int32_t prompt = inputs_.num_prompt_tokens;
    const std::int32_t hash_block = settings_.hash_block_size;
    std::int32_t tail = round_down(prompt, hash_block);
    if (since(AlignedSplit::stops_before_the_last_token))
      tail = replay_position(prompt, hash_block);
    else if (since(AlignedSplit::stops_with_replay))
      tail = with_drop(tail, hash_block);
    return tail < prompt ? tail : 0;
  }
  std::int32_t junction() const {
    const std::int32_t boundary = inputs_.shared_prefix_boundary;
    if (boundary <= start_ || boundary >= end_) return 0;
    if (since(AlignedSplit::stops_with_replay) && settings_.shared_prefix_checkpoint &&
        boundary <= inputs_.num_prompt_tokens)
      return boundary;
    return start_ + round_down(boundary - start_, settings_.block_size);
  }

  AlignedSplit rule_;
  const AlignedSplitSettings& settings_;
  const AlignedSplitInputs& inputs_;
  std::int32_t start_;
  std::int32_t prefill_end_;
  std::int32_t end_;  // of the chunk, before the stops
};

}  // namespace

AlignedSplit aligned_split_form(AlignedSplit rule, const AlignedSplitSettings& settings) {
  const bool inside = settings.fine_grained_hits || settings.has_prefill_checkpoint_blocks;
  return rule == AlignedSplit::every_chunk_on_grid && inside
             ? AlignedSplit::stops_before_the_last_token
             : rule;
}

std::int32_t mamba_block_aligned_split(AlignedSplit rule, const AlignedSplitSettings& settings,
                                       const AlignedSplitInputs& inputs) {
  if (start_of(inputs) >= std::max(inputs.num_prompt_tokens, inputs.num_tokens - 1))
    return inputs.num_new_tokens;
  switch (const AlignedSplit form = aligned_split_form(rule, settings)) {
    case AlignedSplit::every_chunk_on_grid: return every_chunk_on_grid(settings, inputs);
    case AlignedSplit::until_last_cache_position:
      return until_last_cache_position(settings, inputs);
    default: return Stops(form, settings, inputs).num_tokens();
  }
}

}  // namespace hybridscope
