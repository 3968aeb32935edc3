#include "sessions/explain/explain_schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

struct GroupToExplain {
  const GroupLookup& lookup;
  const KVCacheGroup& group;
  const AdmissionLookup& admission;
  std::int32_t alignment = 1;  // tokens; every hit is a multiple of it
  std::string_view alignment_name{};
  bool is_looked_inside = false;  // a hit can end inside the group's blocks
  bool keeps_all_blocks = false;  // the policy does not cut its list to the hit
  std::int32_t num_alike = 1;     // groups of the same spec, which are looked up together
};

// FullAttentionCut::first_spec_group: attention groups of other specs are not cut.
bool keeps_all_blocks(const EngineConfig& config, const KVCacheGroup& group) {
  if (group.is_mamba() || !config.policies.is(FullAttentionCut::first_spec_group)) return false;
  const auto& groups = config.kv_cache_config.groups;
  const auto first = std::ranges::find_if(groups, [](const auto& g) { return !g.is_mamba(); });
  return first->spec != group.spec;
}

std::string missing_words(const GroupToExplain& g) {
  const std::int32_t block_size = g.group.block_size();
  const std::int32_t end = (g.lookup.miss_block + 1) * block_size;
  const std::string nowhere =
      g.num_alike > 1
          ? fmt::format("not there in at least one of the {} groups of its kind", g.num_alike)
          : std::string("not there");
  const std::string block =
      fmt::format("block {} (tokens {}..{})", g.lookup.miss_block, end - block_size + 1, end);
  if (g.group.is_mamba())
    return g.is_looked_inside
               ? fmt::format("the state that was looked for first, in {}, is {}", block, nowhere)
               : fmt::format("the state after {} tokens is {}", end, nowhere);
  return fmt::format("{} is {}{}", block, nowhere, g.is_looked_inside ? " as a whole" : "");
}

std::string limit_words(const GroupToExplain& g) {
  const std::int32_t limit = g.admission.explanation.max_cache_hit_length;
  const bool by_state = g.group.is_mamba() && g.is_looked_inside;
  const std::int32_t unit = by_state ? g.alignment : g.group.block_size();
  if (g.group.is_mamba() && g.lookup.present_length == 0)
    return fmt::format("no {} of {} tokens ends within {} tokens",
                       by_state ? "hash block" : "block", unit, limit);
  std::string text = fmt::format("no longer prefix of whole {} of {} fits into {} tokens",
                                 by_state ? "hash blocks" : "blocks", unit, limit);
  if (!by_state && g.is_looked_inside && g.lookup.present_length < round_down(limit, g.alignment))
    text += ", and no longer part of a block is there";
  return text;
}

std::string alignment_words(const GroupToExplain& g) {
  const bool cuts = g.lookup.hit_length < g.lookup.present_length;
  return fmt::format("{} of {} {}{}", cuts ? "cut to a multiple" : "only multiples",
                     g.alignment_name, g.alignment, cuts ? "" : " are looked for");
}

