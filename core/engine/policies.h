// Named policy values for every place outside the caching stack where engines have behaved
// differently. The value that `safe` uses is the default; docs/differences.md has a row each.
#pragma once

#include <cstdint>

#include "core/caching/cache_policies.h"

namespace hybridscope {

// Where may a prefill chunk of mode align end? (known bug 1; semantics: aligned-split)
enum class AlignedSplit : std::uint8_t {
  every_chunk_on_grid,        // a chunk that does not reach the last known token ends on the grid
  until_last_cache_position,  // reference: past last_cache_position any length goes
};

// What makes a row a decode? (known bugs 6, 33, 50; semantics: row-class)
enum class RowClassing : std::uint8_t {
  by_meaning,  // one non-draft token is left to compute and c > 0
  by_shape,    // reference: not prefilling (V1: c >= num_prompt_tokens) and q <= 1 + K; V1's
               // builders split by query length alone
  by_shape_past_the_prompt,  // V1 of later trees: builders are told which rows are prefilling
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
  before_row_moves,  // the moves carry the counts along, the gather moves them once more
};

// May a waiting request with one token left be padded to 1 + K tokens? (known bug 8)
enum class OneTokenPrompt : std::uint8_t { as_is, padded_with_placeholders };

// How does a decode row run in a step in which no row has drafts? (known bug 7)
enum class NoDraftStep : std::uint8_t {
  verify_with_counts,  // as a verify row with q = 1 that knows its accepted count
  column_zero,         // reference: counts are not passed, state is read from column 0
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
  dropped_by_run,          // frames know the run they were scheduled in: nothing of them counts
  discard_by_token_count,  // reference: rejections still count, then as many frames as there were
                           // placeholders lose their tokens
};

// Blocks are refused while a deferred free is on its way: wait a step for it, or preempt another
// request? Preempting on can go round for ever when nobody's blocks are free at once.
enum class DeferredFreeRefusal : std::uint8_t {
  wait_for_the_frame,
  preempt_on,  // reference
};

// V2: in what order do the scheduled requests become rows? Each order is stable. (known bugs 12,
// 15)
enum class RowOrder : std::uint8_t {
  decodes_then_query_len,  // by class, decodes first, then by q
  query_len,               // reference of 2026-06: by q alone
  drafts_then_query_len,   // reference of 2026-08: no drafts last, then q != 1 + K last, then by q
};

// V2, mode align: what is the column of an admitted request's state counted in? (known bug 11)
enum class InitialStateColumn : std::uint8_t {
  mamba_block_size,
  cache_config_block_size,  // reference: the smallest block of any group
};

// V2: in which modes does an admitted request's accepted count start at 1? (known bug 13)
enum class SlotCountReset : std::uint8_t {
  every_mode,
  align_only,  // reference: else the count of the slot's last request stays
};

// V1, mode align: does a request that is reset and resumed in one step forget the column of its
// state? (known bug 32)
enum class ResumedStateColumn : std::uint8_t { forgotten, remembered };

// Mode align: whose block ids do the post-copies of each group use? (known bug 42)
enum class PostCopyBlockTable : std::uint8_t { of_each_group, of_first_group };

// Mode align: are post-copies made whose destination is left of the running column? A patch that
// circulates leaves them out (`hybridscope bugs run backward-copy-suppressed`).
enum class BackwardPostCopy : std::uint8_t { made, suppressed };

// V2, mode align: where does the post-copy launch write an accepted count of 1? In place the
// programs that run later find it and copy nothing: the worst order, in which the writing one runs
// first, is what is modelled; it writes one conv state of one layer, which does not show here.
// (known bug 3)
enum class AcceptedCountReset : std::uint8_t { separate_output, in_place };

// V2: which token does a prompt's last row begin with that was padded to 1 + K? (known bug 52)
enum class PaddedPromptToken : std::uint8_t {
  of_the_prompt,
  last_sampled,  // the slot's, which admission set to the token before
};

// V1, asynchronous: what are the drafts of a request that comes back after a skipped step?
// (known bug 53)
enum class ReturningDrafts : std::uint8_t {
  scattered,
  placeholders,  // ids of -1, because drafts go to rows with a previous row only; all are rejected
};

// V1, asynchronous, modes none and all: are accepted counts read when their copy to the host has
// ended? (known bug 39)
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

// Is the token order of a mixed GDN batch a stable partition? (known bug 37)
enum class GdnTokenPartition : std::uint8_t {
  stable,
  unstable,  // the first two tokens of the first row of several change places
};

// Are the gates of a mixed GDN batch gathered like the tokens? (known bug 15)
enum class GdnGates : std::uint8_t { gathered, in_batch_order };

// By how much does a verify row shift its conv window? (known bug 47)
enum class ConvRoll : std::uint8_t {
  row_length,
  window_length,  // as if it had 1 + K tokens
};

// Which rows do state kernels skip? (known bug 35)
enum class NullRows : std::uint8_t {
  skipped,  // those of the null block, and those of the pad id
  run,      // the pad id's only
};

// In which order are the positions of a conv window moved within one block? (known bug 4)
enum class SameBlockShift : std::uint8_t {
  memmove,
  last_position_first,  // the worst order of lanes that do not wait for each other
};

// What is is_prefilling of padding rows? (known bug 34)
enum class PaddingPrefilling : std::uint8_t {
  cleared,
  left_over,  // of whoever had the row before
};

// Mode all: which arrays does a group that reuses another's metadata refresh? (known bug 40)
enum class ReusedMetadata : std::uint8_t {
  every_array,
  state_indices_only,
};

// Data parallel: whose block tables does a dummy run go through? Nobody has the rows that are left
// over there, but the blocks that they name can be anybody's by now. (known bug 14)
enum class DummyRunTables : std::uint8_t {
  zeroed,     // every row is a null row
  left_over,  // V1: the host's rows; V2: the rows that were gathered last
};

struct Policies {
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
  RowOrder row_order = RowOrder::decodes_then_query_len;
  InitialStateColumn initial_state_column = InitialStateColumn::mamba_block_size;
  SlotCountReset slot_count_reset = SlotCountReset::every_mode;
  ResumedStateColumn resumed_state_column = ResumedStateColumn::forgotten;
  PostCopyBlockTable post_copy_block_table = PostCopyBlockTable::of_each_group;
  BackwardPostCopy backward_post_copy = BackwardPostCopy::made;
  AcceptedCountReset accepted_count_reset = AcceptedCountReset::separate_output;
  PaddedPromptToken padded_prompt_token = PaddedPromptToken::of_the_prompt;
  ReturningDrafts returning_drafts = ReturningDrafts::scattered;
  AcceptedCountRead accepted_count_read = AcceptedCountRead::after_the_copy;
  RunningColumn running_column = RunningColumn::of_exact_count;
  GdnTokenPartition gdn_token_partition = GdnTokenPartition::stable;
  GdnGates gdn_gates = GdnGates::gathered;
  ConvRoll conv_roll = ConvRoll::row_length;
  NullRows null_rows = NullRows::skipped;
  SameBlockShift same_block_shift = SameBlockShift::memmove;
  PaddingPrefilling padding_prefilling = PaddingPrefilling::cleared;
  ReusedMetadata reused_metadata = ReusedMetadata::every_array;
  DummyRunTables dummy_run_tables = DummyRunTables::zeroed;
  friend bool operator==(const Policies&, const Policies&) = default;
};

// Profile `safe`: state is never corrupted.
constexpr Policies safe_policies() { return {}; }

// Profile `pages`: what the reference pages and the reference vectors do. Policies that are not
// named are as in `safe`: races whose order the pages leave open, and faults of other trees.
constexpr Policies pages_policies() {
  return {pages_cache_policies(),
          AlignedSplit::until_last_cache_position,
          RowClassing::by_shape,
          AcceptedCountOwner::persistent_row,
          AcceptedCountLanding::after_row_moves,
          OneTokenPrompt::padded_with_placeholders,
          NoDraftStep::column_zero,
          UniformDecodeTest::by_shape,
          AllModeSpeculation::full_steps_remembered_no_copies,
          StaleFrame::discard_by_token_count,
          DeferredFreeRefusal::preempt_on,
          RowOrder::query_len,
          InitialStateColumn::cache_config_block_size,
          SlotCountReset::align_only};
}

}  // namespace hybridscope
