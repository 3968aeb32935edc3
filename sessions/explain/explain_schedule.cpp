#include "sessions/explain/explain_schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {
namespace {

struct GroupToExplain {
  const GroupLookup& lookup;
  const KVCacheGroup& group;
  const AdmissionLookup& admission;
  std::int32_t scheduler_block_size = 0;
  bool keeps_all_blocks = false;  // the policy does not cut its list to the hit
};

// FullAttentionCut::first_spec_group: attention groups of other specs are not cut.
bool keeps_all_blocks(const EngineConfig& config, const KVCacheGroup& group) {
  if (group.is_mamba() ||
      config.policies.cache.full_attention_cut != FullAttentionCut::first_spec_group)
    return false;
  const auto& groups = config.kv_cache_config.groups;
  const auto first = std::ranges::find_if(groups, [](const auto& g) { return !g.is_mamba(); });
  return first->spec != group.spec;
}

std::string missing_block(const GroupToExplain& g) {
  const std::int32_t block_size = g.group.block_size();
  const std::int32_t end = (g.lookup.miss_block + 1) * block_size;
  return g.group.is_mamba() ? fmt::format("the state after {} tokens is not there", end)
                            : fmt::format("block {} (tokens {}..{}) is not there",
                                          g.lookup.miss_block, end - block_size + 1, end);
}

std::string limit_words(const GroupToExplain& g) {
  const std::int32_t limit = g.admission.explanation.max_cache_hit_length;
  if (g.group.is_mamba() && g.lookup.present_length == 0)
    return fmt::format("no block of {} tokens ends within {} tokens", g.group.block_size(), limit);
  return fmt::format("no longer prefix of whole blocks of {} fits into {} tokens",
                     g.group.block_size(), limit);
}

std::string stop_words(const GroupToExplain& g) {
  const std::string missing = g.lookup.miss_block >= 0 ? missing_block(g) + "; " : "";
  switch (g.lookup.stop) {
    case LookupStop::caching_off:
      return "prefix caching is off";
    case LookupStop::limit_reached:
      return limit_words(g);
    case LookupStop::miss:
      return missing_block(g);
    case LookupStop::eagle_drop:
      return missing +
             "the last block is computed again, because the draft model needs its hidden "
             "states";
    case LookupStop::alignment:
      return missing +
             fmt::format("cut to a multiple of scheduler_block_size {}", g.scheduler_block_size);
    case LookupStop::cut_to_other_group:
      if (g.keeps_all_blocks && g.lookup.hit_length > g.admission.num_hit_tokens)
        return fmt::format("not cut to {}, although another group has no more (full_attention_cut)",
                           g.admission.num_hit_tokens);
      return g.lookup.hit_length > g.admission.num_hit_tokens
                 ? fmt::format("cut to {}, because another group has no more",
                               g.admission.num_hit_tokens)
                 : std::string("no more was looked for, because another group has no more");
  }
  return {};
}

std::string group_words(const GroupToExplain& g) {
  std::string text = g.group.is_mamba() ? g.lookup.present_length > 0
                                              ? fmt::format("has the state after {} tokens",
                                                            g.lookup.present_length)
                                              : std::string("has no state")
                                        : fmt::format("has {} tokens", g.lookup.present_length);
  if (g.lookup.hit_length != g.lookup.present_length)
    text += fmt::format(", can serve {}", g.lookup.hit_length);
  text += ": " + stop_words(g);
  if (g.lookup.planned_column >= 0)
    text += fmt::format("; the block of column {} is written in this very step, so the hit waits",
                        g.lookup.planned_column);
  return text;
}

// The rules from 0.26.0 on: the chunk ends at the first of several positions.
std::string explain_stops(AlignedSplit rule, const AlignedSplitSettings& settings,
                          const AlignedSplitInputs& in) {
  const std::int32_t start =
      in.num_computed_tokens + in.num_new_local_computed_tokens + in.num_external_computed_tokens;
  const std::int32_t count = mamba_block_aligned_split(rule, settings, in);
  const std::int32_t wanted = start + in.num_new_tokens;
  if (count == in.num_new_tokens)
    return fmt::format("end = {} + {} = {}: as it is", start, count, wanted);
  if (count == 0)
    return fmt::format("end = {} + {} = {}: no block ends in it, so it waits", start,
                       in.num_new_tokens, wanted);
  const std::int32_t end = start + count;
  const std::string_view place = end == in.shared_prefix_boundary ? "where a shared prefix ends"
                                 : end % settings.block_size == 0 ? "on the block grid"
                                                                  : "on the hash grid";
  return fmt::format("end = {} + {} = {}: cut to {}, {}", start, in.num_new_tokens, wanted, end,
                     place);
}

}  // namespace

