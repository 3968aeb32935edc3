// Policies of the model runners: accepted counts, rows, state columns, post-copies, dummy runs.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Policies of runner V1.

// Who owns the accepted count between steps? (known bug 48; semantics: input-batch)
enum class AcceptedCountOwner : std::uint8_t {
  request,         // survives a step in which the request is not scheduled
  persistent_row,  // reference V1: a returning request starts at 1
};
template <>
struct PolicyOf<AcceptedCountOwner> : PolicyAt<AcceptedCountOwner::request, 18> {};

// AcceptedCountOwner::persistent_row, asynchronous, mode align: the counts of the frame before are
// copied to the host array while the next frame moves its rows, then gathered by each row's
// previous place. When does the copy land? (known bug 9; semantics: accepted-counts-v1)
enum class AcceptedCountLanding : std::uint8_t {
  after_row_moves,   // the gather finds each count where the row was
  before_row_moves,  // the moves carry the counts along, the gather then moves them again
};
template <>
struct PolicyOf<AcceptedCountLanding> : PolicyAt<AcceptedCountLanding::after_row_moves, 24> {};

// V1, asynchronous, modes none and all: are accepted counts read only after their copy to the host
// has ended? (known bug 39)
enum class AcceptedCountRead : std::uint8_t {
  after_the_copy,
  before_the_copy,  // the counts are those of the frame before
};
template <>
struct PolicyOf<AcceptedCountRead> : PolicyAt<AcceptedCountRead::after_the_copy, 45> {};

// V1, mode align: does a request that is reset and resumed in one step forget the column of its
// state? (known bug 32)
enum class ResumedStateColumn : std::uint8_t { forgotten, remembered };
template <>
struct PolicyOf<ResumedStateColumn> : PolicyAt<ResumedStateColumn::forgotten, 39> {};

// V1, mode align: which count of computed tokens gives the column that a pre-copy goes to?
// (known bug 44)
enum class RunningColumn : std::uint8_t {
  of_exact_count,
  of_optimistic_count,  // asynchronous: as if all drafts in flight were accepted
};
template <>
struct PolicyOf<RunningColumn> : PolicyAt<RunningColumn::of_exact_count, 46> {};

// Policies of runner V2's rows and request slots.

// V2: in what order do the scheduled requests become rows? Each order is stable. (known bugs 12,
// 15)
enum class RowOrder : std::uint8_t {
  decodes_then_query_len,  // by class, decodes first, then by q
  query_len,               // reference of 2026-06: by q alone
  drafts_then_query_len,   // 0.28.0: no drafts last, then rows of 1 + K tokens first, then by q
  verify_then_query_len,   // 0.26.0: rows of 1 + K tokens first, then by q
};
template <>
struct PolicyOf<RowOrder> : PolicyAt<RowOrder::decodes_then_query_len, 35> {};

// V2: which rows of exactly 1 + K tokens come first? (known bug 12; semantics: row-order-v2)
enum class FullRowsFirst : std::uint8_t {
  of_drafts,  // those with drafts, where the row order puts them first
  every_row,  // 0.26.0: also a chunk of a prompt that happens to be as long, in every row order
};
template <>
struct PolicyOf<FullRowsFirst> : PolicyAt<FullRowsFirst::of_drafts, 36> {};

// V2, mode align: which block size gives the column of an admitted request's state? (known bug 11)
enum class InitialStateColumn : std::uint8_t {
  mamba_block_size,
  cache_config_block_size,  // reference: the smallest block of any group
};
template <>
struct PolicyOf<InitialStateColumn> : PolicyAt<InitialStateColumn::mamba_block_size, 37> {};

// V2: in which modes does an admitted request's accepted count start at 1? (known bug 13)
enum class SlotCountReset : std::uint8_t {
  every_mode,
  align_only,  // reference: in other modes the count of the slot's last request stays
};
template <>
struct PolicyOf<SlotCountReset> : PolicyAt<SlotCountReset::every_mode, 38> {};

// V2: what is a row that takes one token of its prompt, drafts aside, and whose request has a
// state? (semantics: is-prefilling)
enum class OneTokenChunk : std::uint8_t {
  prefills,        // as is every row before the end of its prefill
  runs_as_decode,  // 0.31.0: builders are told so, and it fits a graph of uniform decodes
};
template <>
struct PolicyOf<OneTokenChunk> : PolicyAt<OneTokenChunk::prefills, 61> {};

// Policies on post-copies.

// Mode align: whose block ids do the post-copies of each group use? (known bug 42)
enum class PostCopyBlockTable : std::uint8_t { of_each_group, of_first_group };
template <>
struct PolicyOf<PostCopyBlockTable> : PolicyAt<PostCopyBlockTable::of_each_group, 40> {};

// Mode align: are post-copies made whose destination is left of the running column? A circulating
// patch leaves them out (`hybridscope bugs run backward-copy-suppressed`).
enum class BackwardPostCopy : std::uint8_t { made, suppressed };
template <>
struct PolicyOf<BackwardPostCopy> : PolicyAt<BackwardPostCopy::made, 41> {};

// V2, mode align: where does the post-copy launch write an accepted count of 1? In place, programs
// that run later read that 1 and copy nothing. This models the worst order, in which the writing
// program runs first; the one conv state of one layer that it copies itself is not modelled. (known
// bug 3)
enum class AcceptedCountReset : std::uint8_t { separate_output, in_place };
template <>
struct PolicyOf<AcceptedCountReset> : PolicyAt<AcceptedCountReset::separate_output, 42> {};

// The policy of mode all with drafts, which both runners and their metadata obey.

// Mode all with drafts: where the input columns start, and whether boundary states are stored.
// (known bugs 18, 19; semantics: mode-all-with-drafts)
enum class AllModeSpeculation : std::uint8_t {
  remembered_column_and_boundary_copies,
  full_steps_remembered_no_copies,  // reference
  computed_column_no_copies,        // before May 2026: nothing remembered (known bug 41)
};
template <>
struct PolicyOf<AllModeSpeculation>
    : PolicyAt<AllModeSpeculation::remembered_column_and_boundary_copies, 22> {};

// The policy of dummy runs.

// Data parallel: which block tables does a dummy run use? Left-over rows belong to no request any
// more, but the blocks that they name may belong to another request by now. (known bug 14)
enum class DummyRunTables : std::uint8_t {
  zeroed,     // every row is a null row
  left_over,  // V1: the host's rows; V2: the rows that were gathered last
};
template <>
struct PolicyOf<DummyRunTables> : PolicyAt<DummyRunTables::zeroed, 56> {};

}  // namespace hybridscope
