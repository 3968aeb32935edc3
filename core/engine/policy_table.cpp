// The table of policies: one row for each, in the order in which documents list them. What the
// releases do is in releases.cpp.
#include "core/engine/policy_table.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/caching/block_pool_policies.h"
#include "core/caching/full_attention_manager_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/mamba_manager_policies.h"
#include "core/caching/retention_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/all_mode_copies_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/copy_rows_policies.h"
#include "core/engine/dummy_run_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "core/engine/worker_v2_policies.h"
#include "core/metadata/capture_sizes_policies.h"
#include "core/metadata/gdn_builder_policies.h"
#include "core/metadata/graph_padding_policies.h"
#include "core/metadata/mamba_builder_policies.h"
#include "core/model/checkpoint_layers.h"
#include "core/model/conv_state_sizing.h"

namespace hybridscope {
namespace {

// "NullRows::run]", "NullRows)7]": how the compiler spells the value, from its enum's name on.
template <auto Value>
constexpr std::string_view spelled() {
  const std::string_view function = __PRETTY_FUNCTION__;
  const std::string_view value = function.substr(function.find("Value = ") + 8);
  return value.substr(value.find("::") + 2);
}

// Is `name` the enumerator's?
template <auto Value>
constexpr bool is_enumerator(std::string_view name) {
  const std::string_view text = spelled<Value>();
  const std::size_t begin = text.find("::") + 2;
  const bool has_name = begin != 1 && begin < text.find_first_of(";]");
  if (!has_name) return name.empty();
  return text.substr(begin, text.find_first_of(";]") - begin) == name;
}

// Is `name` the enum's, in snake_case?
template <auto Value>
constexpr bool is_name_of_enum(std::string_view name) {
  const std::string_view text = spelled<Value>();
  const std::string_view camel_case = text.substr(0, text.find("::"));
  std::size_t at = 0;
  for (std::size_t i = 0; i < camel_case.size(); ++i) {
    const char letter = camel_case[i];
    const bool upper = letter >= 'A' && letter <= 'Z';
    if (upper && i > 0 && (at == name.size() || name[at++] != '_')) return false;
    const char expected = upper ? static_cast<char>(letter - 'A' + 'a') : letter;
    if (at == name.size() || name[at++] != expected) return false;
  }
  return at == name.size();
}

// A row whose names are not the enum's does not compile: the error names the row and the line here.
template <class Value>
consteval Policy row(PolicyText text, Value in_reference, PolicyChange change) {
  static_assert(IsPolicy<Value>, "its header needs a PolicyOf<> beside the enum");
  if (!is_name_of_enum<Value{}>(text.name)) throw "the name is the enum's, in snake_case";
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    if (!(is_enumerator<static_cast<Value>(I)>(text.values[I]) && ...))
      throw "the values are the enumerators, all of them, in their order";
  }
  (std::make_index_sequence<8>());
  return {.text = text,
          .safe = static_cast<std::uint8_t>(PolicyOf<Value>::kSafe),
          .reference = static_cast<std::uint8_t>(in_reference),
          .change = change,
          .place = kPolicyPlace<Value>};
}

// The value in profile `reference` is the safe one where none is given: races whose order the
// reference leaves open, and faults of other trees.
template <class Value>
consteval Policy policy(PolicyText text, Value in_reference = PolicyOf<Value>::kSafe) {
  return row<Value>(text, in_reference, PolicyChange::between_steps);
}

// A policy that the caching stack obeys.
template <class Value>
consteval Policy caching_policy(PolicyText text, Value in_reference = PolicyOf<Value>::kSafe) {
  return row<Value>(text, in_reference, PolicyChange::not_caching);
}

// A policy by which blocks are laid out.
template <class Value>
consteval Policy sizing_policy(PolicyText text, Value in_reference = PolicyOf<Value>::kSafe) {
  return row<Value>(text, in_reference, PolicyChange::not_sizing);
}

constexpr Policy kTable[] = {
    caching_policy<MambaEagleLookahead>(
        {.name = "mamba_eagle_lookahead",
         .values = {"longer_limit", "none"},
         .help = "with drafts, whether a recurrent group looks one block beyond the hit"},
        MambaEagleLookahead::longer_limit),
    caching_policy<FullAttentionCut>({.name = "full_attention_cut",
                                      .values = {"first_spec_group", "every_group"},
                                      .help = "which attention groups are cut to the hit"},
                                     FullAttentionCut::first_spec_group),
    caching_policy<BlockRegistration>(
        {.name = "block_registration",
         .values = {"at_allocation", "planned_then_published", "at_allocation_hit_at_once"},
         .help = "when other requests can hit a block"},
        BlockRegistration::at_allocation),
    caching_policy<ReachableBoundaries>(
        {.name = "reachable_boundaries",
         .values = {"prompt_end", "prompt_end_and_junction", "on_hit_grid", "replay",
                    "replay_and_block_before_junction"},
         .help = "which states a retention interval keeps besides its own"},
        ReachableBoundaries::prompt_end),
    caching_policy<EagleMargin>(
        {.name = "eagle_margin",
         .values = {"whole_block", "hash_block", "hash_block_to_the_last_hash"},
         .help = "with drafts, how far an attention group looks beyond the hit"}),
    caching_policy<EagleProof>(
        {.name = "eagle_proof",
         .values = {"block_drop", "look_ahead_hashes"},
         .help = "with drafts, what makes room for the block that is computed again"}),
    caching_policy<HitsInsideBlocks>(
        {.name = "hits_inside_blocks",
         .values = {"never", "stopping_at_hash_blocks", "with_smaller_hash_blocks"},
         .help = "whether a hit can end inside a block"},
        HitsInsideBlocks::never),
    caching_policy<PromptTailKey>(
        {.name = "prompt_tail_key",
         .values = {"never", "at_last_hash_block", "before_eagle_hash_block",
                    "before_dropped_block", "at_replay_position", "at_replay_position_once"},
         .help = "where the end of a prompt is registered inside a block"},
        PromptTailKey::never),
    caching_policy<TailRegistration>(
        {.name = "tail_registration",
         .values = {"of_its_chunk", "of_later_steps_too"},
         .help = "which steps register the end of a prompt inside a block"}),
    caching_policy<SameStepTail>(
        {.name = "same_step_tail",
         .values = {"waits", "copied"},
         .help = "whether a hit ends inside an attention block of the same step"}),
    caching_policy<PrefillCheckpoint>(
        {.name = "prefill_checkpoint",
         .values = {"never", "every_chunk", "last_chunk", "as_states_retained"},
         .help = "which chunks of a prefill store a state before their end"},
        PrefillCheckpoint::never),
    caching_policy<CheckpointStart>(
        {.name = "checkpoint_start",
         .values = {"on_block_boundary", "inside_block_too"},
         .help = "from where a chunk may store a state before its end"}),
    caching_policy<SkippedBasis>(
        {.name = "skipped_basis",
         .values = {"optimistic_minus_drafts", "processed"},
         .help = "which tokens count as computed when old states are freed"}),
    caching_policy<StateRetirement>(
        {.name = "state_retirement",
         .values = {"first_null_stops", "passes_nulls"},
         .help = "whether old states left of an empty column are freed"}),
    caching_policy<EmptyAllocation>(
        {.name = "empty_allocation",
         .values = {"not_noted", "noted"},
         .help = "whether an allocation of no block counts as the request's first"}),
    caching_policy<UncachedFree>(
        {.name = "uncached_free",
         .values = {"to_front", "to_back"},
         .help = "without prefix caching, where in the free queue freed blocks go"}),
    policy<AlignedSplit>({.name = "aligned_split",
                          .values = {"every_chunk_on_grid", "until_last_cache_position",
                                     "stops_until_last_cache_position", "stops_on_grid",
                                     "stops_but_with_checkpoints", "stops_with_replay",
                                     "stops_before_the_last_token"},
                          .help = "where chunks of mode align may end"},
                         AlignedSplit::until_last_cache_position),
    policy<RowClassing>({.name = "row_classing",
                         .values = {"by_meaning", "by_shape", "by_shape_past_the_prompt"},
                         .help = "what makes a row a decode"},
                        RowClassing::by_shape),
    policy<AcceptedCountOwner>({.name = "accepted_count_owner",
                                .values = {"request", "persistent_row"},
                                .help = "whether the accepted count survives a skipped step"},
                               AcceptedCountOwner::persistent_row),
    policy<OneTokenPrompt>({.name = "one_token_prompt",
                            .values = {"as_is", "padded_with_placeholders",
                                       "padding_undone_by_split", "padded_alone_too"},
                            .help = "whether a prompt's last token is padded to 1 + K tokens"},
                           OneTokenPrompt::padded_with_placeholders),
    policy<NoDraftStep>({.name = "no_draft_step",
                         .values = {"verify_with_counts", "column_zero", "zero_drafts"},
                         .help = "where a row without drafts reads its state"},
                        NoDraftStep::column_zero),
    policy<UniformDecodeTest>({.name = "uniform_decode_test",
                               .values = {"by_row_class", "by_shape"},
                               .help = "which batches replay the verify graph"},
                              UniformDecodeTest::by_shape),
    policy<AllModeSpeculation>(
        {.name = "all_mode_speculation",
         .values = {"remembered_column_and_boundary_copies", "full_steps_remembered_no_copies",
                    "computed_column_no_copies"},
         .help = "mode all with drafts: which column state is read from, and whether boundary "
                 "states are stored"},
        AllModeSpeculation::full_steps_remembered_no_copies),
    policy<StaleFrame>(
        {.name = "stale_frame",
         .values = {"dropped_by_run", "discard_by_token_count",
                    "discard_by_token_count_no_rollback", "drained_by_scheduled_tokens"},
         .help = "what becomes of a frame in flight when its request is reset"},
        StaleFrame::discard_by_token_count),
    policy<AcceptedCountLanding>(
        {.name = "accepted_count_landing",
         .values = {"after_row_moves", "before_row_moves"},
         .help = "when accepted counts of a frame in flight reach the host's rows"}),
    policy<DeferredFreeRefusal>(
        {.name = "deferred_free_refusal",
         .values = {"wait_for_the_frame", "preempt_on"},
         .help = "when blocks run out: wait for deferred frees, or preempt"},
        DeferredFreeRefusal::preempt_on),
    policy<StaleRequestQueue>({.name = "stale_request_queue",
                               .values = {"of_its_own", "in_its_place"},
                               .help = "where a preempted request waits for its frames in flight"}),
    policy<DraftSlots>({.name = "draft_slots",
                        .values = {"free", "counted"},
                        .help = "whether a drafter's slots count in the token budget"}),
    policy<LongPrefillThreshold>({.name = "long_prefill_threshold",
                                  .values = {"always", "with_other_requests"},
                                  .help = "when long_prefill_token_threshold cuts a chunk"}),
    policy<PreemptionIndex>(
        {.name = "preemption_index",
         .values = {"if_scheduled", "always", "goes_on_after_itself"},
         .help = "policy priority: how the loop over running requests goes on after a preemption"}),
    policy<ResetPreemptions>({.name = "reset_preemptions",
                              .values = {"reported", "not_reported"},
                              .help = "whether a step reports requests that a reset preempted"},
                             ResetPreemptions::not_reported),
    policy<CommitRegistration>({.name = "commit_registration",
                                .values = {"asynchronous", "asynchronous_or_drafts"},
                                .help = "whose blocks are registered when a frame returns"}),
    policy<StoppedTokens>(
        {.name = "stopped_tokens",
         .values = {"stay_computed", "taken_back"},
         .help = "whether sampled tokens that a stop cuts off count as computed"}),
    policy<UnusedDrafts>({.name = "unused_drafts",
                          .values = {"drafted", "skipped"},
                          .help = "runner v2: whether drafts are made that no request can use"}),
    policy<CommonPrefixBlocks>(
        {.name = "common_prefix_blocks",
         .values = {"counted", "gone"},
         .help = "whether blocks that all running requests share are counted"}),
    policy<RowOrder>({.name = "row_order",
                      .values = {"decodes_then_query_len", "query_len", "drafts_then_query_len",
                                 "verify_then_query_len"},
                      .help = "runner v2: order of the rows of a step"},
                     RowOrder::query_len),
    policy<FullRowsFirst>({.name = "full_rows_first",
                           .values = {"of_drafts", "every_row"},
                           .help = "runner v2: which rows of 1 + K tokens come first"}),
    policy<InitialStateColumn>(
        {.name = "initial_state_column",
         .values = {"mamba_block_size", "cache_config_block_size"},
         .help =
             "runner v2, mode align: which block size gives an admitted request's state column"},
        InitialStateColumn::cache_config_block_size),
    policy<SlotCountReset>(
        {.name = "slot_count_reset",
         .values = {"every_mode", "align_only"},
         .help = "runner v2: in which modes an admitted request's accepted count starts at 1"},
        SlotCountReset::align_only),
    policy<ResumedStateColumn>({.name = "resumed_state_column",
                                .values = {"forgotten", "remembered"},
                                .help = "runner v1: whether a request that is reset and resumed in "
                                        "one step forgets its column"}),
    policy<PostCopyBlockTable>({.name = "post_copy_block_table",
                                .values = {"of_each_group", "of_first_group"},
                                .help = "whose block ids post-copies of mode align use"}),
    policy<BackwardPostCopy>(
        {.name = "backward_post_copy",
         .values = {"made", "suppressed"},
         .help = "whether post-copies to a column left of the running column are made"}),
    policy<AcceptedCountReset>(
        {.name = "accepted_count_reset",
         .values = {"separate_output", "in_place"},
         .help = "runner v2: where the post-copy launch writes counts of 1"}),
    policy<PaddedPromptToken>({.name = "padded_prompt_token",
                               .values = {"of_the_prompt", "last_sampled"},
                               .help = "runner v2: first token of a prompt's padded last row"}),
    policy<ReturningDrafts>(
        {.name = "returning_drafts",
         .values = {"scattered", "placeholders"},
         .help = "runner v1: drafts of a request that comes back after a skipped step"}),
    policy<AcceptedCountRead>({.name = "accepted_count_read",
                               .values = {"after_the_copy", "before_the_copy"},
                               .help = "runner v1, modes none and all: whether counts are read "
                                       "before their copy to the host has ended"}),
    policy<RunningColumn>(
        {.name = "running_column",
         .values = {"of_exact_count", "of_optimistic_count"},
         .help = "runner v1, mode align: which token count gives the pre-copy's column"}),
    policy<GdnTokenPartition>({.name = "gdn_token_partition",
                               .values = {"stable", "unstable"},
                               .help = "token order of a mixed GDN batch"}),
    policy<GdnGates>({.name = "gdn_gates",
                      .values = {"gathered", "in_batch_order"},
                      .help = "whether GDN's gates are gathered like its tokens",
                      .symbolic_state_only = true}),
    policy<ConvRoll>({.name = "conv_roll",
                      .values = {"row_length", "window_length"},
                      .help = "by how much a verify row shifts its conv window",
                      .symbolic_state_only = true}),
    policy<ConvBoundaries>({.name = "conv_boundaries",
                            .values = {"by_position", "by_piece"},
                            .help = "mode all: which conv windows at block boundaries are stored",
                            .symbolic_state_only = true}),
    policy<KdaGateStride>({.name = "kda_gate_stride",
                           .values = {"heads_and_channels", "heads"},
                           .help = "stride of the gates of a verify row's tokens in KDA kernels",
                           .symbolic_state_only = true}),
    policy<NullRows>({.name = "null_rows",
                      .values = {"skipped", "run"},
                      .help = "whether state kernels skip rows of the null block",
                      .symbolic_state_only = true}),
    policy<SameBlockShift>({.name = "same_block_shift",
                            .values = {"memmove", "last_position_first"},
                            .help = "order in which a conv window moves within its block",
                            .symbolic_state_only = true}),
    policy<PaddingPrefilling>({.name = "padding_prefilling",
                               .values = {"cleared", "left_over"},
                               .help = "is_prefilling of padding rows"}),
    policy<ReusedMetadata>(
        {.name = "reused_metadata",
         .values = {"every_array", "state_indices_only"},
         .help = "which arrays a group refreshes when it reuses another group's metadata"}),
    policy<DummyRunTables>({.name = "dummy_run_tables",
                            .values = {"zeroed", "left_over"},
                            .help = "data parallel: block tables of dummy runs"}),
    sizing_policy<ConvStateSizing>(
        {.name = "conv_state_sizing",
         .values = {"kernel_plus_spec", "as_reference", "by_state_shape"},
         .help = "whether conv windows have room for drafts in every model"},
        ConvStateSizing::as_reference),
    policy<CheckpointLayers>(
        {.name = "checkpoint_layers",
         .values = {"none", "mamba2", "mamba2_and_gdn"},
         .help = "mode align: which layers have kernels that store a state inside a prefill"}),
    policy<CheckpointWrites>({.name = "checkpoint_writes",
                              .values = {"reserved", "every_valid_chunk"},
                              .help = "which states inside a prefill the worker stores"}),
    policy<DraftMask>({.name = "draft_mask",
                       .values = {"past_the_prompt", "of_drafts", "of_drafts_with_context"},
                       .help = "which rows the builders are told the drafts of"}),
    policy<OneTokenChunk>({.name = "one_token_chunk",
                           .values = {"prefills", "runs_as_decode"},
                           .help = "runner v2: what one token of a prompt with a state is"}),
    policy<PaddedRowClass>({.name = "padded_row_class",
                            .values = {"prefill", "decode_with_context"},
                            .help = "Mamba builders: what a prompt's padded last token is"}),
    policy<MissingCounts>({.name = "missing_counts",
                           .values = {"refused", "absent", "query_lengths"},
                           .help = "Mamba builders: decode rows without accepted counts"}),
    policy<Mamba1Counts>({.name = "mamba1_counts",
                          .values = {"taken", "ignored"},
                          .help = "whether the Mamba1 builder takes accepted counts"}),
    policy<AllModeArrays>({.name = "all_mode_arrays",
                           .values = {"cut_to_tokens", "cut_to_rows", "writes_counted"},
                           .help = "Mamba builders, mode all: what the arrays hold"}),
    policy<GdnBatch>({.name = "gdn_batch",
                      .values = {"padded_to_tokens", "padded_to_rows", "first_chunks_as_prefills"},
                      .help = "how the GDN builder lays a batch out"}),
    policy<GroupBuilds>({.name = "group_builds",
                         .values = {"each_group", "shared_by_equal_groups"},
                         .help = "V2: whether groups of one spec share a build"}),
    policy<CaptureList>({.name = "capture_list",
                         .values = {"round_token_counts", "decode_batches_too", "full_batch_too"},
                         .help = "which sizes CUDA graphs are captured for by default"}),
    policy<DecodeGraphs>(
        {.name = "decode_graphs",
         .values = {"rounded_list", "each_size_rounded", "full_before_piecewise"},
         .help = "V2: the graphs of uniform decodes, and the order of the search"}),
};

constexpr std::size_t kNumPolicies = std::size(kTable);

constexpr bool has_each_place_once() {
  std::array<bool, kNumPolicies> used = {};
  for (const Policy& policy : kTable) {
    if (policy.place >= kNumPolicies || used[policy.place]) return false;
    used[policy.place] = true;
  }
  return true;
}
static_assert(has_each_place_once(),
              "The places of the policies (PolicyAt) are the numbers from 0 to the number of rows "
              "less 1, each once: a new policy takes the number of rows that there were before it, "
              "and has one row here. When one is taken out, the policy with the last place moves "
              "to the free one.");
static_assert(kNumPolicies <= PolicySet::kCapacity, "raise PolicySet::kCapacity");

constexpr auto kRowOfPlace = [] {
  std::array<std::size_t, kNumPolicies> rows = {};
  for (std::size_t i = 0; i < kNumPolicies; ++i) rows[kTable[i].place] = i;
  return rows;
}();

}  // namespace

