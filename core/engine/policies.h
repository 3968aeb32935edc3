// Named policy values for every place outside the caching stack where engines have behaved
// differently. The value that `safe` uses is the default; docs/differences.md has a row each.
#pragma once

#include <cstdint>

#include "core/caching/cache_policies.h"

namespace hybridscope {

// Where may a prefill chunk of mode align end? (KNOWN_BUGS 1, FORWARD condition 2)
enum class AlignedSplit : std::uint8_t {
  every_chunk_on_grid,        // a chunk that does not reach the last known token ends on the grid
  until_last_cache_position,  // reference: past last_cache_position any length goes
};

// What makes a row a decode? (KNOWN_BUGS 6, 33, 50, FORWARD condition 1)
enum class RowClassing : std::uint8_t {
  by_meaning,  // one non-draft token is left to compute and c > 0
  by_shape,    // reference: not prefilling (V1: c >= num_prompt_tokens) and q <= 1 + K
};

// Who owns the accepted count between steps? (KNOWN_BUGS 48, FORWARD condition 4)
enum class AcceptedCountOwner : std::uint8_t {
  request,         // survives a step in which the request is not scheduled
  persistent_row,  // reference V1: a returning request starts at 1
};

// AcceptedCountOwner::persistent_row, asynchronous, mode align: the counts of the frame before are
// copied to the host array while the next frame moves its rows, then gathered by each row's
// previous place. When does the copy land? (KNOWN_BUGS 9, RUNNER 5.3)
enum class AcceptedCountLanding : std::uint8_t {
  after_row_moves,   // the gather finds each count where the row was
  before_row_moves,  // the moves carry the counts along, the gather moves them once more
};

// May a waiting request with one token left be padded to 1 + K tokens? (KNOWN_BUGS 8)
enum class OneTokenPrompt : std::uint8_t { as_is, padded_with_placeholders };

// How does a decode row run in a step in which no row has drafts? (KNOWN_BUGS 7)
enum class NoDraftStep : std::uint8_t {
  verify_with_counts,  // as a verify row with q = 1 that knows its accepted count
  column_zero,         // reference: counts are not passed, state is read from column 0
};

// What decides that a batch replays the graph captured for uniform decodes? (KNOWN_BUGS 5, 46)
enum class UniformDecodeTest : std::uint8_t { by_row_class, by_shape };

// Mode all with drafts: where the input columns start, and whether boundary states are stored.
// (KNOWN_BUGS 18, 19; FORWARD "Mode all with drafts")
enum class AllModeSpeculation : std::uint8_t {
  remembered_column_and_boundary_copies,
  full_steps_remembered_no_copies,  // reference
};

// What becomes of a frame in flight when its request is reset? (KNOWN_BUGS 17, 51; RUNNER 6.4)
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

// V2: in what order do the scheduled requests become rows? Each order is stable. (KNOWN_BUGS 12,
// 15)
enum class RowOrder : std::uint8_t {
  decodes_then_query_len,  // by class, decodes first, then by q
  query_len,               // reference of 2026-06: by q alone
  drafts_then_query_len,   // reference of 2026-08: no drafts last, then q != 1 + K last, then by q
};

// V2, mode align: what is the column of an admitted request's state counted in? (KNOWN_BUGS 11)
enum class InitialStateColumn : std::uint8_t {
  mamba_block_size,
  cache_config_block_size,  // reference: the smallest block of any group
};

// V2: in which modes does an admitted request's accepted count start at 1? (KNOWN_BUGS 13)
enum class SlotCountReset : std::uint8_t {
  every_mode,
  align_only,  // reference: else the count of the slot's last request stays
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
  friend bool operator==(const Policies&, const Policies&) = default;
};

// Profile `safe`: state is never corrupted.
constexpr Policies safe_policies() { return {}; }

// Profile `pages`: what the reference pages and golden/ do.
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
