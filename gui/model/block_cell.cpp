#include "gui/model/block_cell.h"

#include <fmt/core.h>

namespace hybridscope {

std::string_view role_name(CellRole role) {
  switch (role) {
    case CellRole::null_block:
      return "null block";
    case CellRole::held:
      return "held";
    case CellRole::running:
      return "running";
    case CellRole::speculative:
      return "speculative";
    case CellRole::cached:
      return "cached";
    case CellRole::shared:
      return "shared";
    case CellRole::free_block:
      return "free";
    case CellRole::stale:
      return "stale";
    case CellRole::padding:
      return "padding";
  }
  return "";
}

std::string_view role_meaning(CellRole role) {
  switch (role) {
    case CellRole::null_block:
      return "Block 0: nothing is kept in this column.";
    case CellRole::held:
      return "The request's own; it is not registered, so no other request can hit it.";
    case CellRole::running:
      return "The step's forward pass works here: it reads the state, or writes the state behind "
             "its first token; of attention, keys and values. The two can be different columns.";
    case CellRole::speculative:
      return "The state behind a draft is written here: one a column, behind the running one.";
    case CellRole::cached:
      return "Registered: a request with the same prefix can hit it.";
    case CellRole::shared:
      return "In the block tables of several requests.";
    case CellRole::free_block:
      return "Nobody's, and no prefix hit would find it.";
    case CellRole::stale:
      return "The worker's table has another block here than the scheduler's.";
    case CellRole::padding:
      return "Of a row that only fills a graph.";
  }
  return "";
}

std::string partial_words(const BlockCell& cell) {
  return fmt::format("{}/{}", cell.partial_tokens, cell.block_size);
}

std::string cell_words(const BlockCell& cell) {
  std::string words = fmt::format("{}", cell.block);
  if (cell.checkpoint > 0)
    words += fmt::format(": S({})", cell.checkpoint);
  else if (cell.partial_tokens > 0)
    words += ": " + partial_words(cell);
  return words;
}

std::string_view use_words(const BlockCell& cell, bool is_mamba) {
  if (!is_mamba) return cell.written ? "keys and values are written here" : "";
  if (cell.read && cell.written) return "the state is read here, then one is written";
  if (cell.read) return "the state is read here";
  if (cell.role == CellRole::speculative) return "the state behind a draft is written here";
  if (cell.written && cell.checkpoint > 0) return "a prefill stores a state here and runs on";
  return cell.written ? "a state is written here" : "";
}

std::string_view state_name(CellState state) {
  switch (state) {
    case CellState::unknown:
      return "not known";
    case CellState::unwritten:
      return "not written";
    case CellState::written:
      return "written, not checked";
    case CellState::verified:
      return "verified";
    case CellState::wrong:
      return "wrong";
  }
  return "";
}

std::string_view state_meaning(CellState state) {
  switch (state) {
    case CellState::unknown:
      return "The session does not keep it, or it cannot be read.";
    case CellState::unwritten:
      return "Nothing was written since the block was given out.";
    case CellState::written:
      return "Written, and no check has looked at what it holds now: a state that has not been "
             "read "
             "yet, or keys and values of a block that is not registered.";
    case CellState::verified:
      return "A check found it right: what it holds is what it is registered as, or this step's "
             "forward pass read it.";
    case CellState::wrong:
      return "A finding said so and nothing was written since, or it is not what the block is "
             "registered as.";
  }
  return "";
}

}  // namespace hybridscope
