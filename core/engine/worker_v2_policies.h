// Policies of runner V2's rows and request slots.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

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

}  // namespace hybridscope
