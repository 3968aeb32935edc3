// Policies of runner V2's rows and request slots. Part of the policies of core/engine/policies.h.
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"

namespace hybridscope {

// V2: in what order do the scheduled requests become rows? Each order is stable. (known bugs 12,
// 15)
enum class RowOrder : std::uint8_t {
  decodes_then_query_len,  // by class, decodes first, then by q
  query_len,               // reference of 2026-06: by q alone
  drafts_then_query_len,   // 0.28.0: no drafts last, then rows of 1 + K tokens first, then by q
  verify_then_query_len,   // 0.26.0: rows of 1 + K tokens first, then by q
};

// V2: which rows of exactly 1 + K tokens come first? (known bug 12; semantics: row-order-v2)
enum class FullRowsFirst : std::uint8_t {
  of_drafts,  // those with drafts, where the row order puts them first
  every_row,  // 0.26.0: also a chunk of a prompt that happens to be as long, in every row order
};

// V2, mode align: which block size gives the column of an admitted request's state? (known bug 11)
enum class InitialStateColumn : std::uint8_t {
  mamba_block_size,
  cache_config_block_size,  // reference: the smallest block of any group
};

// V2: in which modes does an admitted request's accepted count start at 1? (known bug 13)
enum class SlotCountReset : std::uint8_t {
  every_mode,
  align_only,  // reference: in other modes the count of the slot's last request stays
};

struct SlotPolicies {
  RowOrder row_order = RowOrder::decodes_then_query_len;
  FullRowsFirst full_rows_first = FullRowsFirst::of_drafts;
  InitialStateColumn initial_state_column = InitialStateColumn::mamba_block_size;
  SlotCountReset slot_count_reset = SlotCountReset::every_mode;
  friend bool operator==(const SlotPolicies&, const SlotPolicies&) = default;
};

// Calls visit(PolicyRow) for each of them.
template <class Visit>
constexpr void for_each_slot_policy(Visit visit) {
  visit(PolicyRow(&SlotPolicies::row_order,
                  {.name = "row_order",
                   .values = {"decodes_then_query_len", "query_len", "drafts_then_query_len",
                              "verify_then_query_len"},
                   .help = "runner v2: order of the rows of a step"},
                  RowOrder::query_len));
  visit(PolicyRow(&SlotPolicies::full_rows_first,
                  {.name = "full_rows_first",
                   .values = {"of_drafts", "every_row"},
                   .help = "runner v2: which rows of 1 + K tokens come first"}));
  visit(PolicyRow(
      &SlotPolicies::initial_state_column,
      {.name = "initial_state_column",
       .values = {"mamba_block_size", "cache_config_block_size"},
       .help = "runner v2, mode align: which block size gives an admitted request's state column"},
      InitialStateColumn::cache_config_block_size));
  visit(PolicyRow(
      &SlotPolicies::slot_count_reset,
      {.name = "slot_count_reset",
       .values = {"every_mode", "align_only"},
       .help = "runner v2: in which modes an admitted request's accepted count starts at 1"},
      SlotCountReset::align_only));
}

}  // namespace hybridscope