std::string stop_words(const GroupToExplain& g) {
  const std::string missing = g.lookup.miss_block >= 0 ? missing_words(g) + "; " : "";
  switch (g.lookup.stop) {
    case LookupStop::caching_off: return "prefix caching is off";
    case LookupStop::limit_reached: return limit_words(g);
    case LookupStop::miss: return missing_words(g);
    case LookupStop::eagle_drop:
      return missing +
             "the last block is computed again, because the draft model needs its hidden states";
    case LookupStop::alignment: return missing + alignment_words(g);
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
  const std::string_view place = end == in.shared_prefix_boundary ? ", where a shared prefix ends"
                                 : end % settings.block_size == 0 ? ", on the block grid"
                                 : end % settings.hash_block_size == 0 ? ", on the hash grid"
                                                                       : "";
  return fmt::format("end = {} + {} = {}: cut to {}{}", start, in.num_new_tokens, wanted, end,
                     place);
}

// AlignedSplit::every_chunk_on_grid: what it changes of the `reference` tokens that the rule of
// 0.24.0 gives.
std::string grid_words(const AlignedSplitSettings& settings, const AlignedSplitInputs& in,
                       std::int32_t start, std::int32_t reference) {
  const std::int32_t count =
      mamba_block_aligned_split(AlignedSplit::every_chunk_on_grid, settings, in);
  if (count == reference) return {};
  const std::int32_t end = round_up(start, settings.block_size);
  if (end == start)
    return fmt::format(
        "; a chunk that does not reach the last known token {} ends on the block grid: {}",
        in.num_tokens, count);
  return count == 0
             ? fmt::format("; it starts inside a block and does not reach its end {}: 0", end)
             : fmt::format("; it starts inside a block and stops at its end: {} - {} = {}", end,
                           start, count);
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
  const bool inside = hits_end_inside_blocks(config);
  const std::int32_t alignment = inside              ? config.hash_block_size
                                 : groups.size() > 1 ? config.scheduler_block_size
                                                     : groups.front().block_size();
  for (std::size_t g = 0; g < std::min(groups.size(), why.groups.size()); ++g) {
    const auto alike = std::ranges::count(groups, groups[g].spec, &KVCacheGroup::spec);
    text +=
        fmt::format("\n{} {}", names.group(static_cast<std::int32_t>(g)),
                    group_words({.lookup = why.groups[g],
                                 .group = groups[g],
                                 .admission = lookup,
                                 .alignment = alignment,
                                 .alignment_name = inside              ? "hash_block_size"
                                                   : groups.size() > 1 ? "scheduler_block_size"
                                                                       : "block_size",
                                 .is_looked_inside = inside && alignment < groups[g].block_size(),
                                 .keeps_all_blocks = keeps_all_blocks(config, groups[g]),
                                 .num_alike = static_cast<std::int32_t>(alike)}));
  }
  return text;
}

std::string_view explain_skip(SkipReason reason) {
  switch (reason) {
    case SkipReason::no_token_budget: return "too little of the token budget is left for it";
    case SkipReason::split_to_zero:
      return "the aligned split left nothing: the tokens that it could get reach no block boundary";
    case SkipReason::max_model_len: return "nothing that it could run fits below max_model_len";
    case SkipReason::chunked_prefill_off:
      return "its tokens do not fit what is left of the budget, and chunked prefill is off";
    case SkipReason::allocation_refused:
      return "blocks were refused: too few are free for it, or its hit is written in this very "
             "step";
    case SkipReason::max_num_seqs: return "max_num_seqs requests run already";
    case SkipReason::behind_refused_request: return "a waiting request before it was refused";
    case SkipReason::preemption_in_step:
      return "no request is admitted in a step that preempted one";
    case SkipReason::ends_in_flight:
      return "the frame in flight brings its last token, however many drafts are accepted";
    case SkipReason::frees_deferred:
      return "blocks that were freed come back when a frame in flight has returned";
    case SkipReason::frame_in_flight:
      return "it was preempted while a frame was in flight, which has to return first";
  }
  return {};
}

std::string explain_skip(const SkippedRequest& skipped, const TokenTerms* terms,
                         const EngineConfig& config) {
  std::string text(explain_skip(skipped.reason));
  if (terms == nullptr) return text;
  const std::int32_t computed = terms->num_computed_tokens;
  const std::int32_t num_new = terms->num_new_tokens;
  switch (skipped.reason) {
    case SkipReason::no_token_budget:
      return text + fmt::format(": {} wanted, {} left", num_new, terms->budget_left);
    case SkipReason::split_to_zero:
      return text + fmt::format(": tokens {}..{}, {}", computed + 1, computed + num_new,
                                num_new == terms->budget_left ? "what is left of the budget"
                                : num_new == terms->prefill_threshold
                                    ? "long_prefill_token_threshold"
                                    : "all that it lacks");
    case SkipReason::max_model_len:
      return text + fmt::format(": c = {}, max_model_len {}", computed, config.max_model_len);
    default: return text;
  }
}

std::string explain_aligned_split(AlignedSplit rule, const AlignedSplitSettings& settings,
                                  const AlignedSplitInputs& in) {
  const std::int32_t computed =
      in.num_computed_tokens + in.num_new_local_computed_tokens + in.num_external_computed_tokens;
  const std::int32_t past = std::max(in.num_prompt_tokens, in.num_tokens - 1);
  if (computed >= past)
    return fmt::format("computed {} >= max(prompt {}, known - 1 = {}): a decode, not split",
                       computed, in.num_prompt_tokens, in.num_tokens - 1);
  const AlignedSplit form = aligned_split_form(rule, settings);
  if (form > AlignedSplit::until_last_cache_position) return explain_stops(form, settings, in);
  const std::int32_t block_size = settings.block_size;
  const std::int32_t last_boundary = round_down(in.num_tokens, block_size);
  std::int32_t last = last_boundary;
  std::string text = fmt::format("last_cache_position = floor({} / {}) * {}", in.num_tokens,
                                 block_size, block_size);
  if (settings.use_eagle) {
    last = std::max(last - block_size, 0);
    text += last_boundary >= block_size
                ? fmt::format(" - {} (draft model)", block_size)
                : fmt::format(", less {} (draft model), but not below 0", block_size);
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
    text += fmt::format("; a shared prefix ends at {}: cut to floor(({} - {}) / {}) * {} = {}",
                        in.shared_prefix_boundary, in.shared_prefix_boundary, computed, block_size,
                        block_size, reference);
  return form == AlignedSplit::until_last_cache_position
             ? text
             : text + grid_words(settings, in, computed, reference);
}

}  // namespace hybridscope
