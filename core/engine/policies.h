// Named policy values for every place outside the caching stack where engines have behaved
// differently. The value that `safe` uses is the default; docs/differences.md has a row for each;
// docs/adding.md says how to add one.
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"
#include "core/caching/cache_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/slot_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/graph_policies.h"

namespace hybridscope {

// Where may a prefill chunk of mode align end? The reference's rules in the order of its releases.
// (known bug 1; semantics: aligned-split)
enum class AlignedSplit : std::uint8_t {
  every_chunk_on_grid,        // a chunk that does not reach the last known token ends on the grid
  until_last_cache_position,  // reference, 0.24.0: past last_cache_position any length goes
  stops_until_last_cache_position,  // 0.26.0: the same by positions, with more stops
  stops_on_grid,                    // 0.27.1: every chunk but the last ends on the grid
  stops_but_with_checkpoints,       // 0.29.0: unless the layers store a state inside a chunk
  stops_with_replay,                // 0.30.0: unless this chunk does
  stops_before_the_last_token,      // 0.32.0: a resend computes its last token again
};

// What makes a row a decode? (known bugs 6, 33, 50; semantics: row-class)
enum class RowClassing : std::uint8_t {
  by_meaning,  // one non-draft token is left to compute and c > 0
  by_shape,    // reference: not prefilling (V1: c >= num_prompt_tokens) and q <= 1 + K; V1's
               // builders split by query length alone
  by_shape_past_the_prompt,  // V1 of later trees: builders are given which rows are prefilling
};

// Who owns the accepted count between steps? (known bug 48; semantics: input-batch)
enum class AcceptedCountOwner : std::uint8_t {
  request,         // survives a step in which the request is not scheduled
  persistent_row,  // reference V1: a returning request starts at 1
};

// AcceptedCountOwner::persistent_row, asynchronous, mode align: the counts of the frame before are
// copied to the host array while the next frame moves its rows, then gathered by each row's
// previous place. When does the copy land? (known bug 9; semantics: accepted-counts-v1)
enum class AcceptedCountLanding : std::uint8_t {
  after_row_moves,   // the gather finds each count where the row was
  before_row_moves,  // the moves carry the counts along, the gather then moves them again
};

// May a waiting request with one token left be padded to 1 + K tokens? (known bug 8; semantics:
// padded-prompt)
enum class OneTokenPrompt : std::uint8_t {
  as_is,                     // 0.24.0 too
  padded_with_placeholders,  // reference, 0.25.0: if running requests decode in the step
  padding_undone_by_split,   // 0.29.0: not if the split or max_model_len leaves less room
  padded_alone_too,          // 0.30.0: also without running requests, if some of it is cached
};

// How does a decode row run in a step in which no row has drafts? (known bug 7)
enum class NoDraftStep : std::uint8_t {
  verify_with_counts,  // as a verify row with q = 1 that knows its accepted count
  column_zero,         // reference: counts are not passed, state is read from column 0
  zero_drafts,         // 0.32.0: counts are passed, and such a row has a draft count of 0
};

// What decides that a batch replays the graph captured for uniform decodes? (known bugs 5, 46)
enum class UniformDecodeTest : std::uint8_t { by_row_class, by_shape };

// Mode all with drafts: where the input columns start, and whether boundary states are stored.
// (known bugs 18, 19; semantics: mode-all-with-drafts)
enum class AllModeSpeculation : std::uint8_t {
  remembered_column_and_boundary_copies,
  full_steps_remembered_no_copies,  // reference
  computed_column_no_copies,        // before May 2026: nothing remembered (known bug 41)
};

// What becomes of a frame in flight when its request is reset? (known bugs 17, 51;
// semantics: reset-in-flight)
enum class StaleFrame : std::uint8_t {
  dropped_by_run,          // frames of an earlier run are dropped whole
  discard_by_token_count,  // reference, 0.24.0: rejections still count, then as many frames as
                           // there were placeholders lose their tokens
  discard_by_token_count_no_rollback,  // 0.25.0: rejections of such a frame do not count
  drained_by_scheduled_tokens,  // 0.27.1: a frame that was in flight at any preemption changes no
                                // count; its tokens are dropped after a reset only
};

// Blocks are refused while a deferred free is on its way: wait a step for it, or preempt another
// request? Preempting on may never end when no request's blocks are freed at once.
enum class DeferredFreeRefusal : std::uint8_t {
  wait_for_the_frame,
  preempt_on,  // reference
};

// Asynchronous: where does a request that has to wait for stale frames wait? (semantics:
// preempted-in-flight)
enum class StaleRequestQueue : std::uint8_t {
  of_its_own,    // 0.27.1: in a queue that is asked first
  in_its_place,  // 0.31.0
};

// Do the slots that a drafter needs for each row count in the step's budget?
enum class DraftSlots : std::uint8_t { free, counted };

// When does long_prefill_token_threshold cut a chunk?
enum class LongPrefillThreshold : std::uint8_t { always, with_other_requests };

// Policy priority: the victim of a preemption ran before the request that asks for blocks.
enum class PreemptionIndex : std::uint8_t {
  if_scheduled,          // the loop moves back by one only if the victim had tokens in this step
  always,                // 0.28.0
  goes_on_after_itself,  // 0.33.0: and a request that preempts itself does not end the loop
};

// Does the step after a reset report the requests that it preempted?
enum class ResetPreemptions : std::uint8_t { reported, not_reported };

// Whose blocks are registered when a frame returns? (semantics: update-from-output-async)
enum class CommitRegistration : std::uint8_t {
  asynchronous,            // up to the computed tokens without placeholders
  asynchronous_or_drafts,  // 0.33.0: and synchronous ones with drafts, up to what is not in flight
};

// A stop cuts sampled tokens off: do they still count as computed?
enum class StoppedTokens : std::uint8_t { stay_computed, taken_back };

// Does the drafter run in a step after which no request can use drafts?
enum class UnusedDrafts : std::uint8_t { drafted, skipped };

// Are the leading blocks that all running requests share counted for cascade attention?
enum class CommonPrefixBlocks : std::uint8_t { counted, gone };

// V1, mode align: does a request that is reset and resumed in one step forget the column of its
// state? (known bug 32)
enum class ResumedStateColumn : std::uint8_t { forgotten, remembered };

// Mode align: whose block ids do the post-copies of each group use? (known bug 42)
enum class PostCopyBlockTable : std::uint8_t { of_each_group, of_first_group };

// Mode align: are post-copies made whose destination is left of the running column? A circulating
// patch leaves them out (`hybridscope bugs run backward-copy-suppressed`).
enum class BackwardPostCopy : std::uint8_t { made, suppressed };

// V2, mode align: where does the post-copy launch write an accepted count of 1? In place, programs
// that run later read that 1 and copy nothing. This models the worst order, in which the writing
// program runs first; the one conv state of one layer that it copies itself is not modelled. (known
// bug 3)
enum class AcceptedCountReset : std::uint8_t { separate_output, in_place };

// V2: with which token does the last row of a prompt begin if it was padded to 1 + K tokens? (known
// bug 52)
enum class PaddedPromptToken : std::uint8_t {
  of_the_prompt,
  last_sampled,  // the slot's last sampled token, which admission set to the token before
};

// V1, asynchronous: what are the drafts of a request that comes back after a skipped step?
// (known bug 53)
enum class ReturningDrafts : std::uint8_t {
  scattered,
  placeholders,  // ids of -1, because drafts go to rows with a previous row only; all are rejected
};

// V1, asynchronous, modes none and all: are accepted counts read only after their copy to the host
// has ended? (known bug 39)
enum class AcceptedCountRead : std::uint8_t {
  after_the_copy,
  before_the_copy,  // the counts are those of the frame before
};

// V1, mode align: which count of computed tokens gives the column that a pre-copy goes to?
// (known bug 44)
enum class RunningColumn : std::uint8_t {
  of_exact_count,
  of_optimistic_count,  // asynchronous: as if all drafts in flight were accepted
};

struct Policies : KernelPolicies, SlotPolicies, BuilderPolicies, GraphPolicies {
  CachePolicies cache;
  AlignedSplit aligned_split = AlignedSplit::every_chunk_on_grid;
  RowClassing row_classing = RowClassing::by_meaning;
  AcceptedCountOwner accepted_count_owner = AcceptedCountOwner::request;
  AcceptedCountLanding accepted_count_landing = AcceptedCountLanding::after_row_moves;
  OneTokenPrompt one_token_prompt = OneTokenPrompt::as_is;
  NoDraftStep no_draft_step = NoDraftStep::verify_with_counts;
  UniformDecodeTest uniform_decode_test = UniformDecodeTest::by_row_class;
  AllModeSpeculation all_mode_speculation =
      AllModeSpeculation::remembered_column_and_boundary_copies;
  StaleFrame stale_frame = StaleFrame::dropped_by_run;
  DeferredFreeRefusal deferred_free_refusal = DeferredFreeRefusal::wait_for_the_frame;
  StaleRequestQueue stale_request_queue = StaleRequestQueue::in_its_place;
  DraftSlots draft_slots = DraftSlots::free;
  LongPrefillThreshold long_prefill_threshold = LongPrefillThreshold::always;
  PreemptionIndex preemption_index = PreemptionIndex::if_scheduled;
  ResetPreemptions reset_preemptions = ResetPreemptions::reported;
  CommitRegistration commit_registration = CommitRegistration::asynchronous;
  StoppedTokens stopped_tokens = StoppedTokens::stay_computed;
  UnusedDrafts unused_drafts = UnusedDrafts::drafted;
  CommonPrefixBlocks common_prefix_blocks = CommonPrefixBlocks::counted;
  ResumedStateColumn resumed_state_column = ResumedStateColumn::forgotten;
  PostCopyBlockTable post_copy_block_table = PostCopyBlockTable::of_each_group;
  BackwardPostCopy backward_post_copy = BackwardPostCopy::made;
  AcceptedCountReset accepted_count_reset = AcceptedCountReset::separate_output;
  PaddedPromptToken padded_prompt_token = PaddedPromptToken::of_the_prompt;
  ReturningDrafts returning_drafts = ReturningDrafts::scattered;
  AcceptedCountRead accepted_count_read = AcceptedCountRead::after_the_copy;
  RunningColumn running_column = RunningColumn::of_exact_count;
  friend bool operator==(const Policies&, const Policies&) = default;
};

// Calls visit(PolicyRow) for every policy, in the order in which documents list them. Rows whose
// last argument is missing are in profile `reference` as in `safe`: races whose order the reference
// leaves open, and faults of other trees.
template <class Visit>
constexpr void for_each_policy(Visit visit) {
  for_each_cache_policy(visit);
  visit(PolicyRow(
      &Policies::aligned_split,
      {.name = "aligned_split",
       .values = {"every_chunk_on_grid", "until_last_cache_position",
                  "stops_until_last_cache_position", "stops_on_grid", "stops_but_with_checkpoints",
                  "stops_with_replay", "stops_before_the_last_token"},
       .help = "where chunks of mode align may end"},
      AlignedSplit::until_last_cache_position));
  visit(PolicyRow(&Policies::row_classing,
                  {.name = "row_classing",
                   .values = {"by_meaning", "by_shape", "by_shape_past_the_prompt"},
                   .help = "what makes a row a decode"},
                  RowClassing::by_shape));
  visit(PolicyRow(&Policies::accepted_count_owner,
                  {.name = "accepted_count_owner",
                   .values = {"request", "persistent_row"},
                   .help = "whether the accepted count survives a skipped step"},
                  AcceptedCountOwner::persistent_row));
  visit(PolicyRow(&Policies::one_token_prompt,
                  {.name = "one_token_prompt",
                   .values = {"as_is", "padded_with_placeholders", "padding_undone_by_split",
                              "padded_alone_too"},
                   .help = "whether a prompt's last token is padded to 1 + K tokens"},
                  OneTokenPrompt::padded_with_placeholders));
  visit(PolicyRow(&Policies::no_draft_step,
                  {.name = "no_draft_step",
                   .values = {"verify_with_counts", "column_zero", "zero_drafts"},
                   .help = "where a row without drafts reads its state"},
                  NoDraftStep::column_zero));
  visit(PolicyRow(&Policies::uniform_decode_test,
                  {.name = "uniform_decode_test",
                   .values = {"by_row_class", "by_shape"},
                   .help = "which batches replay the verify graph"},
                  UniformDecodeTest::by_shape));
  visit(PolicyRow(&Policies::all_mode_speculation,
                  {.name = "all_mode_speculation",
                   .values = {"remembered_column_and_boundary_copies",
                              "full_steps_remembered_no_copies", "computed_column_no_copies"},
                   .help = "mode all with drafts: which column state is read from, and whether "
                           "boundary states are stored"},
                  AllModeSpeculation::full_steps_remembered_no_copies));
  visit(PolicyRow(&Policies::stale_frame,
                  {.name = "stale_frame",
                   .values = {"dropped_by_run", "discard_by_token_count",
                              "discard_by_token_count_no_rollback", "drained_by_scheduled_tokens"},
                   .help = "what becomes of a frame in flight when its request is reset"},
                  StaleFrame::discard_by_token_count));
  visit(PolicyRow(&Policies::accepted_count_landing,
                  {.name = "accepted_count_landing",
                   .values = {"after_row_moves", "before_row_moves"},
                   .help = "when accepted counts of a frame in flight reach the host's rows"}));
  visit(PolicyRow(&Policies::deferred_free_refusal,
                  {.name = "deferred_free_refusal",
                   .values = {"wait_for_the_frame", "preempt_on"},
                   .help = "when blocks run out: wait for deferred frees, or preempt"},
                  DeferredFreeRefusal::preempt_on));
  visit(PolicyRow(&Policies::stale_request_queue,
                  {.name = "stale_request_queue",
                   .values = {"of_its_own", "in_its_place"},
                   .help = "where a preempted request waits for its frames in flight"}));
  visit(PolicyRow(&Policies::draft_slots,
                  {.name = "draft_slots",
                   .values = {"free", "counted"},
                   .help = "whether a drafter's slots count in the token budget"}));
  visit(PolicyRow(&Policies::long_prefill_threshold,
                  {.name = "long_prefill_threshold",
                   .values = {"always", "with_other_requests"},
                   .help = "when long_prefill_token_threshold cuts a chunk"}));
  visit(PolicyRow(&Policies::preemption_index,
                  {.name = "preemption_index",
                   .values = {"if_scheduled", "always", "goes_on_after_itself"},
                   .help = "policy priority: how the loop over running requests goes on after a "
                           "preemption"}));
  visit(PolicyRow(&Policies::reset_preemptions,
                  {.name = "reset_preemptions",
                   .values = {"reported", "not_reported"},
                   .help = "whether a step reports requests that a reset preempted"},
                  ResetPreemptions::not_reported));
  visit(PolicyRow(&Policies::commit_registration,
                  {.name = "commit_registration",
                   .values = {"asynchronous", "asynchronous_or_drafts"},
                   .help = "whose blocks are registered when a frame returns"}));
  visit(PolicyRow(&Policies::stopped_tokens,
                  {.name = "stopped_tokens",
                   .values = {"stay_computed", "taken_back"},
                   .help = "whether sampled tokens that a stop cuts off count as computed"}));
  visit(PolicyRow(&Policies::unused_drafts,
                  {.name = "unused_drafts",
                   .values = {"drafted", "skipped"},
                   .help = "runner v2: whether drafts are made that no request can use"}));
  visit(PolicyRow(&Policies::common_prefix_blocks,
                  {.name = "common_prefix_blocks",
                   .values = {"counted", "gone"},
                   .help = "whether blocks that all running requests share are counted"}));
  for_each_slot_policy(visit);
  visit(PolicyRow(&Policies::resumed_state_column,
                  {.name = "resumed_state_column",
                   .values = {"forgotten", "remembered"},
                   .help = "runner v1: whether a request that is reset and resumed in one step "
                           "forgets its column"}));
  visit(PolicyRow(&Policies::post_copy_block_table,
                  {.name = "post_copy_block_table",
                   .values = {"of_each_group", "of_first_group"},
                   .help = "whose block ids post-copies of mode align use"}));
  visit(PolicyRow(&Policies::backward_post_copy,
                  {.name = "backward_post_copy",
                   .values = {"made", "suppressed"},
                   .help = "whether post-copies to a column left of the running column are made"}));
  visit(PolicyRow(&Policies::accepted_count_reset,
                  {.name = "accepted_count_reset",
                   .values = {"separate_output", "in_place"},
                   .help = "runner v2: where the post-copy launch writes counts of 1"}));
  visit(PolicyRow(&Policies::padded_prompt_token,
                  {.name = "padded_prompt_token",
                   .values = {"of_the_prompt", "last_sampled"},
                   .help = "runner v2: first token of a prompt's padded last row"}));
  visit(PolicyRow(&Policies::returning_drafts,
                  {.name = "returning_drafts",
                   .values = {"scattered", "placeholders"},
                   .help = "runner v1: drafts of a request that comes back after a skipped step"}));
  visit(PolicyRow(&Policies::accepted_count_read,
                  {.name = "accepted_count_read",
                   .values = {"after_the_copy", "before_the_copy"},
                   .help = "runner v1, modes none and all: whether counts are read before their "
                           "copy to the host has ended"}));
  visit(
      PolicyRow(&Policies::running_column,
                {.name = "running_column",
                 .values = {"of_exact_count", "of_optimistic_count"},
                 .help = "runner v1, mode align: which token count gives the pre-copy's column"}));
  for_each_kernel_policy(visit);
  for_each_builder_policy(visit);
  for_each_graph_policy(visit);
}

// Profile `safe`: state is never corrupted.
constexpr Policies safe_policies() { return {}; }

// Profile `reference`: what the reference does; the reference vectors are made with it
// (policy_table.cpp).
Policies reference_policies();

}  // namespace hybridscope