std::span<const Policy> policy_table() { return kTable; }

const Policy& policy_at(std::size_t place) {
  HS_EXPECT(place < kNumPolicies);
  return kTable[kRowOfPlace[place]];
}

std::string_view policy_name(const PolicyValue& value) { return policy_at(value.place).text.name; }

std::string_view value_name(const PolicyValue& value) {
  return policy_at(value.place).text.values[value.value];
}

PolicySet reference_policies() {
  PolicySet policies;
  for (const Policy& policy : kTable) policy.set_value(policies, policy.reference);
  return policies;
}

void lay_over(PolicyOverrides& policies, const PolicyOverrides& changes) {
  for (std::size_t place = 0; place < changes.values.size(); ++place)
    if (changes.values[place]) policies.values[place] = changes.values[place];
}

PolicySet with_overrides(const PolicySet& policies, const PolicyOverrides& overrides) {
  PolicySet changed = policies;
  for (const Policy& policy : kTable)
    if (const auto value = overrides.values[policy.place]) policy.set_value(changed, *value);
  return changed;
}

PolicyOverrides overrides_of(const PolicySet& policies) {
  PolicyOverrides overrides;
  for (const Policy& policy : kTable) overrides.values[policy.place] = policy.value_in(policies);
  return overrides;
}

void keep_caching_policies(PolicySet& policies, const PolicySet& at_start) {
  for (const Policy& policy : kTable)
    if (policy.is_caching()) policy.set_value(policies, policy.value_in(at_start));
}

void keep_fixed_policies(PolicySet& policies, const PolicySet& at_start) {
  for (const Policy& policy : kTable)
    if (policy.change != PolicyChange::between_steps)
      policy.set_value(policies, policy.value_in(at_start));
}

}  // namespace hybridscope