std::string explain_lookup(const AdmissionLookup& lookup, const EngineConfig& config,
                           const Names& names) {
  const LookupExplanation& why = lookup.explanation;
  std::string text = fmt::format("{}: hit of {} tokens, at most {} (its {} known tokens - 1)",
                                 names.request(lookup.request), lookup.num_hit_tokens,
                                 why.max_cache_hit_length, why.max_cache_hit_length + 1);
  if (why.num_rounds > 1) text += fmt::format("; the groups agreed in {} rounds", why.num_rounds);
  if (why.longest_hit_length > lookup.num_hit_tokens)
    text += fmt::format("; one group offered {} on the way", why.longest_hit_length);
  if (!lookup.admitted) text += "; not admitted in this step";
  const auto& groups = config.kv_cache_config.groups;
  for (std::size_t g = 0; g < std::min(groups.size(), why.groups.size()); ++g)
    text += fmt::format("\n{} {}", names.group(static_cast<std::int32_t>(g)),
                        group_words({why.groups[g], groups[g], lookup, config.scheduler_block_size,
                                     keeps_all_blocks(config, groups[g])}));
  return text;
}

std::string_view explain_skip(SkipReason reason) {
  switch (reason) {
    case SkipReason::no_token_budget:
      return "the token budget was spent before its turn";
    case SkipReason::split_to_zero:
      return "the aligned split left nothing: what is left of the budget does not reach the next "
             "block boundary";
    case SkipReason::max_model_len:
      return "no room is left below max_model_len";
    case SkipReason::chunked_prefill_off:
      return "the prompt does not fit the budget as a whole, and chunked prefill is off";
    case SkipReason::allocation_refused:
      return "blocks were refused: too few are free, or its hit is written in this very step";
    case SkipReason::max_num_seqs:
      return "max_num_seqs requests run already";
    case SkipReason::behind_refused_request:
      return "a waiting request before it was refused";
    case SkipReason::preemption_in_step:
      return "no request is admitted in a step that preempted one";
    case SkipReason::ends_in_flight:
      return "the frame in flight brings its last token, however many drafts are accepted";
    case SkipReason::frees_deferred:
      return "the blocks of a preempted request come back with the frame in flight";
    case SkipReason::frame_in_flight:
      return "it was preempted while a frame was in flight, which has to return first";
  }
  return {};
}

std::string explain_aligned_split(AlignedSplit rule, const AlignedSplitSettings& settings,
                                  const AlignedSplitInputs& in) {
  const std::int32_t computed =
      in.num_computed_tokens + in.num_new_local_computed_tokens + in.num_external_computed_tokens;
  const std::int32_t past = std::max(in.num_prompt_tokens, in.num_tokens - 1);
  if (computed >= past)
    return fmt::format("computed {} >= max(prompt {}, known - 1 = {}): a decode, not split",
                       computed, in.num_prompt_tokens, in.num_tokens - 1);
  if (rule > AlignedSplit::until_last_cache_position) return explain_stops(rule, settings, in);
  const std::int32_t block_size = settings.block_size;
  std::int32_t last = round_down(in.num_tokens, block_size);
  std::string text = fmt::format("last_cache_position = floor({} / {}) * {}", in.num_tokens,
                                 block_size, block_size);
  if (settings.use_eagle) {
    last = std::max(last - block_size, 0);
    text += fmt::format(" - {} (draft model)", block_size);
  }
  const std::int32_t after = computed + in.num_new_tokens;
  const std::int32_t reference =
      mamba_block_aligned_split(AlignedSplit::until_last_cache_position, settings, in);
  text += fmt::format(" = {}; end = {} + {} = {}", last, computed, in.num_new_tokens, after);
  std::int32_t cut = in.num_new_tokens;
  if (after < last) {
    cut = round_down(in.num_new_tokens, block_size);
    text += fmt::format(" < {}: {} rounded down to a multiple of {} = {}", last, in.num_new_tokens,
                        block_size, cut);
  } else if (computed < last && last < after) {
    cut = last - computed;
    text += fmt::format("; {} < {} < {}: cut to {} - {} = {}", computed, last, after, last,
                        computed, cut);
  } else {
    text += ": as it is";
  }
  if (reference != cut)
    text += fmt::format("; a common prefix of {} is not cached yet: cut to {}",
                        in.shared_prefix_boundary - computed, reference);
  if (rule == AlignedSplit::until_last_cache_position) return text;
  const std::int32_t on_grid = mamba_block_aligned_split(rule, settings, in);
  if (on_grid != reference)
    text += fmt::format(
        "; a chunk that does not reach the last known token {} ends on the block "
        "grid: {}",
        in.num_tokens, on_grid);
  return text;
}

}  // namespace hybridscope
