#include "gui/model/block_cell.h"

#include <fmt/core.h>

namespace hybridscope {

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
