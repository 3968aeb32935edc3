#include "core/engine/releases.h"

#include <algorithm>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/model/model_policies.h"

namespace hybridscope {
namespace {

// From `since` on the engine does `value`, with both runners or with one.
struct Change {
  Release since;
  PolicyValue value;
  std::optional<ModelRunner> runner = {};
};

// What 0.24.0 does unlike profile safe, then every change in the order of the releases.
constexpr auto kChanges = std::to_array<Change>({
    {Release::v0_24_0, MambaEagleLookahead::longer_limit},
    {Release::v0_24_0, FullAttentionCut::first_spec_group},
    {Release::v0_24_0, BlockRegistration::at_allocation},
    {Release::v0_24_0, ReachableBoundaries::prompt_end},
    {Release::v0_24_0, HitsInsideBlocks::never},
    {Release::v0_24_0, PromptTailKey::never},
    {Release::v0_24_0, PrefillCheckpoint::never},
    {Release::v0_24_0, AlignedSplit::until_last_cache_position},
    {Release::v0_24_0, RowClassing::by_shape_past_the_prompt},
    {Release::v0_24_0, AcceptedCountLanding::before_row_moves, ModelRunner::v1},
    {Release::v0_24_0, ReturningDrafts::placeholders, ModelRunner::v1},
    {Release::v0_24_0, AcceptedCountOwner::persistent_row},
    {Release::v0_24_0, NoDraftStep::column_zero},
    {Release::v0_24_0, UniformDecodeTest::by_shape},
    {Release::v0_24_0, AllModeSpeculation::full_steps_remembered_no_copies},
    {Release::v0_24_0, StaleFrame::discard_by_token_count},
    {Release::v0_24_0, DeferredFreeRefusal::preempt_on},
    {Release::v0_24_0, RowOrder::query_len},
    {Release::v0_24_0, InitialStateColumn::cache_config_block_size},
    {Release::v0_24_0, SlotCountReset::align_only},
    {Release::v0_24_0, AcceptedCountReset::in_place},
    {Release::v0_24_0, SameBlockShift::last_position_first},
    {Release::v0_24_0, GdnGates::in_batch_order},
    {Release::v0_24_0, DummyRunTables::left_over},
    {Release::v0_24_0, ConvStateSizing::as_reference},
    {Release::v0_24_0, ResetPreemptions::not_reported},
    {Release::v0_24_0, StaleRequestQueue::of_its_own},
    {Release::v0_24_0, MissingCounts::absent},
    {Release::v0_24_0, Mamba1Counts::ignored},
    {Release::v0_24_0, AllModeArrays::cut_to_rows},
    {Release::v0_24_0, GdnBatch::padded_to_rows},
    {Release::v0_25_1, OneTokenPrompt::padded_with_placeholders},
    {Release::v0_25_1, DraftMask::of_drafts},
    {Release::v0_25_1, DecodeGraphs::each_size_rounded},
    {Release::v0_25_1, StaleFrame::discard_by_token_count_no_rollback},
    {Release::v0_25_1, ResetPreemptions::reported},
    {Release::v0_26_0, MambaEagleLookahead::none},
    {Release::v0_26_0, EagleMargin::hash_block},
    {Release::v0_26_0, HitsInsideBlocks::stopping_at_hash_blocks},
    {Release::v0_26_0, PromptTailKey::at_last_hash_block},
    {Release::v0_26_0, TailRegistration::of_later_steps_too},
    {Release::v0_26_0, SameStepTail::copied},
    {Release::v0_26_0, SkippedBasis::processed},
    {Release::v0_26_0, ReachableBoundaries::prompt_end_and_junction},
    {Release::v0_26_0, AlignedSplit::stops_until_last_cache_position},
    {Release::v0_26_0, SlotCountReset::every_mode},
    {Release::v0_26_0, RowOrder::verify_then_query_len},
    {Release::v0_26_0, FullRowsFirst::every_row},
    {Release::v0_27_1, AlignedSplit::stops_on_grid},
    {Release::v0_27_1, UncachedFree::to_back},
    {Release::v0_27_1, StaleFrame::drained_by_scheduled_tokens},
    {Release::v0_27_1, DummyRunTables::zeroed},
    {Release::v0_28_0, HitsInsideBlocks::with_smaller_hash_blocks},
    {Release::v0_28_0, EmptyAllocation::noted},
    {Release::v0_28_0, UncachedFree::to_front},
    {Release::v0_28_0, DraftSlots::counted},
    {Release::v0_28_0, PreemptionIndex::always},
    {Release::v0_28_0, RowOrder::drafts_then_query_len},
    {Release::v0_28_0, AcceptedCountReset::separate_output},
    {Release::v0_28_0, GdnGates::gathered},
    {Release::v0_28_0, UniformDecodeTest::by_row_class, ModelRunner::v2},
    {Release::v0_29_0, FullAttentionCut::every_group},
    {Release::v0_29_0, ReachableBoundaries::on_hit_grid},
    {Release::v0_29_0, AlignedSplit::stops_but_with_checkpoints},
    {Release::v0_29_0, OneTokenPrompt::padding_undone_by_split},
    {Release::v0_29_0, SameBlockShift::memmove},
    {Release::v0_29_0, CaptureList::decode_batches_too},
    {Release::v0_29_0, DecodeGraphs::full_before_piecewise},
    {Release::v0_30_0, ReachableBoundaries::replay},
    {Release::v0_30_0, PromptTailKey::before_eagle_hash_block},
    {Release::v0_30_0, PrefillCheckpoint::every_chunk},
    {Release::v0_30_0, CheckpointStart::inside_block_too},
    {Release::v0_30_0, StateRetirement::passes_nulls},
    {Release::v0_30_0, OneTokenPrompt::padded_alone_too},
    {Release::v0_30_0, AlignedSplit::stops_with_replay},
    {Release::v0_30_0, DeferredFreeRefusal::wait_for_the_frame},
    {Release::v0_30_0, PaddedRowClass::decode_with_context},
    {Release::v0_31_0, PromptTailKey::before_dropped_block},
    {Release::v0_31_0, PrefillCheckpoint::last_chunk},
    {Release::v0_31_0, LongPrefillThreshold::with_other_requests},
    {Release::v0_31_0, StaleRequestQueue::in_its_place},
    {Release::v0_31_0, CaptureList::full_batch_too},
    {Release::v0_31_0, DraftMask::of_drafts_with_context},
    {Release::v0_31_0, OneTokenChunk::runs_as_decode},
    {Release::v0_31_0, AllModeArrays::writes_counted},
    {Release::v0_31_0, GdnBatch::first_chunks_as_prefills},
    {Release::v0_31_0, GroupBuilds::shared_by_equal_groups},
    {Release::v0_32_0, ConvStateSizing::by_state_shape},
    {Release::v0_32_0, EagleMargin::hash_block_to_the_last_hash},
    {Release::v0_32_0, PromptTailKey::at_replay_position},
    {Release::v0_32_0, PrefillCheckpoint::as_states_retained},
    {Release::v0_32_0, CheckpointLayers::mamba2},
    {Release::v0_32_0, CheckpointWrites::every_valid_chunk},
    {Release::v0_32_0, CommonPrefixBlocks::gone},
    {Release::v0_32_0, AlignedSplit::stops_before_the_last_token},
    {Release::v0_32_0, InitialStateColumn::mamba_block_size},
    {Release::v0_32_0, AllModeArrays::cut_to_rows},
    {Release::v0_32_0, NoDraftStep::zero_drafts},
    {Release::v0_32_0, MissingCounts::query_lengths},
    {Release::v0_33_0, CheckpointLayers::mamba2_and_gdn},
    {Release::v0_33_0, EagleProof::look_ahead_hashes},
    {Release::v0_33_0, PromptTailKey::at_replay_position_once},
    {Release::v0_33_0, PreemptionIndex::goes_on_after_itself},
    {Release::v0_33_0, CommitRegistration::asynchronous_or_drafts},
    {Release::v0_33_0, StoppedTokens::taken_back},
    {Release::v0_33_0, UnusedDrafts::skipped},
    {Release::v0_33_0, ReachableBoundaries::replay_and_block_before_junction},
});
static_assert(std::ranges::is_sorted(kChanges, {}, &Change::since));

}  // namespace

PolicySet release_policies(Release release, ModelRunner runner) {
  PolicyOverrides overrides;
  for (const Change& change : kChanges)
    if (change.since <= release && change.runner.value_or(runner) == runner)
      overrides.set(change.value);
  return with_overrides(safe_policies(), overrides);
}

}  // namespace hybridscope
