// One cell of a block table: the block's role in that table and what is known of its content. It
// means the same in every panel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sessions/explain/cell_role.h"

namespace hybridscope {

enum class CellState : std::uint8_t {
  unwritten,  // nothing was written since the block was given out
  written,    // no check has examined what it holds now
  verified,   // a check has: of its label, or of this step's forward pass, which read it
  wrong,      // a finding, or a label that says something else
  unknown,    // the session does not record it
};

struct BlockCell {
  std::int32_t block = -1;  // -1: the table has no such column
  CellRole role = CellRole::null_block;
  CellState state = CellState::unknown;
  bool changed = false;  // in this step
  CellUse use = {};      // by the step's forward pass
  // Tokens of the block that its registered prefix has, if that ends inside the block; else those
  // of the hit, in the step that admits the request with it; 0: neither ends inside it.
  std::int32_t partial_tokens = 0;
  std::int32_t block_size = 0;  // tokens; 0: not given
  // Tokens before the state here, if a prefill stored it on its way (semantics:
  // prefill-checkpoint); else 0.
  std::int32_t checkpoint = 0;
  friend bool operator==(const BlockCell&, const BlockCell&) = default;
};

std::string_view state_name(CellState state);
// For legends: what the state means, in a sentence.
std::string_view state_meaning(CellState state);
// "12/16": tokens of the block that belong to the prefix that ends inside it.
std::string partial_words(const BlockCell& cell);
// What a cell says in a table: its block, then what is special about its end. "6", "6: 12/16",
// "5: S(24)".
std::string cell_words(const BlockCell& cell);
// For legends: what the two signs mean, in a sentence.
inline constexpr std::string_view kPartialMeaning =
    "A prefix ends inside this block: that of its registration, or the hit that the request was "
    "admitted with in this step. 12/16: it has 12 of the block's 16 tokens.";
inline constexpr std::string_view kCheckpointMeaning =
    "A prefill stored this state while it ran on: S(24) is the state after 24 tokens, whatever the "
    "column.";

}  // namespace hybridscope
